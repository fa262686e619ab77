import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { ClusterHistory } from "./cluster-history.ts";
import { cachedPast, type PastReader, pastOf } from "./prometheus-history.ts";

const NOW = Date.UTC(2030, 0, 1, 12);
const MONTH = milliseconds(30 * 24 * 3_600_000);
const log = createLogger({ level: "silent", program: "test" });

const cached = () => {
  let queries = 0;
  let isDown = false;
  const reader: PastReader = {
    queryRange: async (_, { to }) => {
      queries++;
      if (isDown) throw new Error("no answer");
      return [{ at: to, value: 100 }];
    },
  };
  const ring = new ClusterHistory();
  const past = cachedPast(async (now, length) => pastOf(reader, ring, log, now, length));
  return {
    ask: async (after: number, length = MONTH) => past(instant(NOW + after), length),
    queries: () => queries,
    down: (value: boolean) => (isDown = value),
  };
};

describe("the past of Prometheus", () => {
  it("DSH-05 is asked once per step, however many pages are open and how often they ask", async () => {
    const { ask, queries } = cached();
    const [{ step, power }] = await Promise.all([ask(0), ask(0), ask(1000)]);
    expect(queries()).toBe(3);
    expect([step, power.at(-1)]).toEqual([3_600_000, 100]);
    await ask(step - 1);
    expect(queries()).toBe(3);
    await ask(step);
    expect(queries()).toBe(6);
    await ask(step, milliseconds(7 * 24 * 3_600_000));
    expect(queries()).toBe(9);
  });

  it("DSH-05 is asked again half a minute after it did not answer", async () => {
    const { ask, queries, down } = cached();
    down(true);
    expect((await ask(0)).note).toContain("Prometheus did not answer");
    const failed = queries();
    down(false);
    expect((await ask(5000)).note).toContain("Prometheus did not answer");
    expect(queries()).toBe(failed);
    expect(await ask(31_000)).toMatchObject({ source: "prometheus" });
  });
});
