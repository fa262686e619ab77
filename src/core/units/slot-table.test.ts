import { describe, expect, it } from "vitest";
import { SlotTable } from "./slot-table.ts";

describe("SlotTable", () => {
  it("numbers names from 0 and keeps their numbers", () => {
    const slots = new SlotTable();
    expect([slots.take("a"), slots.take("b"), slots.take("a")]).toEqual([0, 1, 0]);
    expect(slots.of("b")).toBe(1);
    expect(slots.of("c")).toBe(-1);
    expect(slots.end).toBe(2);
    expect(slots.size).toBe(2);
  });

  it("reuses a released number for the next name before it assigns a new one", () => {
    const slots = new SlotTable();
    for (const name of ["a", "b", "c"]) slots.take(name);
    slots.release("b");
    expect(slots.of("b")).toBe(-1);
    expect(slots.size).toBe(2);
    expect(slots.take("d")).toBe(1);
    expect(slots.take("e")).toBe(3);
    expect(slots.end).toBe(4);
  });

  it("has another version whenever a name gets or loses its number, and only then", () => {
    const slots = new SlotTable();
    const versions = [slots.version];
    const step = (change: () => void): void => {
      change();
      versions.push(slots.version);
    };
    step(() => slots.take("a"));
    step(() => slots.release("a"));
    step(() => slots.take("b"));
    expect(new Set(versions).size).toBe(4);
    slots.take("b");
    slots.release("z");
    expect(slots.version).toBe(versions.at(-1));
  });

  it("ignores the release of an unknown name and a repeated release", () => {
    const slots = new SlotTable();
    slots.take("a");
    slots.release("z");
    slots.release("a");
    slots.release("a");
    expect([slots.take("b"), slots.take("c")]).toEqual([0, 1]);
  });
});
