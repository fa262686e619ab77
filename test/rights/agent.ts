// The life of an agent, in each mode: caps, reports, restores and stops.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  apiVersion,
  labels,
  type NodeHardware,
  type NodeTwin,
  operatorConfigMap,
  type TelemetryProfile,
} from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { journalFiles } from "../../src/platform/journal/index.ts";
import { agentConfig } from "../../src/programs/agent/config.ts";
import { hostRoots, openHost } from "../../src/programs/agent/host/open-host.ts";
import { runAgent } from "../../src/programs/agent/start.ts";
import { FakeControlService } from "../../src/programs/agent/testing/fake-control-service.ts";
import { createMachineFiles, limitFile } from "../agent/machine-files.ts";
import type { ScenarioRun, StartedProgram } from "./run.ts";

const prefix = `/apis/${apiVersion}`;

/** What the two modes have in common after the start. */
interface Life {
  readonly node: string;
  readonly agent: StartedProgram;
  /** The cap in force. */
  readonly watts: () => number;
  readonly original: number;
  /** TelemetryProfile.spec for the node. */
  readonly route: object;
  /** What the mode has besides. */
  readonly more?: () => Promise<void>;
}

async function live(run: ScenarioRun, { node, agent, watts, original, route, more }: Life): Promise<void> {
  const { api } = run.plane;
  const manage = async (managed: "true" | null) =>
    api.mergePatch(`/api/v1/nodes/${node}`, { metadata: { labels: { [labels.managed]: managed } } });
  const routeStatus = async (name: string) =>
    (await api.get<TelemetryProfile & Named>(`${prefix}/telemetryprofiles/${name}`)).status?.control?.cpu?.result;

  await run.until("the node is capped", () => watts() === 240);
  await run.until("the route's status says so", async () => (await routeStatus(`own-${run.id}`)) === "applied");
  await run.until("the twin's status says so", async () => {
    const twin = await api.get<NodeTwin & Named>(`${prefix}/nodetwins/${node}`);
    return twin.status?.controlStatus?.cpu?.result === "applied";
  });
  // The next report refreshes the twin at the operator's time.
  const lastUpdated = "2020-01-01T00:00:00.000Z";
  const status = { lastUpdated, powerMeasurement: { source: "agent" } };
  await api.mergePatch(`${prefix}/nodetwins/${node}/status`, { status });
  const aliveAt = "2020-01-01T00:01:00.000Z";
  const state = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: operatorConfigMap }, data: { aliveAt } };
  await run.create(`/api/v1/namespaces/${run.names.namespace}/configmaps`, state);
  let cap = 250;
  await run.until("the twin is refreshed", async () => {
    // Each new target leads to a report.
    cap = cap === 250 ? 251 : 250;
    const caps = { profile: "eco" };
    await api.mergePatch(`${prefix}/nodetwins/${node}`, { spec: { cpu: { packagePowerCapWatts: cap }, caps } });
    return (await api.get<NodeTwin & Named>(`${prefix}/nodetwins/${node}`)).status?.lastUpdated === aliveAt;
  });
  await run.until("the hardware is published", async () => {
    const { status } = await api.get<NodeHardware & Named>(`${prefix}/nodehardwares/${node}`);
    return status?.updatedAt !== undefined;
  });
  await run.untilDebugPage(agent, `/debug/node?node=${node}`);

  await api.mergePatch(`${prefix}/nodetwins/${node}`, { spec: { cpu: { packagePowerCapWatts: 250 } } });
  await run.until("a new target is applied", () => watts() === 250);
  const spec = { nodeName: node, profile: "eco", cpu: { packagePowerCapWatts: 260 } };
  await run.create(`${prefix}/nodepowerprofiles`, header("NodePowerProfile", node, spec));
  await api.text("DELETE", `${prefix}/nodetwins/${node}`);
  await run.until("a pin is applied without a twin", () => watts() === 260);
  await api.text("DELETE", `${prefix}/telemetryprofiles/own-${run.id}`);
  await run.create(`${prefix}/telemetryprofiles`, header("TelemetryProfile", `new-${run.id}`, route));
  await run.until("another route has a status", async () => (await routeStatus(`new-${run.id}`)) === "applied");

  await more?.();
  for (const time of ["first", "second"]) {
    await manage(null);
    await run.until(`an unmanaged node is restored, the ${time} time`, () => watts() === original);
    await manage("true");
    await run.until(`a managed node is capped, the ${time} time`, () => watts() === 260);
  }
  await run.until("an Event says so", async () => (await run.events(node)).has("LimitsRestored"));
  await run.setStop("true");
  await run.until("the stop annotation restores the limits", () => watts() === original);
  await agent.stop();
  await run.until("the Event is counted", async () => ((await run.events(node)).get("LimitsRestored") ?? 0) > 1);
}

interface Named {
  readonly metadata: { readonly name: string; readonly uid: string };
}
const header = (kind: string, name: string, spec: object) => ({ apiVersion, kind, metadata: { name }, spec });

async function prepare(run: ScenarioRun, node: string, route: object): Promise<void> {
  await run.createNode(node, { [labels.managed]: "true" });
  await run.create(`${prefix}/telemetryprofiles`, header("TelemetryProfile", `own-${run.id}`, route));
  const spec = { nodeName: node, profile: "eco", cpu: { packagePowerCapWatts: 240 } };
  await run.create(`${prefix}/nodetwins`, header("NodeTwin", node, spec));
  run.finally(async () => run.plane.api.text("DELETE", `${prefix}/nodehardwares/${node}`));
}

function startAgent(run: ScenarioRun, variables: Readonly<Record<string, string>>): StartedProgram {
  return run.start(agentConfig, { RECONCILE_INTERVAL: "1s", ...variables }, async (config, world, signal) =>
    runAgent(
      config,
      {
        ...world,
        openHost: async (catalogue) => openHost(config, hostRoots(config), systemClock, catalogue),
        journalFiles: journalFiles(config.STATE_DIR),
      },
      signal,
    ),
  );
}

/** A folder that is removed at the end. */
function scratch(run: ScenarioRun): string {
  const folder = mkdtempSync(join(tmpdir(), "joulie-rights-"));
  run.finally(async () => rmSync(folder, { recursive: true, maxRetries: 3 }));
  return folder;
}

export async function agentLife(run: ScenarioRun): Promise<void> {
  const node = `host-${run.id}`;
  const folder = scratch(run);
  createMachineFiles(folder, { cpus: 2, packages: 1, gpus: 0 });
  const route = { target: { scope: "node", nodeName: node } };
  await prepare(run, node, route);
  const agent = startAgent(run, {
    NODE_NAME: node,
    HOST_SYS_ROOT: join(folder, "sys"),
    HOST_PROC_ROOT: join(folder, "proc"),
    STATE_DIR: join(folder, "state"),
  });
  const watts = () => Number(readFileSync(join(folder, "sys", limitFile(0)), "utf8")) / 1e6;
  await live(run, { node, agent, watts, original: 350, route });
}

export async function poolLife(run: ScenarioRun): Promise<void> {
  const node = `remote-${run.id}`;
  const service = new FakeControlService();
  await service.listen();
  run.finally(async () => service.close());
  Object.assign(service.node(node), { power: 300, capWatts: 700 });
  const http = { timeoutSeconds: 2 };
  const route = {
    target: { scope: "node", nodeName: node },
    sources: { cpu: { type: "http", http: { ...http, endpoint: service.telemetry } } },
    controls: { cpu: { type: "http", http: { ...http, endpoint: service.control, mode: "auto" } } },
  };
  await prepare(run, node, route);
  const agent = startAgent(run, {
    AGENT_MODE: "pool",
    POOL_SHARD_ID: "0",
    POOL_NODE_SELECTOR: `${labels.managed}=true,kubernetes.io/hostname=${node}`,
    TELEMETRY_ALLOWED_ENDPOINTS: service.origin,
    STATE_DIR: join(scratch(run), "state"),
  });
  const { api } = run.plane;
  const watts = () => service.node(node).capWatts ?? 0;
  const pin = async (cpu: object) => api.mergePatch(`${prefix}/nodepowerprofiles/${node}`, { spec: { cpu } });
  /** An agent on the node has discovered its hardware: percentages refer to it. */
  const more = async () => {
    await pin({ packagePowerCapWatts: null, packagePowerCapPctOfMax: 50 });
    await run.until("a percentage is applied", () => watts() !== 260);
    const before = watts();
    const cpu = { sockets: 1, capRange: { type: "package", maxWattsPerSocket: 500, minWattsPerSocket: 100 } };
    const status = { cpu, quality: { overall: "exact", warnings: [] } };
    await api.mergePatch(`${prefix}/nodehardwares/${node}/status`, { status });
    await run.until("discovered hardware is used", () => watts() !== before);
    await pin({ packagePowerCapWatts: 260, packagePowerCapPctOfMax: null });
    await run.until("the pin is applied again", () => watts() === 260);
  };
  // The cap in telemetry may be the agent's own, so it restores a value above every package.
  await live(run, { node, agent, watts, original: 1000, route, more });
}
