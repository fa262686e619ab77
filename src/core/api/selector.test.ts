import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  formatLabelSelector,
  type LabelRequirement,
  type LabelSelector,
  matchesLabels,
  parseLabelSelector,
} from "./selector.ts";

function selectorOf(text: string): LabelSelector {
  const parsed = parseLabelSelector(text);
  if (!parsed.ok) throw new Error(parsed.error.message);
  return parsed.value;
}

describe("parseLabelSelector", () => {
  it.each<[string, LabelRequirement["operator"], readonly string[]]>([
    ["a=b", "In", ["b"]],
    ["a==b", "In", ["b"]],
    [" a = b ", "In", ["b"]],
    ["a=", "In", [""]],
    ["a!=b", "NotIn", ["b"]],
    ["a in (x, y)", "In", ["x", "y"]],
    ["a in(x,x,y)", "In", ["x", "y"]],
    ["a in (,x)", "In", ["", "x"]],
    ["a notin (x)", "NotIn", ["x"]],
    ["a", "Exists", []],
    ["!a", "DoesNotExist", []],
    ["! a", "DoesNotExist", []],
  ])("reads %j", (text, operator, values) => {
    expect(selectorOf(text)).toEqual([{ key: "a", operator, values }]);
  });

  it("splits requirements at commas, also after a list", () => {
    expect(selectorOf("a in (x,y),joulie.io/managed=true,!c").map(({ key }) => key)).toEqual([
      "a",
      "joulie.io/managed",
      "c",
    ]);
  });

  it("accepts in and notin as keys and values", () => {
    expect(selectorOf("in in (notin),notin=in")).toEqual([
      { key: "in", operator: "In", values: ["notin"] },
      { key: "notin", operator: "In", values: ["in"] },
    ]);
  });

  it("parses empty text as a selector that matches everything", () => {
    expect(selectorOf("  ")).toEqual([]);
    expect(matchesLabels(selectorOf(""), undefined)).toBe(true);
  });

  it.each([
    "a,",
    ",a",
    "a,,b",
    "=b",
    "a b",
    "a in",
    "a in ()",
    "a in (x",
    "a in x",
    "!a=b",
    "!",
    "!!a",
    "a=b=c",
    "a=b c",
    "a=(b)",
    "a>1",
    "-a",
    "a/b/c",
    "/a",
    "A.b/",
    "UPPER.io/a",
    "a=-b",
    "a=ü",
    `${"k".repeat(64)}=v`,
    `a=${"v".repeat(64)}`,
  ])("rejects %j with an error that quotes it", (text) => {
    const parsed = parseLabelSelector(text);
    expect(parsed.ok ? parsed.value : parsed.error.message).toContain(JSON.stringify(text));
  });

  it("rejects a prefix that is too long", () => {
    expect(parseLabelSelector(`${"p".repeat(253)}/a`).ok).toBe(true);
    expect(parseLabelSelector(`${"p".repeat(254)}/a`).ok).toBe(false);
  });

  it.each(["", "a=", "a in (", "a b", "a,(", "a in", "-"])(
    "keeps the error message short for %j followed by very long text",
    (start) => {
      const parsed = parseLabelSelector(start + "x".repeat(100_000));
      expect(parsed.ok ? "" : parsed.error.message).toMatch(/^".{81,90}" is not a label selector: .{1,150}$/);
    },
  );

  it("explains the error", () => {
    const parsed = parseLabelSelector("tier in ()");
    expect(parsed.ok ? "" : parsed.error.message).toBe(
      '"tier in ()" is not a label selector: tier in needs values in parentheses, such as (x,y)',
    );
  });

  it("returns a result or an error for any text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "=", "!", ",", "(", ")", " ", "in", "/", ".", "-") }),
        (text) => {
          const parsed = parseLabelSelector(text);
          expect(parsed).toEqual(
            parsed.ok ? parseLabelSelector(formatLabelSelector(parsed.value)) : parseLabelSelector(text),
          );
        },
      ),
      { numRuns: 500 },
    );
  });
});

const alphanumeric = ["a", "b", "X", "Y", "0", "9"];
const name = fc
  .tuple(
    fc.constantFrom(...alphanumeric),
    fc.string({ unit: fc.constantFrom(...alphanumeric, "-", "_", "."), maxLength: 8 }),
    fc.constantFrom(...alphanumeric),
  )
  .map((parts) => parts.join(""));
const key = fc.oneof(
  name,
  fc.constantFrom("constructor", "toString", "in", "notin"),
  name.map((end) => `joulie.io/${end}`),
);
const value = fc.oneof(name, fc.constant(""), fc.constantFrom("true", "false"));
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({
    key,
    operator: fc.constantFrom("In" as const, "NotIn" as const),
    values: fc.uniqueArray(value, { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ key, operator: fc.constantFrom("Exists" as const, "DoesNotExist" as const), values: fc.constant([]) }),
);

describe("a label selector", () => {
  it("parses to the same selector after formatting", () => {
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 5 }), (selector) => {
        expect(selectorOf(formatLabelSelector(selector))).toEqual(selector);
      }),
    );
  });

  it("matches if all its requirements match, and each requirement is the opposite of its negation", () => {
    const opposite = { In: "NotIn", NotIn: "In", Exists: "DoesNotExist", DoesNotExist: "Exists" } as const;
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 4 }), fc.dictionary(key, value), (selector, labels) => {
        expect(matchesLabels(selector, labels)).toBe(selector.every((one) => matchesLabels([one], labels)));
        for (const one of selector) {
          const negated = { ...one, operator: opposite[one.operator] };
          expect(matchesLabels([negated], labels)).toBe(!matchesLabels([one], labels));
        }
      }),
    );
  });

  it.each<[string, Record<string, string>, boolean]>([
    ["a=b", { a: "b" }, true],
    ["a=b", { a: "c" }, false],
    ["a=b", {}, false],
    ["a!=b", {}, true],
    ["a!=b", { a: "b" }, false],
    ["a in (x,y)", { a: "y" }, true],
    ["a notin (x,y)", { a: "y" }, false],
    ["a notin (x,y)", {}, true],
    ["a", { a: "" }, true],
    ["a=", { a: "" }, true],
    ["a=", {}, false],
    ["!a", { a: "" }, false],
    ["constructor", {}, false],
    ["!toString", {}, true],
  ])("%j on %j is %j", (text, labels, expected) => {
    expect(matchesLabels(selectorOf(text), labels)).toBe(expected);
  });
});
