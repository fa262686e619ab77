import { describe, expect, it } from "vitest";
import { runServices, type Service } from "./services.ts";

describe("services", () => {
  /** Writes down what happens to it. */
  const recorded = (events: string[], name: string, failing: Partial<Record<keyof Service, string>> = {}): Service => {
    const step = (what: keyof Service) => async () => {
      events.push(`${what} ${name}`);
      if (failing[what] !== undefined) throw new Error(failing[what]);
    };
    return {
      start: step("start"),
      run: async (signal) => {
        await step("run")();
        await new Promise<void>((resolve) => {
          if (signal.aborted) resolve();
          else signal.addEventListener("abort", () => resolve(), { once: true });
        });
        events.push(`end ${name}`);
      },
      stop: step("stop"),
    };
  };

  it("start in order and stop in the opposite order, each after its work has ended", async () => {
    const events: string[] = [];
    const stopping = new AbortController();
    const last: Service = { start: () => stopping.abort(), stop: () => events.push("stop last") };
    await runServices([recorded(events, "a"), recorded(events, "b"), last], stopping.signal);
    expect(events).toEqual(["start a", "run a", "start b", "run b", "end a", "end b", "stop last", "stop b", "stop a"]);
  });

  it("end when one cannot start: no later one starts, all are stopped, and the error is thrown", async () => {
    const events: string[] = [];
    const services = [recorded(events, "a"), recorded(events, "b", { start: "port taken" }), recorded(events, "c")];
    await expect(runServices(services, new AbortController().signal)).rejects.toThrow("port taken");
    expect(events).toEqual(["start a", "run a", "start b", "end a", "stop c", "stop b", "stop a"]);
  });

  it("end when the work of one fails", async () => {
    const events: string[] = [];
    const services = [recorded(events, "a"), recorded(events, "b", { run: "broken" })];
    await expect(runServices(services, new AbortController().signal)).rejects.toThrow("broken");
    expect(events).toEqual(["start a", "run a", "start b", "run b", "end a", "stop b", "stop a"]);
  });

  it("are all stopped although one cannot, and its error is thrown", async () => {
    const events: string[] = [];
    const services = [recorded(events, "a"), recorded(events, "b", { stop: "stuck" })];
    const stopped = AbortSignal.abort();
    await expect(runServices(services, stopped)).rejects.toThrow("stuck");
    expect(events).toEqual(["start a", "run a", "start b", "end a", "run b", "end b", "stop b", "stop a"]);
  });
});
