import { describe, expect, it } from "vitest";
import { CallSlots } from "./call-slots.ts";

const never = new AbortController().signal;

describe("CallSlots", () => {
  it("serves the newest caller first, and a caller that gives up takes no slot", async () => {
    const slots = new CallSlots(1);
    const free = await slots.take(never);
    const order: string[] = [];
    const impatient = new AbortController();
    const left = slots.take(impatient.signal);
    const waiting = ["a", "b"].map(async (name) => {
      const done = await slots.take(never);
      order.push(name);
      done();
    });
    impatient.abort(new Error("too late"));
    await expect(left).rejects.toThrow("too late");
    expect(order).toEqual([]);
    free();
    await Promise.all(waiting);
    expect(order).toEqual(["b", "a"]);
    await slots.take(never);
  });

  it("frees a slot once, however often it is told to", async () => {
    const slots = new CallSlots(1);
    const free = await slots.take(never);
    free();
    free();
    await slots.take(never);
    const impatient = new AbortController();
    const second = slots.take(impatient.signal);
    impatient.abort(new Error("no slot"));
    await expect(second).rejects.toThrow("no slot");
  });

  it("rejects a caller that is aborted already", async () => {
    await expect(new CallSlots(1).take(AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
  });
});
