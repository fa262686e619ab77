import { describe, expect, it } from "vitest";
import { monotonicInstant } from "../../../core/units/index.ts";
import { ConflictTracker } from "./conflict-tracker.ts";

const at = monotonicInstant;
const eco = { profile: "eco" };
const performance = { profile: "performance" };

describe("ConflictTracker", () => {
  it("X-55 allows the first correction at once, then backs off up to five minutes", () => {
    const contest = new ConflictTracker();
    expect(contest.backoffOf("n", eco, at(0))).toBe(0);
    expect(contest.recordWrite("n", eco, at(0))).toBe(0);
    expect(contest.backoffOf("n", eco, at(1))).toBe(0);
    const rests: number[] = [];
    let now = 1;
    for (let turn = 0; turn < 11; turn++) {
      expect(contest.recordWrite("n", eco, at(now))).toBe(turn + 1);
      const rest = contest.backoffOf("n", eco, at(now));
      expect(contest.backoffOf("n", eco, at(now + rest - 1))).toBe(1);
      expect(contest.backoffOf("n", eco, at(now + rest))).toBe(0);
      rests.push(rest);
      now += rest;
    }
    expect(rests).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300].map((seconds) => seconds * 1000));
    expect(contest.backoffOf("other", eco, at(now))).toBe(0);
  });

  it("X-55 counts neither another value nor a write after a long quiet time as a repetition", () => {
    const contest = new ConflictTracker();
    for (const [index, labels] of [eco, performance, eco, performance].entries())
      expect(contest.recordWrite("n", labels, at(index))).toBe(0);
    expect(contest.recordWrite("n", { draining: "true" }, at(4))).toBe(0);
    expect(contest.recordWrite("n", performance, at(5))).toBe(1);
    expect(contest.recordWrite("n", performance, at(600_004))).toBe(2);
    expect(contest.backoffOf("n", performance, at(600_005))).toBe(3999);
    expect(contest.backoffOf("n", performance, at(1_200_004))).toBe(0);
    expect(contest.recordWrite("n", performance, at(1_200_004))).toBe(0);
  });

  it("forgets removed nodes", () => {
    const contest = new ConflictTracker();
    for (const now of [0, 1]) for (const name of ["n", "m"]) contest.recordWrite(name, eco, at(now));
    contest.keepOnly(new Set(["m"]));
    expect([contest.backoffOf("n", eco, at(1)), contest.backoffOf("m", eco, at(1))]).toEqual([0, 2000]);
  });
});
