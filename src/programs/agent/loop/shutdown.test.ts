import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds, watts } from "../../../core/units/index.ts";
import { AgentTestHarness, type AgentUnderTest } from "../testing/agent-test-harness.ts";

/** The termination grace period of a pod. */
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

/** Stops the agent and measures how long it takes. */
const stopping = async (agent: AgentUnderTest): Promise<number> => {
  const from = harness.clock.monotonic();
  await agent.stop();
  return harness.clock.monotonic() - from;
};

/** A driver call that cannot be aborted: it keeps running, and until it returns its board accepts no other call. */
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

describe("SIGTERM during a driver call", () => {
  it.each([
    { name: "a call that ends within the grace period", length: 3000, isRefused: false },
    { name: "a call that continues after it was aborted", length: 9000, isRefused: true },
  ])("X-41 X-91 restores everything: $name", async ({ length, isRefused }) => {
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

describe("exits in time and restores the other boards when something hangs", () => {
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

describe("the final status", () => {
  const STOPPED = "the agent has stopped; the original limits are restored";

  it("X-41 is written even if another status write is in progress", async () => {
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

  it("reports limits that were not restored as an error", async () => {
    const agent = await started();
    harness.machine.gpu.refusal = { result: "blocked", message: "EPERM" };
    await agent.stop();
    const problem = "the limit set on gpu-0 by gpu could not be restored; EPERM";
    expect(await harness.controlStatus()).toMatchObject({
      cpu: { result: "error", message: `the agent has stopped; ${problem}` },
      gpu: { result: "error", message: `the agent has stopped; ${problem}` },
    });
    expect(agent.logs.filter(({ level }) => level === "error").map((line) => line["problem"])).toEqual([problem]);
  });

  it("X-42 says with SIMULATE_ONLY that no limit was set", async () => {
    await harness.target("a", target);
    const agent = harness.start({ SIMULATE_ONLY: "true" });
    await harness.advance(2);
    await agent.stop();
    const message = "the agent has stopped; SIMULATE_ONLY: it set no limit";
    expect((await harness.controlStatus())?.cpu).toMatchObject({ result: "none", message });
  });
});
