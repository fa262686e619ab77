import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSlip, misspeltVariableWarnings } from "./misspelt-variables.ts";

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
    ["TATIC_HP_FRAC", "STATIC_HP_FRAC"],
    ["static_hp_frac", "STATIC_HP_FRAC"],
    ["QUEUE_HP_MXA", "QUEUE_HP_MAX"],
    ["QUEUE_HP_MINN", "QUEUE_HP_MIN"],
    ["LOGLEVEL", "LOG_LEVEL"],
    ["TATE_DIR", "STATE_DIR"],
    ["NODE_NMAE", "NODE_NAME"],
  ])("%s: did you mean %s?", (written, right) => {
    expect(meant(written)).toBe(right);
  });

  it.each([
    ["STATIC_HP_FRAC", "is right"],
    ["STATIC_HP_FRAK", "belongs to another program"],
    ["STATIC_HP_FRACTION", "is too far away to guess"],
    ["LOG_LVL", "lacks two letters"],
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

describe("a slip", () => {
  it.each([
    ["acb", true],
    ["abd", true],
    ["ab", true],
    ["abcd", true],
    ["xabc", true],
    ["ABC", false],
    ["cba", false],
    ["a", false],
    ["", false],
  ])("%s for abc: %s", (written, expected) => {
    expect(isSlip(written, "abc")).toBe(expected);
  });

  it("is an insertion, a deletion, a change or a swap anywhere", () => {
    const name = fc.string({ unit: fc.constantFrom("A", "B", "_"), maxLength: 8 });
    fc.assert(
      fc.property(name, fc.nat(8), fc.constantFrom("A", "C"), (text, at, letter) => {
        const [before, after] = [text.slice(0, at), text.slice(at)];
        const swapped = after.length < 2 ? after : `${after[1]}${after[0]}${after.slice(2)}`;
        for (const end of [letter + after, after.slice(1), letter + after.slice(1), swapped])
          expect(isSlip(before + end, text)).toBe(true);
      }),
    );
  });
});
