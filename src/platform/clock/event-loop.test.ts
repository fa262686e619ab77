import { afterEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { type EventLoopDelay, eventLoopDelay, systemClock } from "./index.ts";

let watch: EventLoopDelay | undefined;
afterEach(() => watch?.stop());

const block = (length: number): void => {
  const end = systemClock.monotonic() + length;
  while (systemClock.monotonic() < end);
};

async function sampled(watched: EventLoopDelay): Promise<void> {
  while (watched.read() === undefined) await systemClock.sleep(milliseconds(5));
}

describe("eventLoopDelay", () => {
  it("has no statistics before the first sample and after a reset", async () => {
    watch = eventLoopDelay(milliseconds(5));
    expect(watch.read()).toBeUndefined();
    await sampled(watch);
    watch.reset();
    expect(watch.read()).toBeUndefined();
  });

  it("reports the longest delay without the sampling period", async () => {
    watch = eventLoopDelay(milliseconds(10));
    await sampled(watch);
    block(120);
    await systemClock.sleep(milliseconds(20));
    const { p50, p99, longest } = watch.read() ?? {};
    expect(longest).toBeGreaterThan(90);
    expect(p99).toBeLessThanOrEqual(longest ?? 0);
    expect(p50).toBeLessThanOrEqual(p99 ?? 0);
  });

  it("never reports a negative delay", async () => {
    watch = eventLoopDelay(milliseconds(20));
    await sampled(watch);
    expect(watch.read()?.p50).toBeGreaterThanOrEqual(0);
  });

  it("stops", async () => {
    watch = eventLoopDelay(milliseconds(1));
    await sampled(watch);
    watch.stop();
    watch.reset();
    await systemClock.sleep(milliseconds(20));
    expect(watch.read()).toBeUndefined();
  });

  it.each([0, -1, Number.NaN, 1e308])("rejects a period of %d ms", (period) => {
    expect(() => eventLoopDelay(milliseconds(period))).toThrow(RangeError);
  });
});
