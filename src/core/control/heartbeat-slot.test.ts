import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fnv1a32, shardOf } from "./heartbeat-slot.ts";

describe("fnv1a32", () => {
  it.each([
    ["", 2166136261],
    ["a", 3826002220],
    ["worker-01", 2840042801],
    ["foobar", 0xbf9cf968],
  ])("X-47 hashes %j to %d", (text, hash) => {
    expect(fnv1a32(text)).toBe(hash);
  });

  it("X-47 hashes UTF-8 bytes, not UTF-16 units", () => {
    // c3 a9, step by step.
    const first = Math.imul(0x811c9dc5 ^ 0xc3, 0x01000193);
    expect(fnv1a32("é")).toBe(Math.imul(first ^ 0xa9, 0x01000193) >>> 0);
  });
});

describe("shardOf", () => {
  it("X-47 is the hash modulo the number of shards", () => {
    expect(shardOf("worker-01", 7)).toBe(2840042801 % 7);
    expect(shardOf("worker-01", 1)).toBe(0);
  });

  it.each([0, -1, Number.NaN])("owns every node in shard 0 with %d shards", (shards) => {
    expect(shardOf("worker-01", shards)).toBe(0);
  });

  it("X-47 assigns every node to exactly one shard and balances the shards", () => {
    const counts = [0, 0, 0, 0];
    for (let index = 0; index < 4000; index++) {
      const shard = shardOf(`node-${index}.example.org`, counts.length);
      counts[shard] = (counts[shard] ?? Number.NaN) + 1;
    }
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });

  it("stays in range for any name", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 20 }), fc.integer({ min: 1, max: 1000 }), (name, shards) => {
        const shard = shardOf(name, shards);
        expect(Number.isInteger(shard) && shard >= 0 && shard < shards).toBe(true);
      }),
    );
  });
});
