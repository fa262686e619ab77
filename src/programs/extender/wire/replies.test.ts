import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { filterReply, prioritizeReply } from "./replies.ts";
import { readRequest } from "./request.ts";
import { respell, seededDice } from "./testing/random-requests.ts";

const reasons = [undefined, 'the node is "eco"', "the node drains"];
const nodes = (names: readonly string[]) =>
  names.map((name, i) => ({ metadata: { name, labels: { i: `${i}` } }, status: { s: '],[{"' } }));

interface FilterResult {
  readonly Nodes: { readonly metadata: object; readonly items: readonly unknown[] } | null;
  readonly NodeNames: readonly string[] | null;
  readonly FailedNodes: object;
  readonly FailedAndUnresolvableNodes: Readonly<Record<string, string>>;
  readonly Error: string;
}

const parsed = (pieces: readonly Buffer[]) => JSON.parse(Buffer.concat(pieces).toString()) as unknown;
const nameArb = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((name) => JSON.stringify(name) === `"${name}"`);
const asked = fc.array(
  fc.record({ name: nameArb, code: fc.constantFrom(0, 0, 0, 1, 2), score: fc.integer({ min: 0, max: 100 }) }),
  {
    maxLength: 30,
  },
);

/** The same candidates as a request with names and as one with Nodes, in a random serialization. */
function requests(names: readonly string[], seed: number) {
  const body = (list: object) => Buffer.from(respell({ Pod: {}, ...list }, seededDice(seed)));
  return {
    names: readRequest(body({ Nodes: null, NodeNames: names })).candidates,
    nodes: readRequest(body({ Nodes: { items: nodes(names) }, NodeNames: null })).candidates,
  };
}

describe("replies", () => {
  it("SCH-01 SCH-13 X-20 filter returns accepted candidates whole and in order, and rejected ones as unresolvable with the reason", () => {
    fc.assert(
      fc.property(asked, fc.nat(), (list, seed) => {
        const names = list.map(({ name }) => name);
        const codes = Uint8Array.from(list, ({ code }) => code);
        const keptNames = names.filter((_, i) => codes[i] === 0);
        const failed: Record<string, string> = {};
        // defineProperty, because a node may be called __proto__.
        names.forEach((name, i) => {
          const value = reasons[codes[i] as number];
          if (value !== undefined) Object.defineProperty(failed, name, { value, enumerable: true, configurable: true });
        });
        const both = requests(names, seed);
        const rest = { FailedNodes: {}, FailedAndUnresolvableNodes: failed, Error: "" };
        expect(parsed(filterReply(both.names, codes, reasons).chunks)).toEqual({
          Nodes: null,
          NodeNames: keptNames,
          ...rest,
        });
        const items = nodes(names).filter((_, i) => codes[i] === 0);
        expect(parsed(filterReply(both.nodes, codes, reasons).chunks)).toEqual({
          Nodes: { metadata: {}, items },
          NodeNames: null,
          ...rest,
        });
      }),
    );
  });

  it("X-20 returns Nodes byte for byte, as slices of the request", () => {
    const item = (name: string) => `{ "metadata" : {"name":"${name}", "x":1.50e+3},"y":{"\\u0061":"\\/"} }`;
    const items = `${item("a")} , ${item("b")},${item("c")} ,\n${item("d")}`;
    // In its own ArrayBuffer, so that slices can be distinguished from copies.
    const body = Buffer.from(new TextEncoder().encode(`{"Pod":{},"Nodes":{"items":[ ${items} ]}}`).buffer);
    const { candidates } = readRequest(body);
    const itemsOf = (codes: readonly number[]) => {
      const pieces = filterReply(candidates, Uint8Array.from(codes), reasons).chunks;
      const text = Buffer.concat(pieces).toString();
      return { slices: pieces.filter((piece) => piece.buffer === body.buffer), text };
    };
    const all = itemsOf([0, 0, 0, 0]);
    expect(all.slices.map(String)).toEqual([items]);
    const some = itemsOf([0, 1, 0, 1]);
    expect(some.slices.map(String)).toEqual([`${item("a")} , `, item("c")]);
    expect(some.text).toContain(`"items":[${item("a")} , ${item("c")}]}`);
    expect(itemsOf([1, 1, 2, 1]).text).toContain('"items":[]}');
  });

  it("returns an empty list, not null, if every candidate is rejected", () => {
    const both = requests(["a"], 1);
    const reply = parsed(filterReply(both.names, Uint8Array.of(1), reasons).chunks) as FilterResult;
    expect(reply).toMatchObject({ NodeNames: [], Nodes: null });
    expect(parsed(filterReply(both.nodes, Uint8Array.of(1), reasons).chunks)).toMatchObject({
      NodeNames: null,
      Nodes: { items: [] },
    });
  });

  it("SCH-02 prioritize returns one integer score per candidate, in order", () => {
    fc.assert(
      fc.property(asked, fc.nat(), (list, seed) => {
        const both = requests(
          list.map(({ name }) => name),
          seed,
        );
        const scores = Int16Array.from(list, ({ score }) => score);
        const expected = list.map(({ name, score }) => ({ Host: name, Score: score }));
        expect(parsed(prioritizeReply(both.names, scores))).toEqual(expected);
        expect(parsed(prioritizeReply(both.nodes, scores))).toEqual(expected);
      }),
    );
  });

  it("writes every score that fits in an Int16Array", () => {
    const scores = Int16Array.of(0, 9, 10, 99, 100, 101, 999, 1000, 32_767, -1, -32_768);
    const { names } = requests(
      Array.from(scores, (_, i) => `n${i}`),
      1,
    );
    expect(parsed(prioritizeReply(names, scores))).toEqual(
      Array.from(scores, (Score, i) => ({ Host: `n${i}`, Score })),
    );
  });
});
