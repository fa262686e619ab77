import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fillPromql } from "../../../platform/telemetry/index.ts";
import { type QueryableMetrics, QueryError, runQuery } from "./query.ts";

let made = 0;
const families: QueryableMetrics = {
  power: () => {
    made++;
    return [
      { labels: { node: "a", rack: "r1" }, value: 1 },
      { labels: { node: "b", rack: "r2" }, value: 2 },
      { labels: { node: "c.d", rack: "r2" }, value: 3 },
    ];
  },
  heat: () => [{ labels: {}, value: 20 }],
};
const values = (query: string) => runQuery(query, families).map(({ value }) => value);

function outcomeOf(query: string): string {
  try {
    runQuery(query, families);
    return "answered";
  } catch (error) {
    return error instanceof QueryError ? `refused: ${error.message}` : String(error);
  }
}

describe("runQuery", () => {
  it.each([
    ["power", [1, 2, 3]],
    ["  heat # the air\n", [20]],
    ["power{}", [1, 2, 3]],
    ['power{rack="r2"}', [2, 3]],
    ["power{rack='r2', node!=`b`,}", [3]],
    ['power{nothing=""}', [1, 2, 3]],
    ["(power) or heat", [1, 2, 3, 20]],
    ['power{node="a"} or power', [1, 2, 3]],
    ["toString", []],
    ['power{constructor=""}', [1, 2, 3]],
    ['power{node="b",rack="r2"}', [2]],
    ['power{node="b",rack="r1"}', []],
    ["unknown", []],
  ])("%s", (query, expected) => {
    expect(values(query)).toEqual(expected);
  });

  it("sets a label to a constant, and generates a metric once per query", () => {
    made = 0;
    const part = (place: number, rack: string) =>
      `label_replace((${fillPromql('power{rack="{rack}"}', "{rack}", rack)}\n), "part", "${place}", "", "")`;
    const found = runQuery([part(0, "r1"), part(1, "r2")].join(" or "), families);
    expect(found.map(({ labels, value }) => [labels["part"], value])).toEqual([
      ["0", 1],
      ["1", 2],
      ["1", 3],
    ]);
    expect(made).toBe(1);
  });

  const awkward = fc.constantFrom(..."ab.|\\\"'`{}()[]^$*+?#,= \n\t".split(""), "ü", "\u{1f600}");

  it("matches a label value with any characters, and no other value", () => {
    fc.assert(
      fc.property(fc.string({ unit: awkward }), (name) => {
        const own: QueryableMetrics = {
          m: () => [
            { labels: { rack: name }, value: 1 },
            { labels: { rack: `${name}x` }, value: 2 },
          ],
        };
        for (const template of ['m{rack="{rack}"}', "m{rack='{rack}'}", "m{rack=`{rack}`}"])
          expect(runQuery(fillPromql(template, "{rack}", name), own).map(({ value }) => value)).toEqual([1]);
      }),
    );
  });

  it("returns a result or a clear error for any text", () => {
    const word = fc.constantFrom(
      "power",
      "or",
      "(",
      ")",
      "{",
      "}",
      ",",
      "=",
      "=~",
      '"a"',
      "label_replace",
      "#",
      "\n",
      "'",
      "1",
    );
    const text = fc.oneof(
      fc.string({ unit: awkward }),
      fc.array(word, { maxLength: 12 }).map((words) => words.join(" ")),
    );
    fc.assert(
      fc.property(text, (query) => {
        expect(outcomeOf(query)).toMatch(/^(answered|refused: .+)$/s);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    "sum(power)",
    "rate(power[2m])",
    "power > 1",
    "power offset 5m",
    "",
    "{}",
    'power{node=~"(a+)+"}',
    "x".repeat(300_000),
  ])("rejects unsupported PromQL", (query) => {
    expect(() => runQuery(query, families)).toThrow(QueryError);
  });

  describe("on a large cluster", () => {
    const large: QueryableMetrics = {
      power: () => Array.from({ length: 10_000 }, (_, node) => ({ labels: { node: `n${node}` }, value: node })),
    };

    it("finds each of a hundred nodes", () => {
      const union = Array.from({ length: 100 }, (_, node) => `power{node="n${node}"}`).join(" or ");
      expect(runQuery(union, large)).toHaveLength(100);
    });

    it("rejects queries that read too many series", () => {
      const query = Array.from({ length: 20_000 }, () => "power").join(" or ");
      expect(() => runQuery(query, large)).toThrow(/more than 3000000 series/);
    });
  });
});
