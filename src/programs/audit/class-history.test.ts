import { describe, expect, it } from "vitest";
import type { SchedulableClass } from "../../core/api/index.ts";
import { instant } from "../../core/units/index.ts";
import { ClassHistory } from "./placement-audit.ts";

const reported = (...classes: readonly (SchedulableClass | undefined)[]): ClassHistory => {
  const history = new ClassHistory();
  classes.forEach((one, index) =>
    history.record("a", { version: 10 * (index + 1), class: one, observedAt: instant(index) }),
  );
  return history;
};

describe("ClassHistory", () => {
  it("counts a drain once, however often the twin is refreshed, and counts its outcome", () => {
    expect(reported("performance", "draining", "draining", "eco").drains).toEqual({
      deferred: 1,
      completed: 1,
      takenBack: 0,
    });
    expect(reported("performance", "draining", "performance", "draining").drains).toEqual({
      deferred: 2,
      completed: 0,
      takenBack: 1,
    });
    expect(reported("performance", "eco", "performance").drains).toEqual({ deferred: 0, completed: 0, takenBack: 0 });
  });

  it("returns the class published before a resource version, excluding that version", () => {
    const history = reported("performance", "draining", "eco");
    expect(history.publishedBefore("a", 10)).toBeUndefined();
    expect(history.publishedBefore("a", 11)?.class).toBe("performance");
    expect(history.publishedBefore("a", 20)?.class).toBe("performance");
    expect(history.publishedBefore("a", 21)?.class).toBe("draining");
    expect(history.publishedBefore("a", Number.NaN)).toBeUndefined();
    expect(history.publishedBefore("b", 100)).toBeUndefined();
  });

  it("keeps the time a class was first seen, and forgets deleted nodes", () => {
    const history = reported("eco", "eco", "eco");
    expect(history.current("a")).toEqual({ version: 10, class: "eco", observedAt: 0 });
    history.forget("a");
    expect(history.current("a")).toBeUndefined();
  });

  it("retains only the most recent changes of a node", () => {
    const history = reported(...Array.from({ length: 1000 }, (_, index) => (index % 2 === 0 ? "eco" : "performance")));
    expect(history.publishedBefore("a", 9_995)?.class).toBe("eco");
    expect(history.publishedBefore("a", 20)).toBeUndefined();
  });
});
