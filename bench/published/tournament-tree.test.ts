import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TournamentTree } from "./tournament-tree.ts";

const OUT = -Infinity;

/** Linear search as a reference. */
function plainBest(scores: readonly number[]): number {
  const best = Math.max(OUT, ...scores);
  return best === OUT ? -1 : scores.indexOf(best);
}

describe("TournamentTree", () => {
  it("has no winner initially, nor when empty", () => {
    expect(new TournamentTree(0).best()).toBe(-1);
    const contest = new TournamentTree(3);
    contest.rebuild();
    expect(contest.best()).toBe(-1);
  });

  it("equals a linear search, with the lowest index on a tie, after any changes", () => {
    const score = fc.constantFrom(OUT, -1, 0, 1, 1.5, 2);
    fc.assert(
      fc.property(
        fc.array(score, { minLength: 1, maxLength: 40 }),
        fc.array(fc.tuple(fc.nat(39), score), { maxLength: 60 }),
        (start, changes) => {
          const scores = [...start];
          const contest = new TournamentTree(scores.length);
          contest.scores.set(scores);
          contest.rebuild();
          expect(contest.best()).toBe(plainBest(scores));
          for (const [place, value] of changes) {
            const index = place % scores.length;
            scores[index] = value;
            contest.set(index, value);
            expect(contest.best()).toBe(plainBest(scores));
          }
        },
      ),
    );
  });
});
