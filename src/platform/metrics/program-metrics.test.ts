import { register } from "prom-client";
import { describe, expect, it } from "vitest";
import { type Milliseconds, monotonicInstant } from "../../core/units/index.ts";
import { type Clock } from "../clock/index.ts";
import { VirtualClock } from "../clock/testing/index.ts";
import { metric, ProgramMetrics } from "./index.ts";

const passes = metric({ name: "joulie_passes_total", help: "Passes.", type: "counter", labels: ["result"] });
const pue = metric({ name: "joulie_pue", help: "PUE.", type: "gauge", labels: [] });
const length = metric({
  name: "joulie_pass_seconds",
  help: "Length.",
  type: "histogram",
  labels: [],
  buckets: [0.1, 1],
});
const headroom = metric({ name: "joulie_headroom", help: "Points.", type: "gauge", labels: ["node"] });

async function page(metrics: ProgramMetrics): Promise<string> {
  let text = "";
  for await (const piece of metrics.text()) text += piece;
  return text;
}

describe("ProgramMetrics", () => {
  it("puts program and node metrics on one page, the program's first, in order of declaration", async () => {
    const metrics = new ProgramMetrics(new VirtualClock());
    metrics.nodes.gauge(headroom).column().set(metrics.nodes.join("a"), 5);
    metrics.counter(passes).inc({ result: "ok" });
    metrics.gauge(pue).set(1.2);
    metrics.histogram(length).observe(0.5);
    expect(await page(metrics)).toBe(
      [
        "# HELP joulie_passes_total Passes.",
        "# TYPE joulie_passes_total counter",
        'joulie_passes_total{result="ok"} 1',
        "# HELP joulie_pue PUE.",
        "# TYPE joulie_pue gauge",
        "joulie_pue 1.2",
        "# HELP joulie_pass_seconds Length.",
        "# TYPE joulie_pass_seconds histogram",
        'joulie_pass_seconds_bucket{le="0.1"} 0',
        'joulie_pass_seconds_bucket{le="1"} 1',
        'joulie_pass_seconds_bucket{le="+Inf"} 1',
        "joulie_pass_seconds_sum 0.5",
        "joulie_pass_seconds_count 1",
        "# HELP joulie_headroom Points.",
        "# TYPE joulie_headroom gauge",
        'joulie_headroom{node="a"} 5',
        "",
      ].join("\n"),
    );
    expect(metrics.contentType).toBe("text/plain; version=0.0.4; charset=utf-8");
  });

  it("has no value for a gauge that was never set", async () => {
    const metrics = new ProgramMetrics(new VirtualClock());
    metrics.gauge(pue);
    expect(await page(metrics)).not.toMatch(/^joulie_pue/m);
  });

  it("reads the value at every scrape, and omits it while there is none", async () => {
    const metrics = new ProgramMetrics(new VirtualClock());
    const values = [3, undefined, Number.NaN, 4];
    metrics.reading(pue, () => values.shift());
    const scraped = [];
    for (let scrape = 0; scrape < 4; scrape++) scraped.push(/^joulie_pue (.*)$/m.exec(await page(metrics))?.[1]);
    expect(scraped).toEqual(["3", undefined, undefined, "4"]);
  });

  it("shares nothing with another program in the process, nor with prom-client's own registry", async () => {
    const [one, other] = [new ProgramMetrics(new VirtualClock()), new ProgramMetrics(new VirtualClock())];
    one.counter(passes).inc({ result: "ok" });
    other.counter(passes);
    expect(await page(other)).not.toContain('result="ok"');
    expect(register.getMetricsAsArray()).toEqual([]);
  });

  it("rejects a duplicate name, however it is declared", () => {
    const metrics = new ProgramMetrics(new VirtualClock());
    metrics.gauge(pue);
    metrics.nodes.gauge(headroom);
    expect(() => metrics.gauge(pue)).toThrow("joulie_pue is declared twice");
    expect(() => metrics.reading(pue, () => 1)).toThrow("joulie_pue is declared twice");
    expect(() => metrics.nodes.gauge({ ...headroom, name: "joulie_pue" })).toThrow("joulie_pue is declared twice");
    expect(() => metrics.gauge({ ...headroom })).toThrow("joulie_headroom is declared twice");
  });

  it("yields to the event loop every two milliseconds for any number of nodes", async () => {
    // Every chunk takes a millisecond on this clock.
    const time = { now: 0 };
    const pauses: { at: number; length: Milliseconds }[] = [];
    const clock: Pick<Clock, "monotonic" | "sleep"> = {
      monotonic: () => monotonicInstant(time.now),
      sleep: async (pause) => void pauses.push({ at: time.now, length: pause }),
    };
    const metrics = new ProgramMetrics(clock as Clock);
    const column = metrics.nodes.gauge(headroom).column();
    for (let node = 0; node < 7000; node++) column.set(metrics.nodes.join(`n${node}`), node);
    for await (const piece of metrics.text()) time.now += Number(piece !== "");
    expect(pauses.map(({ at }) => at)).toEqual([2, 4, 6, 8]);
    expect(pauses.every(({ length }) => length === 0)).toBe(true);
  });
});
