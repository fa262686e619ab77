import { describe, expect, it } from "vitest";
import { findWaits } from "./waits.ts";

const inTest = (text: string) => findWaits("src/programs/agent/x.test.ts", text);

describe("the rule that no test waits for real time", () => {
  it.each([
    ["systemClock.sleep waits for real time", "await systemClock.sleep(milliseconds(50));"],
    ["systemClock.after waits for real time", "systemClock.after(milliseconds(50), done);"],
    ["systemClock.monotonic waits for real time", "const begun = systemClock.monotonic();"],
    ["clock.sleep waits for real time", "const clock = systemClock; await clock.sleep(milliseconds(50));"],
    ["vi.waitFor; use eventually", "await vi.waitFor(check);"],
    ["vi.waitUntil; use eventually", "await vi.waitUntil(holds, { timeout: 60_000 });"],
    [
      "a poll with the bound 10_000; leave it out, the suite's is generous",
      "await expect.poll(f, { timeout: 10_000 }).toBe(1);",
    ],
    [
      "a poll with the bound SOON; leave it out, the suite's is generous",
      "await expect.poll(f, { timeout: SOON }).toBe(1);",
    ],
    ["a timeout of 30000 ms, below that of the suite", 'it("waits", async () => {}, 30_000);'],
    ["a timeout of 30000 ms, below that of the suite", 'it("waits", { timeout: 30_000 }, async () => {});'],
    [
      "a timeout of 30000 ms, below that of the suite",
      'it.each([1])("waits %s", { timeout: 30_000 }, async () => {});',
    ],
    ["a timeout of 9000 ms, below that of the suite", "beforeAll(start, 9000);"],
    ['"setTimeout(" in the text of a script', 'const script = "setTimeout(() => process.exit(3), 100)";'],
    ['"systemClock.sleep" in the text of a script', "run(`await systemClock.sleep(${length});`);"],
    ['"sleep 0.0" in the text of a script', 'const script = "while :; do sleep 0.05; done";'],
  ])("X-170 finds %s in `%s`", (what, text) => {
    expect(inTest(text)).toEqual([`src/programs/agent/x.test.ts:1: ${what}`]);
    expect(findWaits("src/platform/clock/testing/eventually.ts", text)).toEqual([]);
  });

  it.each([
    ["setTimeout", "setTimeout(done, 50);"],
    ["setInterval", "setInterval(look, 50);"],
    ["import of node:timers/promises", 'import { setTimeout as sleep } from "node:timers/promises";'],
    ["performance", "const begun = performance.now();"],
    ["Date.now", "const begun = Date.now();"],
    ["AbortSignal.timeout", "fetch(url, { signal: AbortSignal.timeout(10_000) });"],
  ])("X-170 finds %s below test, where no other rule looks", (what, text) => {
    expect(findWaits("test/cluster/x.ts", text)).toEqual([`test/cluster/x.ts:1: ${what} in a test`]);
  });

  it.each([
    "await clock.sleep(milliseconds(50));",
    "await eventually(() => done);",
    "await expect.poll(look).toBe(1);",
    'it("is long", async () => {}, 1_800_000);',
    'script("hangs", "exec sleep 1000");',
    "const at = systemClock.now();",
    "use({ clock: systemClock, timeout: milliseconds(20) });",
  ])("accepts `%s`", (text) => {
    expect(inTest(text)).toEqual([]);
  });
});
