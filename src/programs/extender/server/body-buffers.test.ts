import { describe, expect, it } from "vitest";
import { BodyBuffers } from "./body-buffers.ts";

const nothing = () => undefined;

describe("BodyBuffers", () => {
  it("reuses the last buffer, also for a slightly larger body", () => {
    const buffers = new BodyBuffers(nothing);
    const first = buffers.take(70_000);
    buffers.give(first);
    expect(buffers.take(71_000)).toBe(first);
  });

  it("does not hand out a buffer that is in use", () => {
    const buffers = new BodyBuffers(nothing);
    const first = buffers.take(10);
    buffers.give(first);
    expect(buffers.take(10)).toBe(first);
    expect(buffers.take(10)).not.toBe(first);
  });

  it("returns the requested length, keeps the larger buffer, and accepts a length of 0", () => {
    const buffers = new BodyBuffers(nothing);
    const large = buffers.take(1_000_000);
    expect(large.length).toBeGreaterThanOrEqual(1_000_000);
    buffers.give(large);
    expect(buffers.take(2_000_000).length).toBeGreaterThanOrEqual(2_000_000);
    buffers.give(Buffer.alloc(5));
    expect(buffers.take(6)).toBe(large);
    expect(buffers.take(0).length).toBe(0);
  });

  it("releases an oversized buffer after 100 smaller requests", () => {
    const buffers = new BodyBuffers(nothing);
    const huge = buffers.take(64 * 1024 * 1024);
    buffers.give(huge);
    let requests = 0;
    for (let buffer = buffers.take(1000); buffer === huge; buffer = buffers.take(1000), requests++)
      buffers.give(buffer);
    expect(requests).toBe(100);
    expect(buffers.take(1000).length).toBeLessThan(100_000);
  });

  it("collects garbage after every 4 MiB of copied chunks", () => {
    let collected = 0;
    const buffers = new BodyBuffers(() => collected++);
    for (let piece = 0; piece < 63; piece++) buffers.copied(65_536);
    expect(collected).toBe(0);
    for (let piece = 0; piece < 65; piece++) buffers.copied(65_536);
    expect(collected).toBe(2);
  });
});
