import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds, watts } from "../../../core/units/index.ts";
import { AgentTestHarness, type AgentUnderTest } from "../testing/agent-test-harness.ts";

/** What Kubernetes gives a pod to end. */
const TERMINATION = 30_000;

let harness: AgentTestHarness;
beforeEach(async () => {
  harness = new AgentTestHarness();
  await harness.createNode("a");
  harness.machine.gpu.absent = undefined;
  harness.machine.gpu.add("gpu-0", { min: watts(100), max: watts(700) });
});
afterEach(async () => {
  await harness.close();
});

const target = { cpu: { packagePowerCapWatts: 200 }, gpu: { powerCap: { capWattsPerGpu: 300 } } };
const limits = () => ({
  ...Object.fromEntries(harness.machine.rapl.limits),
  ...Object.fromEntries(harness.machine.gpu.limits),
});
const ORIGINALS = { "package-0": 350, "package-1": 350, "gpu-0": 700 };
const never = async (): Promise<never> => new Promise(() => undefined);

const started = async (): Promise<AgentUnderTest> => {
  await harness.target("a", target);
  const agent = harness.start();
  await harness.advance(2);
  expect(limits()).toEqual({ "package-0": 200, "package-1": 200, "gpu-0": 300 });
  return agent;
};

/** How long the agent takes to end. */
const stopping = async (agent: AgentUnderTest): Promise<number> => {
  const from = harness.clock.monotonic();
  await agent.stop();
  return harness.clock.monotonic() - from;
};

/** A driver's call that nobody can end: given up, it still runs, and until it returns its board takes no other. */
const slowPower = (length: number) => {
  const { gpu } = harness.machine;
  const state = { running: false, givenUp: false, refused: 0 };
  gpu.power = async (signal?: AbortSignal) => {
    state.running = true;
    const over = harness.clock.sleep(milliseconds(length)).then(() => {
      state.running = false;
      state.givenUp = false;
    });
    const gaveUp = Promise.withResolvers<never>();
    signal?.addEventListener("abort", () => {
      state.givenUp = state.running;
      gaveUp.reject(new Error("not waited for"));
    });
    await Promise.race([over, gaveUp.promise]);
    return [];
  };
  const restore = gpu.restore.bind(gpu);
  gpu.restore = async (id, original) => {
    if (!state.givenUp) return restore(id, original);
    state.refused++;
    return { result: "error", message: "not tried: the driver hangs" };
  };
  return state;
};

describe("told to end in the middle of a driver's call", () => {
  it.each([
    { name: "one that ends within the grace", length: 3000, isRefused: false },
    { name: "one that goes on after it was given up", length: 9000, isRefused: true },
  ])("X-41 X-91 everything is restored: $name", async ({ length, isRefused }) => {
    const agent = await started();
    const state = slowPower(length);
    await harness.advance(19);
    expect(state.running).toBe(true);
    expect(await stopping(agent)).toBeLessThan(TERMINATION);
    expect(limits()).toEqual(ORIGINALS);
    expect(harness.disk.boards).toEqual([]);
    expect(state.refused > 0).toBe(isRefused);
    expect(agent.logs.filter(({ level }) => level === "error")).toEqual([]);
  });
});

describe("ends in time, and restores the rest, whatever hangs", () => {
  const hangs: Readonly<Record<string, () => void>> = {
    "a tick": () => {
      harness.machine.gpu.power = never;
    },
    "a restore": () => {
      harness.machine.gpu.restore = never;
    },
    "the journal's disk": () => {
      harness.disk.settle = never;
    },
    "closing the machine": () => {
      harness.machine.close = never;
    },
  };
  it.each(Object.entries(hangs))("X-91 %s", async (what, hang) => {
    const agent = await started();
    hang();
    await harness.advance(20);
    expect(await stopping(agent)).toBeLessThan(TERMINATION);
    const left = what === "a restore" ? { "gpu-0": 300 } : {};
    expect(limits()).toEqual({ ...ORIGINALS, ...left });
  });
});

describe("the last word", () => {
  const STOPPED = "the agent has stopped; what it had set is restored";

  it("X-41 is told though a status was being written when the end came", async () => {
    const agent = await started();
    const slow = { kind: "latency", length: milliseconds(2000) } as const;
    harness.api.faults.add({ fault: slow, when: ({ method, path }) => method === "PATCH" && path.includes("/status") });
    await harness.target("a", { ...target, cpu: { packagePowerCapWatts: 222 } });
    await harness.advance(0.5);
    agent.takeWrites();
    await agent.stop();
    expect(agent.takeWrites().filter(({ path }) => path.includes("nodetwins"))).toHaveLength(1);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ result: "none", message: STOPPED });
    expect((await harness.controlStatus())?.gpu).toMatchObject({ result: "none", message: STOPPED });
  });

  it("what was not restored is an error, with what is still in force", async () => {
    const agent = await started();
    harness.machine.gpu.refusal = { result: "blocked", message: "EPERM" };
    await agent.stop();
    const problem = "what was set on gpu-0 by gpu could not be restored; EPERM";
    expect(await harness.controlStatus()).toMatchObject({
      cpu: { result: "error", message: `the agent has stopped; ${problem}` },
      gpu: { result: "error", message: `the agent has stopped; ${problem}` },
    });
    expect(agent.logs.filter(({ level }) => level === "error").map((line) => line["problem"])).toEqual([problem]);
  });

  it("X-42 SIMULATE_ONLY says that nothing was set", async () => {
    await harness.target("a", target);
    const agent = harness.start({ SIMULATE_ONLY: "true" });
    await harness.advance(2);
    await agent.stop();
    const message = "the agent has stopped; SIMULATE_ONLY: it had set nothing";
    expect((await harness.controlStatus())?.cpu).toMatchObject({ result: "none", message });
  });
});
