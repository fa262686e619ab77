import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds, watts } from "../../core/units/index.ts";
import { type Agent, Trial } from "./trial.ts";

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
  const state = { running: false, givenUp: false };
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
  gpu.restore = async (id, original) =>
    state.givenUp ? { result: "error", message: "not tried: the driver hangs" } : restore(id, original);
  return state;
};

describe("told to end in the middle of a driver's call", () => {
  it.each([
    ["one that ends within the grace", 3000],
    ["one that goes on after it was given up", 9000],
  ])("X-41 X-91 everything is restored: %s", async (_name, length) => {
    const agent = await started();
    const state = slowPower(length);
    await trial.pass(19);
    expect(state.running).toBe(true);
    expect(await stopping(agent)).toBeLessThan(TERMINATION);
    expect(limits()).toEqual(ORIGINALS);
    expect(trial.disk.boards).toEqual([]);
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
    if (what === "a restore")
      expect(agent.logs.filter(({ level }) => level === "error").map(({ problem }) => problem)).toEqual([
        "it was not restored in time",
      ]);
  });
});
