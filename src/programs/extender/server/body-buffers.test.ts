import { describe, expect, it } from "vitest";
import { BodyBuffers } from "./body-buffers.ts";

const nothing = () => undefined;

describe("body buffers", () => {
  it("the last one serves again, also for a little more", () => {
    const buffers = new BodyBuffers(nothing);
    const first = buffers.take(70_000);
    buffers.give(first);
    expect(buffers.take(71_000)).toBe(first);
  });

  it("one that is in use is not given to another", () => {
    const buffers = new BodyBuffers(nothing);
    const first = buffers.take(10);
    buffers.give(first);
    expect(buffers.take(10)).toBe(first);
    expect(buffers.take(10)).not.toBe(first);
  });

  it("is as long as asked, the larger one is kept, and nothing asked for is something", () => {
    const buffers = new BodyBuffers(nothing);
    const large = buffers.take(1_000_000);
    expect(large.length).toBeGreaterThanOrEqual(1_000_000);
    buffers.give(large);
    expect(buffers.take(2_000_000).length).toBeGreaterThanOrEqual(2_000_000);
    buffers.give(Buffer.alloc(5));
    expect(buffers.take(6)).toBe(large);
    expect(buffers.take(0).length).toBe(0);
  });

  it("one that only one request was so large for is let go in the end", () => {
    const buffers = new BodyBuffers(nothing);
    const huge = buffers.take(64 * 1024 * 1024);
    buffers.give(huge);
    let requests = 0;
    for (let buffer = buffers.take(1000); buffer === huge; buffer = buffers.take(1000), requests++)
      buffers.give(buffer);
    expect(requests).toBe(100);
    expect(buffers.take(1000).length).toBeLessThan(100_000);
  });

  it("has the pieces of bodies collected after every 4 MiB of them", () => {
    let collected = 0;
    const buffers = new BodyBuffers(() => collected++);
    for (let piece = 0; piece < 63; piece++) buffers.copied(65_536);
    expect(collected).toBe(0);
    for (let piece = 0; piece < 65; piece++) buffers.copied(65_536);
    expect(collected).toBe(2);
  });
});
