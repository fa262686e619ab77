import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editDistance, misspeltVariableWarnings } from "./misspelt-variables.ts";

const own = [
  "STATIC_HP_FRAC",
  "QUEUE_HP_MIN",
  "QUEUE_HP_MAX",
  "LOG_LEVEL",
  "POD_NAME",
  "NODE_NAME",
  "METRICS_ADDR",
  "STATE_DIR",
];
const known = new Set([...own, "NODE_SELECTOR", "STATIC_HP_FRAK"]);
const meant = (name: string): string | undefined =>
  /did you mean (\w+)\?/.exec(misspeltVariableWarnings([name], own, known)[0] ?? "")?.[1];

describe("a misspelt variable name", () => {
  it.each([
    ["STATIC_HP_FRACT", "STATIC_HP_FRAC"],
    ["STATIC_HP_FARC", "STATIC_HP_FRAC"],
    ["STATC_HP_FRC", "STATIC_HP_FRAC"],
    ["TATIC_HP_FRAC", "STATIC_HP_FRAC"],
    ["static_hp_frac", "STATIC_HP_FRAC"],
    ["QUEUE_HP_MXA", "QUEUE_HP_MAX"],
    ["QUEUE_HP_MINN", "QUEUE_HP_MIN"],
    ["LOGLEVEL", "LOG_LEVEL"],
    ["LOG_LVL", "LOG_LEVEL"],
    ["OLG_LEVELL", "LOG_LEVEL"],
    ["TATE_DIR", "STATE_DIR"],
    ["STATEDI", "STATE_DIR"],
    ["QUEUE_HP_MEAN", "QUEUE_HP_MIN"],
    ["NODE_NMAE", "NODE_NAME"],
  ])("%s: did you mean %s?", (written, right) => {
    expect(meant(written)).toBe(right);
  });

  it.each([
    ["STATIC_HP_FRAC", "is right"],
    ["STATIC_HP_FRAK", "belongs to another program"],
    ["STATIC_HP_FRACTION", "is too far away to guess"],
    ["METRICS_ADDR_PORT", "is a Kubernetes service variable"],
    ["METRICS_PORT", "may be a Kubernetes service variable"],
    ["NODE_SERVICE_", "is a Kubernetes service variable"],
    ["JOB_NAME", "is Jenkins' own, two letters from POD_NAME"],
    ["ZONE_NAME", "is two letters from NODE_NAME"],
    ["NODE_HOME", "is two letters from NODE_NAME"],
    ["ND_NAME", "lacks half of a word, which makes it another"],
    ["STATIC_DIR", "is many a web server's"],
    ["HOSTNAME", "is every shell's"],
    ["PATH", "is every shell's"],
    ["", "has no letters"],
  ])("%s gets no warning: it %s", (name) => {
    expect(meant(name)).toBeUndefined();
  });

  it("is reported without control characters", () => {
    expect(misspeltVariableWarnings(["STATIC_HP_FRAC\u001b"], own, known)[0]).toMatch(/^STATIC_HP_FRAC\\u001b is not /);
  });

  it("warns once per name in the environment", () => {
    expect(misspeltVariableWarnings(["STATIC_HP_FRA", "QUEUE_HP_MI", "HOME"], own, known)).toHaveLength(2);
  });
});

describe("the distance between two names", () => {
  it.each([
    ["", "", 0],
    ["", "abc", 3],
    ["abc", "acb", 1],
    ["abc", "abd", 1],
    ["abc", "ab", 1],
    ["abcd", "badc", 2],
    ["kitten", "sitting", 3],
  ])("%s to %s is %d", (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
  });

  it("is symmetric, 0 only for equal names, and at most the longer length", () => {
    const name = fc.string({ unit: fc.constantFrom("A", "B", "_"), maxLength: 8 });
    fc.assert(
      fc.property(name, name, (a, b) => {
        const distance = editDistance(a, b);
        expect(editDistance(b, a)).toBe(distance);
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });
});
