import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { HttpClient } from "../../../platform/telemetry/index.ts";
import type { Route } from "../routing/routing.ts";
import { NodePowerMeter, type PrometheusClients } from "./node-power.ts";

describe("node power from a Prometheus query", () => {
  it("reports all invalid values with the same message, because each new message is a write to the API server", async () => {
    const clock = new VirtualClock();
    const http = new HttpClient({ clock, timeout: milliseconds(1000) });
    const figures = [-3.2, -7.5, Infinity];
    const client = { query: async () => [{ labels: {}, value: figures.shift() }] };
    const prometheus = { at: () => client } as unknown as PrometheusClients;
    const meter = new NodePowerMeter({ node: "a", energy: undefined, http, prometheus, clock });
    const route: Route = {
      cpuSource: { type: "prometheus", endpoint: "http://127.0.0.1:9", query: "watts", timeout: milliseconds(1000) },
      gpuSource: { type: "none" },
      cpuControl: { type: "none" },
      gpuControl: { type: "none" },
    };
    const { signal } = new AbortController();
    const readings = [];
    for (let tick = 0; tick < 3; tick++)
      readings.push((await meter.read(route, Promise.resolve({ boards: [], absent: [] }), signal)).cpu);
    expect(readings.map(({ total }) => total)).toEqual([undefined, undefined, undefined]);
    expect(new Set(readings.map(({ missing }) => missing)).size).toBe(1);
    await http.close();
  });
});
