import { describe, expect, it, vi } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { systemClock } from "./system.ts";
import { threadLoad } from "./thread-load.ts";

describe("the load of a thread", () => {
  it("covers the time since the last call", async () => {
    const load = threadLoad();
    await systemClock.sleep(milliseconds(50));
    load();
    const until = systemClock.monotonic() + 50;
    while (systemClock.monotonic() < until);
    await systemClock.sleep(milliseconds(0));
    const busy = load();
    // A thread that another process kept from running may not have waited at all.
    await vi.waitFor(async () => {
      await systemClock.sleep(milliseconds(50));
      expect(load()).toBeLessThan(busy);
    });
  });
});
