import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { examine, ProblemCollector } from "./examine.ts";
import { kinds } from "./kinds.ts";
import { leavesOf, sampleOf, withValueAt } from "./testing/sample.ts";

describe("examine", () => {
  it("finds no problem exactly if the schema accepts the value", () => {
    const everyLeaf = kinds.flatMap((kind) => {
      const sample = sampleOf<unknown>(kind);
      return leavesOf(kind).map(({ path }) => ({ kind, path, sample }));
    });
    const anywhere = fc.constantFrom(...everyLeaf);
    const odd = fc.oneof(
      fc.double(),
      fc.string(),
      fc.boolean(),
      fc.constant(null),
      fc.constant(undefined),
      fc.constantFrom("eco", "http", "worker-1", "True", "2030-01-31T12:00:00Z"),
    );
    fc.assert(
      fc.property(anywhere, odd, ({ kind, path, sample }, value) => {
        const object = withValueAt(sample, path, value);
        const findings = new ProblemCollector(true);
        examine(kind.schema, object, "", findings);
        expect(findings.problems.length === 0).toBe(kind.schema.safeParse(object).success);
      }),
      { numRuns: 500 },
    );
  });
});
