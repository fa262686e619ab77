import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KnownNodes, LastNames } from "./known-nodes.ts";
import { filterReply } from "./replies.ts";
import { readRequest } from "./request.ts";
import { compareWithJsonParse, expectSameAsJsonParse } from "./testing/compare-with-json-parse.ts";

const node = (name: string, rest: object = {}) => ({ metadata: { name, ...rest }, status: { s: "x".repeat(100) } });
const request = (nodes: readonly object[]) =>
  Buffer.from(JSON.stringify({ Pod: {}, Nodes: { items: nodes }, NodeNames: null }));

describe("KnownNodes", () => {
  it("X-20 a request reads the same with cached Nodes that changed, moved, were renamed or deleted", () => {
    const nodes = fc.array(
      fc.record({
        name: fc.constantFrom("a", "b", "aa", "é"),
        labels: fc.constantFrom(
          null,
          {},
          { "joulie.io/power-profile": "eco" },
          { "joulie.io/power-profile": 'e"co' },
          { "joulie.io/draining": "true", "joulie.io/power-profile": "eco" },
          { "joulie.io/draining": 't"' },
          { x: "" },
        ),
        status: fc.constantFrom("", "x", "xy"),
      }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(
        fc.array(nodes, { minLength: 2, maxLength: 6 }),
        fc.integer({ min: 600, max: 5000 }),
        (requests, limit) => {
          const known = new KnownNodes(limit);
          for (const list of requests) {
            const items = list.map(({ status, ...metadata }) => ({ metadata, status }));
            expect(compareWithJsonParse(request(items), { knownNodes: known })).toBe("read");
            expect(known.bytes).toBeLessThanOrEqual(limit);
          }
        },
      ),
    );
  });

  it("finds a cached Node only if every byte is equal and present", () => {
    const known = new KnownNodes();
    const body = request([node("a"), node("b", { labels: { "joulie.io/power-profile": "eco" } })]);
    readRequest(body, { knownNodes: known });
    const at = body.indexOf('{"metadata":{"name":"b"');
    expect(known.find(body, at)).toBeGreaterThanOrEqual(0);
    expect(known.find(body, at + 1)).toBe(-1);
    expect(known.find(body.subarray(0, -21), at)).toBe(-1);
    for (let length = 0; length < 40; length++) expect(known.find(body.subarray(at, at + length), 0)).toBe(-1);
    const changed = Buffer.from(body);
    changed.write("y", changed.lastIndexOf("x"));
    expect(known.find(changed, at)).toBe(-1);
    expectSameAsJsonParse(readRequest(changed, { knownNodes: known }), changed);
    // The new version replaced the old one.
    expect(known.find(changed, at)).toBeGreaterThanOrEqual(0);
    expect(known.find(body, at)).toBe(-1);
  });

  it("keeps its own copies, so the request's memory can be reused", () => {
    const known = new KnownNodes();
    const body = request([node("a")]);
    const again = Buffer.from(body);
    readRequest(body, { knownNodes: known });
    body.fill(0);
    expect(known.find(again, again.indexOf('{"metadata":{"name"'))).toBeGreaterThanOrEqual(0);
  });

  it("overwrites the old version, and allocates only for a much longer one", () => {
    const known = new KnownNodes();
    const withText = (text: string) => {
      const body = request([node("a", { text }), node("b")]);
      for (let time = 0; time < 2; time++) expectSameAsJsonParse(readRequest(body, { knownNodes: known }), body);
      expect(known.find(body, body.indexOf('{"metadata":{"name":"a"'))).toBe(0);
      return known.bytes;
    };
    const first = withText("x".repeat(50));
    for (let version = 0; version < 50; version++) expect(withText("y".repeat(version))).toBe(first);
    expect(withText("z".repeat(300))).toBe(first + 256);
    expect(withText("")).toBe(first + 256);
  });

  it("stays within its memory limit and starts over when it is used up", () => {
    // Includes the overhead per Node and the rounding.
    const size = 256 + 640;
    const known = new KnownNodes(10 * size);
    const body = request(Array.from({ length: 25 }, (_, i) => node(`n-${String(i).padStart(3, "0")}`)));
    expectSameAsJsonParse(readRequest(body, { knownNodes: known }), body);
    expect(known.bytes).toBe(5 * size);
    expectSameAsJsonParse(readRequest(body, { knownNodes: known }), body);
    const huge = request([node("huge", { x: "x".repeat(10 * size) })]);
    expectSameAsJsonParse(readRequest(huge, { knownNodes: known }), huge);
    expect(known.bytes).toBeLessThanOrEqual(10 * size);
  });

  it("holds all Nodes of the largest request", () => {
    const known = new KnownNodes();
    const status = { s: "x".repeat(5900) };
    const nodes = Array.from({ length: 11_000 }, (_, i) => ({ metadata: { name: `n-${i}` }, status }));
    const body = request(nodes);
    expect(body.length).toBeGreaterThan(62 << 20);
    readRequest(body, { knownNodes: known });
    expect(known.find(body, body.indexOf('{"metadata":{"name":"n-0"'))).toBe(0);
  });

  it("X-62 charges tiny Nodes with their overhead, so hundreds of thousands do not fit", () => {
    const known = new KnownNodes();
    const tiny = (i: number) => `{"metadata":{"name":"${i}"}}`;
    for (let from = 0; from < 200_000; from += 50_000) {
      const items = Array.from({ length: 50_000 }, (_, i) => tiny(from + i)).join(",");
      readRequest(Buffer.from(`{"Pod":{},"Nodes":{"items":[${items}]}}`), { knownNodes: known });
    }
    expect(known.bytes).toBeLessThanOrEqual(80 << 20);
    const first = Buffer.from(`${tiny(0)}   `);
    const last = Buffer.from(`${tiny(199_999)}   `);
    expect([known.find(first, 0), known.find(last, 0) >= 0]).toEqual([-1, true]);
  });

  it("X-62 names chosen to collide cost no more than others", () => {
    // With quadratic time the test would time out.
    const names = collidingNames(15);
    const known = new KnownNodes();
    const body = request(names.map((name) => ({ metadata: { name } })));
    readRequest(body, { knownNodes: known });
    expectSameAsJsonParse(readRequest(body, { knownNodes: known }), body);
    expect(known.find(body, body.indexOf(`{"metadata":{"name":"${names.at(-1)}`))).toBe(names.length - 1);
  });
});

/** 2^pairs different names with the same FNV-1a hash: all combinations of pairs of parts that end in the same state. */
function collidingNames(pairs: number): string[] {
  const after = (hash: number, part: string) =>
    Buffer.from(part).reduce((state, byte) => Math.imul(state ^ byte, 0x01000193), hash);
  let state = 0x811c9dc5 | 0;
  let names = [""];
  for (let pair = 0; pair < pairs; pair++) {
    const seen = new Map<number, string>();
    for (let i = 0; ; i++) {
      const part = (Math.imul(i, 0x9e3779b1) >>> 0).toString(36).padStart(7, "0");
      const end = after(state, part);
      const other = seen.get(end);
      seen.set(end, part);
      if (other === undefined) continue;
      names = names.flatMap((name) => [name + other, name + part]);
      state = end;
      break;
    }
  }
  return names;
}

const reasons = [undefined, "the node is eco"];
const requestFor = (names: readonly string[]) =>
  readRequest(Buffer.from(JSON.stringify({ Pod: {}, Nodes: null, NodeNames: names }))).candidates;

/** Filters the names; those with code 0 are accepted. */
function filtered(last: LastNames, names: readonly string[], codes: readonly number[], version = 1): void {
  const slots = Int32Array.from(names, slotOf);
  const asked = Uint8Array.from(codes);
  const [list] = filterReply(requestFor(names), asked, reasons).accepted;
  if (list !== undefined) last.keep(list, version, slots, asked);
}
const slotOf = (name: string): number => Number(name.slice(1));

function slotsOf(last: LastNames, names: readonly string[], version = 1): number[] | undefined {
  const out = new Int32Array(names.length).fill(-9);
  return last.read(requestFor(names).list, version, out) ? [...out] : undefined;
}

describe("the last list of names", () => {
  it("knows the slots of the nodes that the last filter reply accepted, in their order", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.record({ slot: fc.nat(5000), code: fc.constantFrom(0, 1) }), {
          minLength: 1,
          maxLength: 40,
          selector: ({ slot }) => slot,
        }),
        (nodes) => {
          const last = new LastNames();
          const names = nodes.map(({ slot }) => `n${slot}`);
          filtered(
            last,
            names,
            nodes.map(({ code }) => code),
          );
          const accepted = names.filter((_, i) => nodes[i]?.code === 0);
          const found = slotsOf(last, accepted);
          expect(found).toEqual(accepted.length === 0 ? undefined : accepted.map(slotOf));
        },
      ),
    );
  });

  it("does not know another list: another name, order or length", () => {
    const last = new LastNames();
    filtered(last, ["n1", "n2", "n3"], [0, 0, 0]);
    for (const other of [["n1", "n2", "n4"], ["n2", "n1", "n3"], ["n1", "n2"], ["n1", "n2", "n3", "n4"], []])
      expect(slotsOf(last, other)).toBeUndefined();
    expect(slotsOf(last, ["n1", "n2", "n3"])).toEqual([1, 2, 3]);
  });

  it("forgets the list when a node came or went, or when another filter reply followed", () => {
    const last = new LastNames();
    filtered(last, ["n1", "n2"], [0, 0], 7);
    expect(slotsOf(last, ["n1", "n2"], 8)).toBeUndefined();
    filtered(last, ["n1", "n2"], [0, 1], 8);
    expect(slotsOf(last, ["n1", "n2"], 8)).toBeUndefined();
    expect(slotsOf(last, ["n1"], 8)).toEqual([1]);
  });

  it("does not store a list of more than 4 MiB", () => {
    const last = new LastNames();
    const names = Array.from({ length: 20_000 }, (_, i) => `n${i}${".".repeat(250)}`);
    const slots = Int32Array.from(names, (_, i) => i);
    last.keep(requestFor(names).list, 1, slots, new Uint8Array(names.length));
    expect(last.read(requestFor(names).list, 1, slots)).toBe(false);
  });
});
