import { describe, expect, it } from "vitest";
import { Slots } from "./slots.ts";

describe("Slots", () => {
  it("numbers names from 0 and keeps their numbers", () => {
    const slots = new Slots();
    expect([slots.take("a"), slots.take("b"), slots.take("a")]).toEqual([0, 1, 0]);
    expect(slots.of("b")).toBe(1);
    expect(slots.of("c")).toBe(-1);
    expect(slots.end).toBe(2);
    expect(slots.size).toBe(2);
  });

  it("gives a released number to the next name before it makes a new one", () => {
    const slots = new Slots();
    for (const name of ["a", "b", "c"]) slots.take(name);
    slots.release("b");
    expect(slots.of("b")).toBe(-1);
    expect(slots.size).toBe(2);
    expect(slots.take("d")).toBe(1);
    expect(slots.take("e")).toBe(3);
    expect(slots.end).toBe(4);
  });

  it("ignores the release of a name it does not know, also a second time", () => {
    const slots = new Slots();
    slots.take("a");
    slots.release("z");
    slots.release("a");
    slots.release("a");
    expect([slots.take("b"), slots.take("c")]).toEqual([0, 1]);
  });
});
