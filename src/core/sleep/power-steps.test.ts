import { describe, expect, it } from "vitest";
import { milliseconds } from "../units/index.ts";
import {
  DEFAULT_STEP_LIMITS as limits,
  nextSleepMove,
  nextWakeMove,
  type SleepFacts,
  type WakeFacts,
} from "./power-steps.ts";

const sleeping = (facts: Partial<SleepFacts> = {}): SleepFacts => ({
  exists: true,
  tainted: true,
  wanted: "off",
  reason: "empty",
  sinceStep: milliseconds(0),
  sent: { shutdown: "no", forceOff: "no" },
  ...facts,
});
const waking = (facts: Partial<WakeFacts> = {}): WakeFacts => ({
  exists: true,
  sinceStep: milliseconds(0),
  attempt: 1,
  hasBooted: false,
  isBack: false,
  ...facts,
});

describe("nextSleepMove", () => {
  const settled = { sinceStep: limits.settle };
  const late = { sinceStep: limits.shutdownTimeout };
  const sent = { sent: { shutdown: "yes", forceOff: "no" } } as const;

  it("counts pods only after the taint was seen and schedulers had time to notice it", () => {
    expect(nextSleepMove("count", sleeping({ tainted: false }), limits)).toEqual({ move: "taint", startsAgain: true });
    expect(nextSleepMove("count", sleeping(), limits)).toEqual({ move: "wait", time: limits.settle });
    expect(nextSleepMove("count", sleeping(settled), limits)).toEqual({ move: "countPods" });
  });

  it("gives up for a pod, and shuts down without one", () => {
    const busy = sleeping({ ...settled, pods: { occupied: "a pod" } });
    const empty = sleeping({ ...settled, pods: { occupied: undefined } });
    expect(nextSleepMove("count", busy, limits)).toEqual({ move: "giveUp", reason: "a pod", failed: true });
    expect(nextSleepMove("count", empty, limits)).toEqual({ move: "goTo", step: "shutdown" });
  });

  it("sends no shutdown twice, and cuts the power of a machine that stays on", () => {
    const isOn = { machine: "on" } as const;
    expect(nextSleepMove("shutdown", sleeping(isOn), limits)).toEqual({ move: "send", request: "shutdown" });
    expect(nextSleepMove("shutdown", sleeping({ ...isOn, ...sent }), limits).move).toBe("wait");
    expect(nextSleepMove("shutdown", sleeping({ ...late, ...sent }), limits)).toEqual({ move: "goTo", step: "force" });
  });

  it("gives up while nothing was sent, and awaits a shutdown that was sent", () => {
    const wanted = { wanted: "on", machine: "on" } as const;
    expect(nextSleepMove("shutdown", sleeping(wanted), limits)).toMatchObject({ move: "giveUp", failed: false });
    expect(nextSleepMove("shutdown", sleeping({ ...wanted, ...sent }), limits).move).toBe("wait");
  });

  it("waits for no switch while nothing was sent and the node is wanted again", () => {
    const next = nextSleepMove("shutdown", sleeping({ wanted: "on" }), limits);
    expect(next).toEqual({ move: "readSwitch", optional: true });
  });
});

describe("nextWakeMove", () => {
  it("waits for the kubelet and the agent, then removes the taint", () => {
    expect(nextWakeMove("ready", waking({ machine: "on" }), limits).move).toBe("wait");
    expect(nextWakeMove("ready", waking({ isBack: true }), limits)).toEqual({ move: "goTo", step: "untaint" });
    expect(nextWakeMove("untaint", waking({ sinceStep: limits.wakeTimeout }), limits)).toEqual({ move: "finish" });
  });

  it("tries a late wake once more, then fails", () => {
    const late = { sinceStep: limits.wakeTimeout };
    expect(nextWakeMove("ready", waking(late), limits)).toEqual({ move: "tryAgain" });
    expect(nextWakeMove("ready", waking({ ...late, attempt: 2 }), limits)).toEqual({ move: "fail" });
  });

  it("cuts the power of a machine that hangs before it switches it on again", () => {
    expect(nextWakeMove("on", waking({ attempt: 2, machine: "on" }), limits)).toEqual({ move: "cutPower" });
    expect(nextWakeMove("on", waking({ attempt: 2, machine: "unknown" }), limits).move).toBe("wait");
    expect(nextWakeMove("on", waking({ attempt: 2, machine: "off" }), limits)).toEqual({ move: "switchOn" });
  });
});
