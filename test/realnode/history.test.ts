// What the dashboard and Grafana read from a real Prometheus, compared with the power that an operator published.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NodePlan } from "../../src/core/planning/index.ts";
import { instant } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { ProgramMetrics } from "../../src/platform/metrics/index.ts";
import { freePorts } from "../../src/platform/serve/listen.ts";
import { DashboardHarness } from "../../src/programs/dashboard/testing/dashboard-harness.ts";
import type { HistoryAnswer } from "../../src/programs/dashboard/wire.ts";
import { OperatorMetrics } from "../../src/programs/operator/metrics/operator-metrics.ts";
import { ServerProcess } from "../controlplane/server-process.ts";

const MINUTE = 60_000;
/** Prometheus has its newest hours in memory; files for them would overlap. */
const END = Math.floor(systemClock.now() / MINUTE) * MINUTE - 4 * 60 * MINUTE;
const MINUTES = 30 * 60;
const START = END - MINUTES * MINUTE;
/** The operator was away for two hours. */
const isAway = (minute: number): boolean => minute > 600 && minute <= 720;
/** Node b left the cluster. */
const LEFT = 900;
/** A former leader was scraped as well for some minutes. */
const TWO_LEADERS = [1000, 1005] as const;

const powerOf = {
  a: (minute: number) => 200 + (minute % 60),
  b: (minute: number) => (minute < LEFT ? 100 : undefined),
} as const;
const watts = (minute: number): number => powerOf.a(minute) + (powerOf.b(minute) ?? 0);

const planOf = (name: string, power: number): NodePlan =>
  ({
    name,
    managed: { shape: { density: {} } },
    status: {
      powerMeasurement: { measuredNodePowerW: power, serverPowerW: power, nodeCappedPowerW: 400, nodeTdpW: 500 },
    },
  }) as unknown as NodePlan;

const families: Readonly<Record<string, string>> = {
  joulie_operator_node_power_watts: "gauge",
  joulie_operator_node_capped_power_watts: "gauge",
  joulie_operator_node_uncapped_power_watts: "gauge",
  joulie_operator_node_energy_joules: "counter",
};

async function textOf(metrics: ProgramMetrics): Promise<string> {
  let text = "";
  for await (const piece of metrics.text()) text += piece;
  return text;
}

/** What Prometheus would have scraped every minute from the operator's own metrics, in the format of promtool. */
async function scrapedText(): Promise<string> {
  const program = new ProgramMetrics(systemClock);
  const metrics = new OperatorMetrics(program, { leading: () => true, podsReadable: () => true, stopped: () => false });
  const lines = new Map(Object.keys(families).map((family) => [family, [] as string[]]));
  for (let minute = 0; minute <= MINUTES; minute++) {
    if (isAway(minute)) continue;
    const plans = Object.entries(powerOf).flatMap(([name, power]) => {
      const value = power(minute);
      return value === undefined ? [] : planOf(name, value);
    });
    metrics.keepOnly(new Set(plans.map(({ name }) => name)));
    for (const plan of plans) metrics.recordPlan(plan, 0);
    metrics.recordEnergy(plans, instant(START + minute * MINUTE));
    const at = (START + minute * MINUTE) / 1000;
    for (const [, name = "", labels = "", value = ""] of (await textOf(program)).matchAll(
      /^(joulie_operator_node_\w+)\{([^}]*)\} (\S+)$/gm,
    )) {
      const family = lines.get(name.replace(/_total$/, ""));
      family?.push(`${name}{${labels},instance="new"} ${value} ${at}`);
      if (minute >= TWO_LEADERS[0] && minute <= TWO_LEADERS[1])
        family?.push(`${name}{${labels},instance="old"} ${value} ${at}`);
    }
  }
  const parts = Array.from(lines, ([family, own]) => [`# TYPE ${family} ${families[family]}`, ...own].join("\n"));
  return `${parts.join("\n")}\n# EOF\n`;
}

describe("history in a real Prometheus", () => {
  const folder = mkdtempSync(join(tmpdir(), "joulie-prometheus-"));
  let server: ServerProcess;
  let harness: DashboardHarness;
  let url = "";

  beforeAll(async () => {
    writeFileSync(join(folder, "metrics.txt"), await scrapedText());
    const data = join(folder, "data");
    const made = spawnSync(
      "promtool",
      ["tsdb", "create-blocks-from", "openmetrics", join(folder, "metrics.txt"), data],
      { encoding: "utf8" },
    );
    if (made.status !== 0) throw new Error(made.stderr);
    writeFileSync(join(folder, "prometheus.yaml"), "scrape_configs: []\n");
    const [port = 0] = await freePorts(1);
    url = `http://127.0.0.1:${port}`;
    server = new ServerProcess("", folder, {
      name: "prometheus",
      command: ["setpriv", "--pdeathsig", "KILL", "prometheus"],
      args: [
        `--config.file=${join(folder, "prometheus.yaml")}`,
        `--storage.tsdb.path=${data}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      ready: async () => (await fetch(`${url}/-/ready`)).ok,
    });
    await server.start();
    harness = await DashboardHarness.begin();
    await harness.start({ PROMETHEUS_ADDRESS: url });
  });
  afterAll(async () => {
    await harness?.end();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("DSH-05 the dashboard shows the sum of all nodes at its time, counts no node twice, and leaves gaps", async () => {
    const answer = (await (await harness.get("/api/history?hours=40")).json()) as HistoryAnswer;
    expect([answer.source, answer.step]).toEqual(["prometheus", 4 * MINUTE]);
    let compared = 0;
    for (const [index, time] of answer.at.entries()) {
      const minute = (time - START) / MINUTE;
      // A series counts for five minutes after its last scrape.
      const isOld = (end: number) => minute > end && minute <= end + 5;
      if (isOld(600) || isOld(MINUTES) || isOld(LEFT - 1)) continue;
      const isKnown = minute >= 0 && minute <= MINUTES && !isAway(minute);
      const nodes = minute < LEFT ? 2 : 1;
      const expected = isKnown ? [watts(minute), 400 * nodes, 500 * nodes] : [null, null, null];
      const { power, cap, capacity } = answer;
      expect([minute, power[index], cap[index], capacity[index]]).toEqual([minute, ...expected]);
      compared++;
    }
    expect(compared).toBeGreaterThan(500);
  });

  it("DSH-17 Grafana's energy of an hour is the power of that hour, and nothing while the operator was away", async () => {
    const grafana = readFileSync(join(import.meta.dirname, "../../charts/joulie/files/grafana.json"), "utf8");
    const expression = /sum\(increase\(joulie_operator_node_energy_joules_total\[1h\]\)\)/.exec(grafana)?.[0] ?? "";
    const energyUntil = async (minute: number): Promise<number | undefined> => {
      const time = String((START + minute * MINUTE) / 1000 + 30);
      const answer = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: expression, time }).toString()}`);
      const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
      const value = data.result[0]?.value[1];
      return value === undefined ? undefined : Number(value);
    };
    // Each pass adds its own power over the minute before it.
    const joules = (until: number) =>
      Array.from({ length: 60 }, (_, at) => watts(until - at) * 60).reduce((sum, one) => sum + one, 0);
    for (const minute of [300, 599, 1500]) {
      const energy = (await energyUntil(minute)) ?? Number.NaN;
      expect(Math.abs(energy / joules(minute) - 1)).toBeLessThan(0.02);
    }
    expect(await energyUntil(700)).toBeUndefined();
  });
});
