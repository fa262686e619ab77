import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { apiVersion, labels } from "../src/core/api/index.ts";
import { agentPermissions } from "../src/programs/agent/permissions.ts";
import { FakeControlService } from "../src/programs/agent/testing/fake-control-service.ts";
import { startCommand, startOptions } from "../src/programs/start-options.ts";
import { createMachineFiles, limitFile } from "../test/agent/machine-files.ts";
import { type ControlPlane, startControlPlane } from "../test/controlplane/harness.ts";
import type { ClusterIdentity } from "../test/controlplane/identities.ts";
import { numbered } from "../test/controlplane/objects.ts";
import { AgentProcess, bundled } from "./agent-process.ts";
import { quantile } from "./extender-client.ts";
import { memoryOf, processorSeconds } from "./operator-process.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const FEW = 10;
const MANY = 5000;
const POOL = 2000;
const DEAD = POOL / 20;
const shape = { cpus: 128, packages: 2, gpus: 8 };
/**
 * One tick per second gives many samples in half a minute; then the default interval. Clock-driven work is the same
 * in both.
 */
const SHORT = "1s";
const USUAL = "20s";
const MINUTE_MS = 60_000;
const SHORT_MS = 30_000;
/** The default interval. */
const POOL_INTERVAL_S = 20;
const POOL_INTERVALS = 3;
const AT_ONCE = 48;
const MEMORY_SAMPLES = 12;
const twins = `/apis/${apiVersion}/nodetwins`;
const applied = "application/apply-patch+yaml";
const inPool = { "bench/pool": "true" };

const closing: (() => Promise<void> | void)[] = [];

export const scenario: Scenario = {
  about: `The agent from the bundle, started by ${startCommand("agent", startOptions.agent)}, on a real control plane: one node of ${shape.cpus} CPUs and ${shape.gpus} GPUs among ${FEW} and among ${MANY}, and a pool of ${POOL} of which ${DEAD} never answer; once, because it takes minutes`,
  repeats: 1,
  measure: async () => {
    const figures: Record<string, BenchFigure> = {};
    const { program, remove } = await bundled();
    closing.push(remove);
    const plane = await startControlPlane({ audit: true });
    closing.push(async () => plane.stop());
    const own = await plane.identity(agentPermissions("daemonset"), { name: "joulie-agent" });
    const names = numbered("node", MANY);
    figures["load average before"] = load();
    await add(plane, names.slice(0, FEW));
    await daemonset(figures, `${FEW} nodes`, program, plane, own);
    await add(plane, names.slice(FEW));
    await daemonset(figures, `${MANY} nodes`, program, plane, own);
    const pool = await plane.identity(agentPermissions("pool"), { name: "joulie-agent-pool" });
    await controlPool(figures, program, plane, pool);
    figures["load average after"] = load();
    return figures;
  },
  goals: [
    { says: "memory, MiB", of: of(`${MANY} nodes: memory`), atMost: 95 },
    {
      says: "memory for a larger cluster, MiB",
      of: (figures) => Math.abs((figures[`${MANY} nodes: memory`] ?? NaN) - (figures[`${FEW} nodes: memory`] ?? NaN)),
      atMost: 5,
    },
    { says: "processor per idle tick, ms", of: of(`${MANY} nodes: processor per tick`), atMost: 5 },
    {
      says: "writes in an idle minute beside the heartbeat",
      of: of(`${MANY} nodes: writes but heartbeats`),
      atMost: 0,
    },
    {
      says: "live nodes of the pool controlled per interval",
      of: of("pool: live nodes per interval"),
      atLeast: 0.98 * (POOL - DEAD),
    },
    { says: "live nodes of the pool capped", of: of("pool: live nodes capped"), atLeast: POOL - DEAD },
  ],
  close: async () => {
    for (const end of closing.splice(0).toReversed()) await end();
  },
};

function of(figure: string) {
  return (figures: Readonly<Record<string, number>>): number => figures[figure] ?? Number.NaN;
}

const load = (): BenchFigure => ({ unit: "", value: loadavg()[0] ?? Number.NaN });

/** Adds managed nodes with targets as the operator writes them. */
async function add(plane: ControlPlane, names: readonly string[]): Promise<void> {
  await plane.createNodes(names, (name) => ({
    labels: { [labels.managed]: "true", ...(Number(name.slice(-5)) < POOL && inPool) },
  }));
  const left = names.values();
  const worker = async () => {
    for (const name of left) {
      const spec = {
        nodeName: name,
        profile: "eco",
        cpu: { packagePowerCapWatts: 240 },
        gpu: { powerCap: { scope: "perGpu", capWattsPerGpu: 500 } },
        policy: { name: "static_partition" },
      };
      const twin = { apiVersion, kind: "NodeTwin", metadata: { name }, spec };
      await plane.api.text("PATCH", `${twins}/${name}?fieldManager=joulie-operator&force=true`, twin, applied);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Measures a node agent: idle with many ticks, then a minute with the default interval. */
async function daemonset(
  figures: Record<string, BenchFigure>,
  what: string,
  program: string,
  plane: ControlPlane,
  identity: ClusterIdentity,
): Promise<void> {
  for (const interval of [SHORT, USUAL]) {
    const folder = mkdtempSync(join(tmpdir(), "joulie-agent-bench-"));
    createMachineFiles(folder, shape);
    const agent = await AgentProcess.start(program, {
      KUBECONFIG: identity.kubeconfig,
      NODE_NAME: "node-00000",
      HOST_SYS_ROOT: join(folder, "sys"),
      HOST_PROC_ROOT: join(folder, "proc"),
      STATE_DIR: join(folder, "state"),
      RECONCILE_INTERVAL: interval,
    });
    try {
      const limit = () => readFileSync(join(folder, "sys", limitFile(1)), "utf8");
      await agent.until(async () => limit() === "240000000", "capping");
      // Power is known from the second tick on; the third publishes it.
      await agent.until(async () => (await agent.ticks()).count >= 3, "ticking");
      await sleep(5000);
      const spent = await idle(agent, plane, identity, interval === SHORT ? SHORT_MS : MINUTE_MS);
      if (interval === SHORT) {
        figures[`${what}: ticks`] = { unit: "", value: spent.ticks };
        figures[`${what}: processor per tick`] = { unit: "ms", value: (spent.processor * 1000) / spent.ticks };
        figures[`${what}: time per tick`] = { unit: "ms", value: spent.tickMs };
        figures[`${what}: memory with a tick a second`] = { unit: "MiB", value: spent.memory };
        figures[`${what}: memory, highest`] = { unit: "MiB", value: memoryOf(agent.pid, "VmHWM") };
      } else {
        figures[`${what}: memory`] = { unit: "MiB", value: spent.memory };
        figures[`${what}: requests in an idle minute`] = { unit: "", value: spent.requests.length };
        const writes = spent.requests.filter((request) => request.startsWith("patch") || request.startsWith("create"));
        const heartbeats = writes.filter((request) => request.includes("nodetwins"));
        figures[`${what}: heartbeats in it`] = { unit: "", value: heartbeats.length };
        figures[`${what}: writes but heartbeats`] = { unit: "", value: writes.length - heartbeats.length };
        figures[`${what}: processor in it`] = { unit: "ms", value: spent.processor * 1000 };
      }
    } finally {
      await agent.stop();
      rmSync(folder, { recursive: true });
    }
  }
}

async function idle(agent: AgentProcess, plane: ControlPlane, { user }: ClusterIdentity, lasting: number) {
  const asked = () => plane.audited().filter((request) => request.user === user);
  const before = { requests: asked().length, ticks: await agent.ticks(), processor: processorSeconds(agent.pid) };
  const memory: number[] = [];
  for (let sample = 0; sample < MEMORY_SAMPLES; sample++) {
    await sleep(lasting / MEMORY_SAMPLES);
    memory.push(memoryOf(agent.pid, "VmRSS"));
  }
  const processor = processorSeconds(agent.pid) - before.processor;
  const after = await agent.ticks();
  const ticks = after.count - before.ticks.count;
  return {
    ticks,
    processor,
    // The median, because garbage collection changes the value by some MiB.
    memory: quantile(memory, 0.5),
    tickMs: ((after.seconds - before.ticks.seconds) * 1000) / ticks,
    requests: asked()
      .slice(before.requests)
      .map(({ verb, path }) => `${verb} ${path}`),
  };
}

async function controlPool(
  figures: Record<string, BenchFigure>,
  program: string,
  plane: ControlPlane,
  identity: ClusterIdentity,
): Promise<void> {
  const service = new FakeControlService();
  await service.listen();
  closing.push(async () => service.close());
  const names = numbered("node", POOL);
  for (const name of names) Object.assign(service.node(name), { power: 300, capWatts: 700 });
  for (const name of names.slice(0, DEAD)) service.silent.add(name);
  const spec = {
    target: { scope: "cluster" },
    sources: { cpu: { type: "http", http: { endpoint: service.telemetry } }, gpu: { type: "none" } },
    controls: { cpu: { type: "http", http: { endpoint: service.control, mode: "auto" } }, gpu: { type: "none" } },
  };
  const route = { apiVersion, kind: "TelemetryProfile", metadata: { name: "all" }, spec };
  await plane.api.create(`/apis/${apiVersion}/telemetryprofiles`, route);
  const state = mkdtempSync(join(tmpdir(), "joulie-agent-bench-"));
  const begun = performance.now();
  const agent = await AgentProcess.start(
    program,
    {
      KUBECONFIG: identity.kubeconfig,
      AGENT_MODE: "pool",
      POOL_NODE_SELECTOR: "bench/pool=true",
      POOL_SHARD_ID: "0",
      STATE_DIR: state,
      RECONCILE_INTERVAL: `${POOL_INTERVAL_S}s`,
    },
    startOptions.agentPool,
  );
  try {
    const capped = () => names.filter((name) => service.node(name).capWatts === 240).length;
    await agent.until(async () => capped() >= POOL - DEAD, "in control of all live nodes");
    figures["pool: from the start to all live nodes capped"] = { unit: "s", value: (performance.now() - begun) / 1000 };
    figures["pool: live nodes capped"] = { unit: "", value: capped() };
    // By then all nodes have reported a first status, and dead nodes are known.
    await sleep(2 * POOL_INTERVAL_S * 1000);
    const before = { ticks: await agent.ticks(), processor: processorSeconds(agent.pid) };
    service.requests.length = 0;
    await sleep(POOL_INTERVALS * POOL_INTERVAL_S * 1000);
    const asked = service.requests.filter((path) => path.startsWith("/telemetry/"));
    const processor = processorSeconds(agent.pid) - before.processor;
    const ticks = await agent.ticks();
    const live = asked.filter((path) => !service.silent.has(path.slice("/telemetry/".length)));
    const count = ticks.count - before.ticks.count;
    figures["pool: live nodes per interval"] = { unit: "", value: live.length / POOL_INTERVALS };
    figures["pool: live nodes asked at all"] = { unit: "", value: new Set(live).size };
    const spent = ((ticks.seconds - before.ticks.seconds) * 1000) / count;
    figures["pool: time per node's tick, with the dead"] = { unit: "ms", value: spent };
    figures["pool: processor per interval"] = { unit: "s", value: processor / POOL_INTERVALS };
    figures["pool: processor per node's tick"] = { unit: "ms", value: (processor * 1000) / count };
    figures["pool: memory"] = { unit: "MiB", value: memoryOf(agent.pid, "VmRSS") };
    figures["pool: memory, highest"] = { unit: "MiB", value: memoryOf(agent.pid, "VmHWM") };
  } finally {
    await agent.stop();
    rmSync(state, { recursive: true });
  }
}
