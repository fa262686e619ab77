import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ProgressReporter } from "./progress.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] }));
afterEach(() => vi.useRealTimers());

function reporter(isTTY: boolean) {
  let text = "";
  const progress = new ProgressReporter("bench scheduling", { isTTY, write: (more: string) => (text += more) });
  return { progress, printed: () => text };
}

it("X-182 prints a line for each step and every ten seconds, until it is stopped", () => {
  const { progress, printed } = reporter(false);
  progress.step("repeat 1 of 2");
  vi.advanceTimersByTime(20_000);
  progress.step("repeat 2 of 2");
  progress.stop();
  vi.advanceTimersByTime(20_000);
  expect(printed().split("\n")).toEqual([
    "bench scheduling: repeat 1 of 2 (0 s)",
    "bench scheduling: repeat 1 of 2 (10 s)",
    "bench scheduling: repeat 1 of 2 (20 s)",
    "bench scheduling: repeat 2 of 2 (20 s)",
    "",
  ]);
});

it("X-182 redraws one line on a terminal, and clears it", () => {
  const { progress, printed } = reporter(true);
  progress.step("repeat 1 of 1");
  vi.advanceTimersByTime(1000);
  progress.stop();
  expect(printed()).toBe(
    "\r\x1b[Kbench scheduling: repeat 1 of 1 (0 s)\r\x1b[Kbench scheduling: repeat 1 of 1 (1 s)\r\x1b[K",
  );
});
