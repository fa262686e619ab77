// The demo's programs on virtual time: each view of the energy shows the same figure, and it is that of the simulation.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fieldManagers, type NodeTwin } from "../src/core/api/index.ts";
import { systemClock } from "../src/platform/clock/index.ts";
import { parseConfig } from "../src/platform/config/index.ts";
import { journalFiles } from "../src/platform/journal/index.ts";
import { type KubeObject, resources } from "../src/platform/kube/index.ts";
import { createLogger } from "../src/platform/log/index.ts";
import { systemRandom } from "../src/platform/random/index.ts";
import { freePorts } from "../src/platform/serve/listen.ts";
import { runAgent } from "../src/programs/agent/index.ts";
import { type ConsoleContext, savingsCsv, savingsFromDashboard } from "../src/programs/console/index.ts";
import { runDashboard, type SavingsAnswer } from "../src/programs/dashboard/index.ts";
import { demoConfig } from "../src/programs/demo/config.ts";
import { DEMO_NAMESPACE } from "../src/programs/demo/demo-cluster.ts";
import { agentSettings, dashboardSettings, operatorSettings } from "../src/programs/demo/settings.ts";
import { SavingsPage } from "../src/programs/demo/status-line.ts";
import { energySummary } from "../src/programs/demo/summary.ts";
import { FleetTestHarness } from "../src/programs/fleet/testing/fleet-test-harness.ts";
import { runOperator } from "../src/programs/operator/index.ts";

let harness: FleetTestHarness;
let folder: string;
let stop: AbortController;
let running: Promise<unknown>[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "joulie-energy-figure-"));
  harness = await FleetTestHarness.begin({ NODES: "6" });
  stop = new AbortController();
  running = [];
});
afterEach(async () => {
  stop.abort();
  await Promise.allSettled(running);
  await harness.end();
  await rm(folder, { recursive: true, force: true });
});

/** Starts agent, operator and dashboard with the demo's settings. Returns the dashboard's address. */
async function startPrograms(): Promise<string> {
  const parsed = parseConfig(demoConfig, { env: {}, flags: {}, machine: { isTerminal: false, exists: () => false } });
  if (!parsed.ok) throw new Error("the demo has no valid defaults");
  const config = parsed.value.values;
  await harness.hand.create(resources.namespaces, { metadata: { name: DEMO_NAMESPACE } });
  const [operator = 0, agent = 0, extender = 0, extenderMetrics = 0, power = 0] = await freePorts(5);
  const ports = { operator, agent, extender, extenderMetrics, power };
  const log = createLogger({ level: "error", program: "demo", destination: { write: () => undefined } });
  const world = () => {
    const { clock, api } = harness;
    return { transport: api.transport(), clock, ioClock: systemClock, random: systemRandom, log };
  };
  const files = journalFiles(join(folder, "agent"));
  const openHost = async () => Promise.reject(new Error("a pool agent has no host"));
  const { url } = harness.simulator;
  const agentConfig = agentSettings(config, ports, url, join(folder, "agent"));
  const serving = Promise.withResolvers<string>();
  running = [
    runAgent(agentConfig, { ...world(), openHost, journalFiles: files }, stop.signal),
    runOperator(operatorSettings(config, ports, url), world(), stop.signal),
    // It samples once a second of the clock for calls.
    runDashboard(
      dashboardSettings(ports, 0),
      { ...world(), ioClock: harness.ioClock, onServing: serving.resolve },
      stop.signal,
    ),
  ];
  return Promise.race([serving.promise, ...running.map(async (program) => program.then(() => ""))]);
}

it("X-154 dashboard, console, live view and summary show one figure, and it is the simulated energy at the wall", async () => {
  const { datacenter } = harness.simulator;
  const [busy = "", asleep = ""] = Array.from(datacenter.machines(), ({ spec }) => spec.name);
  for (const { spec } of datacenter.machines()) {
    const pod = { annotations: { "joulie.io/simulated": "true" }, cpu: "16" };
    if (spec.name !== asleep) await harness.createPod(`on-${spec.name}`, spec.name, pod);
  }
  const dashboard = await startPrograms();
  const page = new SavingsPage(dashboard);
  const answerOf = async <Answer>(path: string) => (await fetch(dashboard + path)).json() as Promise<Answer>;
  const twinOf = async (name: string) =>
    harness.hand.get<KubeObject & Pick<NodeTwin, "status">>(resources.nodeTwins, { name });
  const isMeasured = async () => (await twinOf(busy)).status?.powerMeasurement?.source === "agent";
  for (let minute = 0; minute < 20 && !(await isMeasured().catch(() => false)); minute++) await harness.pass(60);
  const machine = datacenter.machine(asleep);
  if (machine !== undefined) datacenter.press(machine, "forceOff");
  const off = { status: { power: { state: "off" } } };
  const options = { fieldManager: fieldManagers.power, subresource: "status" } as const;
  await harness.hand.apply(resources.nodeTwins, { name: asleep }, off, options);

  await harness.pass(60);
  const first = await answerOf<SavingsAnswer>("/api/savings");
  const truth = datacenter.totals.wall.joules;
  const devices = datacenter.totals.joules;
  await harness.pass(30 * 60);
  const last = await answerOf<SavingsAnswer>("/api/savings");
  const inKwh = (joules: number) => joules / 3.6e6;

  expect(harness.clock.now() - (last.to ?? 0)).toBeLessThan(10_000);
  expect(last.coverage).toBeGreaterThan(0.95);
  const counted = last.usedKwh - first.usedKwh;
  const wall = inKwh(datacenter.totals.wall.joules - truth);
  expect(Math.abs(counted - wall) / wall).toBeLessThan(0.02);
  // Packages and boards alone are another figure.
  expect(inKwh(datacenter.totals.joules - devices)).toBeLessThan(0.95 * wall);

  await page.read();
  expect(page.latest?.usedKwh).toBe(last.usedKwh);
  expect(energySummary(page.latest)).toContain(`energy at the wall: ${last.usedKwh.toFixed(1)} kWh; saved by caps`);
  const context: ConsoleContext = {
    client: harness.hand,
    transport: harness.api.transport(),
    clock: harness.clock,
    urls: { dashboard },
    out: () => undefined,
    screen: { columns: 100, colour: false },
  };
  const savings = await savingsFromDashboard(context, DEMO_NAMESPACE, undefined, {});
  expect(inKwh(savings.report.totals.used)).toBeCloseTo(last.usedKwh, 9);
  expect(Number(savingsCsv(savings).split("\n")[1]?.split(",")[4])).toBeCloseTo(last.usedKwh, 5);
  await page.close();
});
