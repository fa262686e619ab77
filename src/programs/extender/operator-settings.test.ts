import { afterEach, beforeEach, expect, it } from "vitest";
import { operatorConfigMap } from "../../core/api/index.ts";
import { instant, milliseconds } from "../../core/units/index.ts";
import { VirtualClock } from "../../platform/clock/testing/index.ts";
import { parseConfig } from "../../platform/config/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import { KubeClient, resources } from "../../platform/kube/index.ts";
import { createLogger } from "../../platform/log/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { type ExtenderConfig, extenderConfig } from "./config.ts";
import { followOperator } from "./operator-settings.ts";

const at = { name: operatorConfigMap, namespace: "joulie-system" };
let clock: VirtualClock;
let api: EmbeddedApi;
let operator: KubeClient;
let stop: AbortController;
let runs: ExtenderConfig[];
let done: Promise<void>;
beforeEach(async () => {
  clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  api = new EmbeddedApi({ clock, random: seededRandom(1) });
  operator = new KubeClient({ transport: api.transport(), clock, random: seededRandom(2), fieldManager: "operator" });
  await operator.create(resources.namespaces, { metadata: { name: at.namespace } });
  stop = new AbortController();
  runs = [];
});
afterEach(async () => {
  stop.abort();
  await advance(1);
  await done;
  await api.close();
});

async function advance(seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 0.25) await clock.advanceAsync(milliseconds(250));
}

const publish = async (data: Readonly<Record<string, string>>) =>
  operator.apply(resources.configMaps, at, { data }, { force: true });

/** Starts an extender with these variables. Each run ends with its signal. */
function start(env: Readonly<Record<string, string>> = {}): void {
  const parsed = parseConfig(extenderConfig, { env, flags: {}, machine: { isTerminal: false, exists: () => false } });
  if (!parsed.ok) throw new Error("invalid variables");
  const { values, sources } = parsed.value;
  const log = createLogger({ level: "silent", program: "extender" });
  const run = async (config: ExtenderConfig, signal: AbortSignal) => {
    runs.push(config);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  };
  const world = { transport: api.transport(), clock, random: seededRandom(3), log };
  done = followOperator(values, { ...world, sources }, run, stop.signal);
}

const labels = () => runs.map(({ POWER_PROFILE_LABEL }) => POWER_PROFILE_LABEL);

it("X-224 an extender takes labels, staleness and sleep from the operator", async () => {
  await publish({
    POWER_PROFILE_LABEL: "site.example/profile",
    DRAINING_LABEL: "site.example/draining",
    TWIN_STALENESS_THRESHOLD: "10m",
    SLEEP_MODE: "on",
  });
  start();
  await advance(1);
  expect(runs).toEqual([
    expect.objectContaining({
      POWER_PROFILE_LABEL: "site.example/profile",
      DRAINING_LABEL: "site.example/draining",
      TWIN_STALENESS_THRESHOLD: 600_000,
      SLEEP_MODE: "on",
    }),
  ]);
});

it("X-224 its own variables override the operator's", async () => {
  await publish({ POWER_PROFILE_LABEL: "site.example/profile", TWIN_STALENESS_THRESHOLD: "10m" });
  start({ POWER_PROFILE_LABEL: "mine.example/profile" });
  await advance(1);
  expect(labels()).toEqual(["mine.example/profile"]);
  expect(runs[0]?.TWIN_STALENESS_THRESHOLD).toBe(600_000);
});

it("X-224 without an operator it begins with the defaults, and begins anew when the operator publishes others", async () => {
  start();
  await advance(6);
  expect(labels()).toEqual(["joulie.io/power-profile"]);
  await publish({ POWER_PROFILE_LABEL: "site.example/profile", aliveAt: "2030-01-01T00:00:00Z" });
  await advance(31);
  expect(labels()).toEqual(["joulie.io/power-profile", "site.example/profile"]);
  await publish({ POWER_PROFILE_LABEL: "site.example/profile", aliveAt: "2030-01-01T00:01:00Z" });
  await advance(31);
  expect(runs).toHaveLength(2);
});

it("X-224 it leaves out settings that it cannot read, and takes the others", async () => {
  await publish({ POWER_PROFILE_LABEL: "site.example/profile", SLEEP_MODE: "sometimes" });
  start();
  await advance(6);
  expect(labels()).toEqual(["site.example/profile"]);
  expect(runs[0]?.SLEEP_MODE).toBe("off");
});

it("X-224 it takes no label of the operator that is its own for something else", async () => {
  await publish({ POWER_PROFILE_LABEL: "site.example/x" });
  start({ DRAINING_LABEL: "site.example/x" });
  await advance(6);
  expect(labels()).toEqual(["joulie.io/power-profile"]);
});
