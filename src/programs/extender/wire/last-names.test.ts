import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LastNames } from "./last-names.ts";
import { filterReply } from "./replies.ts";
import { readRequest } from "./request.ts";

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
