import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fillPromql } from "../../../platform/telemetry/index.ts";
import { type QueryableMetrics, QueryError, runQuery } from "./query.ts";

const metrics: QueryableMetrics = {
  power: () => [
    { labels: { node: "a", rack: "r1" }, value: 1 },
    { labels: { node: "b", rack: "r2" }, value: 2 },
    { labels: { node: "c.d", rack: "r2" }, value: 3 },
  ],
  heat: () => [{ labels: {}, value: 20 }],
};

function outcomeOf(query: string): string {
  try {
    runQuery(query, metrics);
    return "answered";
  } catch (error) {
    return error instanceof QueryError ? `refused: ${error.message}` : String(error);
  }
}

describe("runQuery", () => {
  it.each([
    ["power", [1, 2, 3]],
    [" heat\n", [20]],
    ["power{}", [1, 2, 3]],
    ['power{rack="r2"}', [2, 3]],
    ['power { rack="r2" , node = "b", }', [2]],
    ['power{node="b",rack="r1"}', []],
    ['power{nothing=""}', [1, 2, 3]],
    ["toString", []],
    ['power{constructor=""}', [1, 2, 3]],
    ["unknown", []],
  ])("%s", (query, expected) => {
    expect(runQuery(query, metrics).map(({ value }) => value)).toEqual(expected);
  });

  const awkward = fc.constantFrom(..."ab.|\\\"'`{}()[]^$*+?#,= \n\t".split(""), "ü", "\u{1f600}");

  it("matches a label value with any characters, and no other value", () => {
    fc.assert(
      fc.property(fc.string({ unit: awkward, maxLength: 100 }), (name) => {
        const own: QueryableMetrics = {
          m: () => [
            { labels: { rack: name }, value: 1 },
            { labels: { rack: `${name}x` }, value: 2 },
          ],
        };
        const query = fillPromql('m{rack="{rack}"}', "{rack}", name);
        expect(runQuery(query, own).map(({ value }) => value)).toEqual([1]);
      }),
    );
  });

  it("returns a result or a clear error for any text", () => {
    const word = fc.constantFrom("power", "{", "}", ",", "=", '"a"', "node", "\n", "'", "1");
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
    "power or heat",
    "power > 1",
    "",
    "{}",
    'power{node=~"(a+)+"}',
    'power{node!="a"}',
    `power{${'a="b",'.repeat(10_000)}}`,
  ])("rejects unsupported PromQL", (query) => {
    expect(() => runQuery(query, metrics)).toThrow(QueryError);
  });
});
