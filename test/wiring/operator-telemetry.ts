// Observations of the operator's telemetry for the table of its variables.
import { labels } from "../../src/core/api/index.ts";
import { milliseconds } from "../../src/core/units/index.ts";
import type { RawValues } from "../../src/platform/config/index.ts";
import { type Operator, OperatorTestHarness } from "../../src/programs/operator/testing/test-harness.ts";
import { servePrometheus } from "./fake-prometheus.ts";

/** Placeholder in the table's values; the observations replace it with the address of their own server. */
export const PROMETHEUS = "http://prometheus.test";

/** The site's series by name, both default and custom names. */
const site: Readonly<Record<string, number>> = {
  datacenter_ambient_temperature_celsius: 40,
  datacenter_total_it_power_watts: 1000,
  datacenter_cooling_power_watts: 600,
  warmth: 30,
  computing: 2000,
  chilling: 300,
  warmth_of_north: 26,
  computing_in_north: 1000,
  chilling_of_north: 200,
  drawn_by_r1: 25_000,
};

interface Scene {
  readonly harness: OperatorTestHarness;
  readonly operator: Operator;
  /** All queries that the server received. */
  readonly asked: string[];
  /** Advances the clock in steps, because samples arrive over real sockets. */
  readonly pass: (seconds: number, step?: number) => Promise<void>;
  /** Makes all node endpoints stop responding. */
  readonly silence: () => void;
}

/** Node a in zone north and rack r1, and node b, which has no meter. */
async function withMeters<Seen>(variables: RawValues, look: (scene: Scene) => Promise<Seen>): Promise<Seen> {
  const harness = await OperatorTestHarness.begin();
  const asked: string[] = [];
  let silent = false;
  const server = await servePrometheus(
    () => harness.clock.now(),
    (query) => {
      asked.push(query);
      const value = site[query];
      if (value !== undefined) return [[{}, value]];
      // There is one zone and one rack, so its query is the first part of a union.
      const [, part = ""] = /^label_replace\(\((\w+)/.exec(query) ?? [];
      if (part in site) return [[{ joulie_part: "0" }, site[part] ?? 0]];
      return query.includes("kepler") ? [[{ node_name: "a" }, 210]] : query === "mine" ? [[{ node: "a" }, 333]] : [];
    },
    (path) => {
      asked.push(path);
      return path === "/telemetry/a" && !silent ? { packagePowerWatts: 300 } : undefined;
    },
  );
  try {
    await harness.createNode("a", { [labels.coolingZone]: "north", [labels.rack]: "r1" });
    await harness.createNode("b");
    const own = Object.entries(variables).map(([name, text = ""]) => [name, text.replace(PROMETHEUS, server.url)]);
    const operator = harness.start(Object.fromEntries(own) as Record<string, string>);
    const pass = async (seconds: number, step = 0.5) => {
      for (let passed = 0; passed < seconds; passed += step) {
        await harness.clock.advanceAsync(milliseconds(step * 1000));
        await server.idle();
      }
    };
    await pass(10);
    return await look({ harness, operator, asked, pass, silence: () => void (silent = true) });
  } finally {
    await harness.end();
    await server.close();
  }
}

/** The facility data in the twin of node a. */
export const surroundings = async (variables: RawValues): Promise<string> =>
  withMeters(variables, async ({ harness, pass }) => {
    await pass(10);
    const { estimatedPUE, predictedCoolingStressScore, predictedPsuStressScore } =
      (await harness.twin("a")).status ?? {};
    const [cooling, psu] = [predictedCoolingStressScore, predictedPsuStressScore].map((score) => score?.toFixed(1));
    return `PUE ${estimatedPUE?.toFixed(2)}, cooling ${cooling}, PSU ${psu}`;
  });

/** Whether the operator queries the facility again within two minutes. */
export const polledAgain = async (variables: RawValues): Promise<boolean> =>
  withMeters(variables, async ({ asked, pass }) => {
    const before = asked.length;
    await pass(110);
    return asked.length > before;
  });

/** The source of node a's power. */
export const power = async (variables: RawValues): Promise<string> =>
  withMeters(variables, async ({ harness }) => {
    const { source, measuredNodePowerW } = (await harness.twin("a")).status?.powerMeasurement ?? {};
    return `${source} ${measuredNodePowerW?.toFixed(0)} W`;
  });

/** The published power of node a eleven minutes after its meter stopped responding. */
export const powerLater = async (variables: RawValues): Promise<number | undefined> =>
  withMeters(variables, async ({ harness, pass, silence }) => {
    silence();
    await pass(660, 5);
    return (await harness.twin("a")).status?.powerMeasurement?.measuredNodePowerW;
  });

/** The sources with dropped samples, and the sources that the operator's log reports. */
export const sourcesTold = async (variables: RawValues): Promise<unknown> =>
  withMeters(variables, async ({ operator }) => {
    const series = await operator.series("power_samples_dropped_total");
    const dropped = new Set(series.map((line) => /source="(\w+)"/.exec(line)?.[1]));
    const reported = operator.logs.filter(({ subject }) => subject === "telemetry").map(({ nodes }) => nodes);
    return { dropped: [...dropped], told: reported };
  });
