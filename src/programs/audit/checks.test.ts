import { describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { type CheckInputs, evaluateChecks } from "./checks.ts";

const good: CheckInputs = {
  expected: { twins: true, drains: true, figures: true, any: true, sleep: true },
  twins: { nodes: 40, twins: 40, fresh: 40, oldest: milliseconds(90_000) },
  drains: { deferred: 3, completed: 1, takenBack: 2 },
  sleeps: { sleeps: 9, wakes: 4, failedWakes: 0 },
  wakeWaits: { pods: 3, longest: 400, longestPerformance: 350, late: 0, examples: [] },
  bindings: { pods: 200, performancePods: 50, toMachinesOff: 0, examples: [] },
  offences: { pods: 0, podSeconds: 0, examples: [] },
  caps: { compared: 400, eco: 150, different: 0, examples: [] },
};
const failedOf = (change: Partial<CheckInputs>) =>
  evaluateChecks({ ...good, ...change })
    .filter(({ ok }) => !ok)
    .map(({ name }) => name);

describe("evaluateChecks", () => {
  it("passes for a run in which every check holds", () => {
    expect(failedOf({})).toEqual([]);
  });

  it.each<[string, Partial<CheckInputs>]>([
    ["every node has a fresh twin", { twins: { ...good.twins, fresh: 39 } }],
    ["a drain was deferred and later completed", { drains: { deferred: 3, completed: 0, takenBack: 3 } }],
    ["no performance pod ran under eco caps", { offences: { pods: 1, podSeconds: 0.1, examples: ["a"] } }],
    ["no pod was bound to a sleeping node", { bindings: { ...good.bindings, toMachinesOff: 1 } }],
    ["no performance pod waited longer for a wake than stated", { wakeWaits: { ...good.wakeWaits, late: 1 } }],
    ["caps in force are the published ones", { caps: { ...good.caps, different: 1, examples: ["a"] } }],
  ])("reports a failed check: %s", (name, change) => {
    expect(failedOf(change)).toEqual([name]);
  });

  it("fails when a run observed no performance pods or no eco caps to check", () => {
    const held = "no performance pod ran under eco caps";
    expect(failedOf({ bindings: { ...good.bindings, performancePods: 0 } })).toEqual([held]);
    expect(failedOf({ caps: { ...good.caps, eco: 0 } })).toEqual([held, "caps in force are the published ones"]);
  });

  it("requires a sleep and a wake of a long run in which nodes may sleep, and judges nothing if they may not", () => {
    const both = ["no pod was bound to a sleeping node", "no performance pod waited longer for a wake than stated"];
    expect(failedOf({ sleeps: { sleeps: 0, wakes: 0, failedWakes: 0 } })).toEqual(both);
    expect(failedOf({ sleeps: { sleeps: 3, wakes: 0, failedWakes: 0 } })).toEqual(both);
    const short = { expected: { ...good.expected, sleep: false }, sleeps: { sleeps: 0, wakes: 0, failedWakes: 0 } };
    expect(failedOf(short)).toEqual([]);
    const awake = evaluateChecks({ ...good, expected: { ...good.expected, sleep: undefined } });
    expect(awake.map(({ name }) => name).filter((name) => both.includes(name))).toEqual([]);
  });

  it("judges no drains for a policy that plans none", () => {
    const names = (drains: boolean | undefined) =>
      evaluateChecks({ ...good, expected: { ...good.expected, drains } }).map(({ name }) => name);
    expect(names(undefined)).toEqual(names(true).filter((name) => !name.includes("drain was deferred")));
    expect(names(undefined)).toHaveLength(names(true).length - 1);
  });

  it("requires twins, unless the run was interrupted before they existed", () => {
    const twins = { nodes: 40, twins: 3, fresh: 3, oldest: milliseconds(0) };
    expect(failedOf({ twins })).toEqual(["every node has a fresh twin"]);
    const ended = evaluateChecks({ ...good, twins, expected: { ...good.expected, twins: false } });
    expect(ended[0]).toMatchObject({ ok: true, note: expect.stringContaining("not seen") as string });
    expect(evaluateChecks({ ...good, expected: { ...good.expected, twins: false } })[0]).not.toHaveProperty("note");
  });

  it("requires one observation of each kind of a short run, unless the user ended it", () => {
    const nothing = {
      drains: { deferred: 0, completed: 0, takenBack: 0 },
      sleeps: { sleeps: 0, wakes: 0, failedWakes: 0 },
      bindings: { ...good.bindings, performancePods: 0 },
      caps: { compared: 0, eco: 0, different: 0, examples: [] },
    };
    const expected = { twins: true, drains: false, figures: false, sleep: false };
    expect(failedOf({ ...nothing, expected: { ...expected, any: true } })).toEqual([
      "no performance pod ran under eco caps",
      "caps in force are the published ones",
    ]);
    expect(failedOf({ ...nothing, expected: { ...expected, any: false } })).toEqual([]);
  });

  it("requires slow events only of long runs, and adds a note otherwise", () => {
    const short = {
      expected: { twins: true, drains: false, figures: false, any: true, sleep: false },
      drains: { deferred: 0, completed: 0, takenBack: 0 },
    };
    expect(failedOf({ ...short, caps: { compared: 3, eco: 0, different: 0, examples: [] } })).toEqual([]);
    expect(failedOf({ ...short, caps: { compared: 1, eco: 0, different: 1, examples: ["a"] } })).toHaveLength(1);
    const [, drains] = evaluateChecks({ ...good, ...short });
    expect(drains).toMatchObject({
      ok: true,
      note: "not seen in a run this short or small",
    });
    expect(evaluateChecks(good).filter(({ note }) => note !== undefined)).toEqual([]);
  });
});
