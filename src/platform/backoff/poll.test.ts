import { describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { VirtualClock } from "../clock/index.ts";
import { pollUntil } from "./index.ts";

describe("pollUntil", () => {
  const limits = { first: milliseconds(1000), longest: milliseconds(5000), timeout: milliseconds(20_000) };
  const asking = (holds: (turn: number) => boolean) => {
    const clock = new VirtualClock();
    const at: number[] = [];
    const result = pollUntil(clock, limits, async () => {
      at.push(clock.monotonic() / 1000);
      return holds(at.length);
    });
    return { clock, at, result };
  };

  it("asks less and less often, and a last time when the time is over", async () => {
    const { clock, at, result } = asking(() => false);
    await clock.advanceAsync(milliseconds(60_000));
    expect(await result).toBe(false);
    expect(at).toEqual([0, 1, 3, 7, 12, 17, 20]);
  });

  it("ends when the condition holds", async () => {
    const { clock, at, result } = asking((turn) => turn === 3);
    await clock.advanceAsync(milliseconds(60_000));
    expect(await result).toBe(true);
    expect(at).toEqual([0, 1, 3]);
  });
});
