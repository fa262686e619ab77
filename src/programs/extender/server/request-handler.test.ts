import * as fc from "fast-check";
import { expect, it } from "vitest";
import { coalesceBuffers } from "./request-handler.ts";

it("keeps the bytes and their order", () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.integer({ min: 4000, max: 5000 }).map((length) => new Uint8Array(length).fill(length % 251)),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 200 }), (pieces) => {
      const given = pieces.map((bytes) => Buffer.from(bytes));
      expect(Buffer.concat(coalesceBuffers(given)).equals(Buffer.concat(given))).toBe(true);
    }),
  );
});

it("joins thousands of small buffers and keeps a large one as it is", () => {
  const small = Array.from({ length: 10_000 }, (_, i) => Buffer.from(`"ip-10-0-0-${i}.compute.internal",`));
  const large = Buffer.alloc(10_000);
  const few = coalesceBuffers([...small, large, ...small]);
  expect(few.length).toBeLessThan(8);
  expect(few).toContain(large);
  expect(coalesceBuffers([])).toEqual([]);
});
