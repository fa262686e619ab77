import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds, watts } from "../../../core/units/index.ts";
import { type Agent, Trial } from "../testing/agent-test-harness.ts";

/** What Kubernetes gives a pod to end. */
const TERMINATION = 30_000;

let trial: Trial;
beforeEach(async () => {
  trial = new Trial();
  await trial.createNode("a");
  trial.machine.gpu.absent = undefined;
  trial.machine.gpu.add("gpu-0", { min: watts(100), max: watts(700) });
});
afterEach(async () => {
  await trial.end();
});

const target = { cpu: { packagePowerCapWatts: 200 }, gpu: { powerCap: { capWattsPerGpu: 300 } } };
const limits = () => ({
  ...Object.fromEntries(trial.machine.rapl.limits),
  ...Object.fromEntries(trial.machine.gpu.limits),
});
const ORIGINALS = { "package-0": 350, "package-1": 350, "gpu-0": 700 };
const never = async (): Promise<never> => new Promise(() => undefined);

const started = async (): Promise<Agent> => {
  await trial.target("a", target);
  const agent = trial.start();
  await trial.pass(2);
  expect(limits()).toEqual({ "package-0": 200, "package-1": 200, "gpu-0": 300 });
  return agent;
};

/** How long the agent takes to end. */
const stopping = async (agent: Agent): Promise<number> => {
  const from = trial.clock.monotonic();
  await agent.stop();
  return trial.clock.monotonic() - from;
};

/** A driver's call that nobody can end: given up, it still runs, and until it returns its board takes no other. */
const slowPower = (length: number) => {
  const { gpu } = trial.machine;
  const state = { running: false, givenUp: false, refused: 0 };
  gpu.power = async (signal?: AbortSignal) => {
    state.running = true;
    const over = trial.clock.sleep(milliseconds(length)).then(() => {
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
    await trial.pass(19);
    expect(state.running).toBe(true);
    expect(await stopping(agent)).toBeLessThan(TERMINATION);
    expect(limits()).toEqual(ORIGINALS);
    expect(trial.disk.boards).toEqual([]);
    expect(state.refused > 0).toBe(isRefused);
    expect(agent.logs.filter(({ level }) => level === "error")).toEqual([]);
  });
});

describe("ends in time, and restores the rest, whatever hangs", () => {
  const hangs: Readonly<Record<string, () => void>> = {
    "a tick": () => {
      trial.machine.gpu.power = never;
    },
    "a restore": () => {
      trial.machine.gpu.restore = never;
    },
    "the journal's disk": () => {
      trial.disk.settle = never;
    },
    "closing the machine": () => {
      trial.machine.close = never;
    },
  };
  it.each(Object.entries(hangs))("X-91 %s", async (what, hang) => {
    const agent = await started();
    hang();
    await trial.pass(20);
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
    trial.api.faults.add({ fault: slow, when: ({ method, path }) => method === "PATCH" && path.includes("/status") });
    await trial.target("a", { ...target, cpu: { packagePowerCapWatts: 222 } });
    await trial.pass(0.5);
    agent.written();
    await agent.stop();
    expect(agent.written().filter(({ path }) => path.includes("nodetwins"))).toHaveLength(1);
    expect((await trial.told())?.cpu).toMatchObject({ result: "none", message: STOPPED });
    expect((await trial.told())?.gpu).toMatchObject({ result: "none", message: STOPPED });
  });

  it("what was not restored is an error, with what is still in force", async () => {
    const agent = await started();
    trial.machine.gpu.refusal = { result: "blocked", message: "EPERM" };
    await agent.stop();
    const problem = "what was set on gpu-0 by gpu could not be restored; EPERM";
    expect(await trial.told()).toMatchObject({
      cpu: { result: "error", message: `the agent has stopped; ${problem}` },
      gpu: { result: "error", message: `the agent has stopped; ${problem}` },
    });
    expect(agent.logs.filter(({ level }) => level === "error").map((line) => line["problem"])).toEqual([problem]);
  });

  it("X-42 SIMULATE_ONLY says that nothing was set", async () => {
    await trial.target("a", target);
    const agent = trial.start({ SIMULATE_ONLY: "true" });
    await trial.pass(2);
    await agent.stop();
    const message = "the agent has stopped; SIMULATE_ONLY: it had set nothing";
    expect((await trial.told())?.cpu).toMatchObject({ result: "none", message });
  });
});
