// The life of a simulated fleet: registers nodes, runs and ends pods, and removes all of it.
import { apiVersion } from "../../src/core/api/index.ts";
import { ScaledClock, systemClock } from "../../src/platform/clock/index.ts";
import { fleetConfig } from "../../src/programs/fleet/config.ts";
import { runFleet } from "../../src/programs/fleet/start.ts";
import { ensureNamespace } from "../controlplane/objects.ts";
import type { ScenarioRun } from "./run.ts";

interface Pods {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status: { readonly phase: string };
  }[];
}

interface RegisteredNode {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly status: object;
}

interface Endpoint {
  readonly metadata: { readonly name: string; readonly annotations?: object };
}

const powerEndpoints = `/apis/${apiVersion}/powerendpoints`;

export async function fleetLife(run: ScenarioRun): Promise<void> {
  await live(run, false);
}

/** With --sleep and --prove-wakes. */
export async function sleepingFleetLife(run: ScenarioRun): Promise<void> {
  await live(run, true);
}

async function live(run: ScenarioRun, sleeps: boolean): Promise<void> {
  const { api } = run.plane;
  const { workloadNamespace } = run.names;
  await ensureNamespace(api, workloadNamespace);
  const nodePrefix = `sim-${run.id}`;
  const program = run.start(
    fleetConfig,
    {
      SIMULATOR_ADDR: "127.0.0.1:0",
      NODES: "3",
      HEARTBEAT_INTERVAL: "1s",
      NODE_PREFIX: nodePrefix,
      FINISHED_PODS_KEPT: "1s",
      WORKLOAD_NAMESPACE: workloadNamespace,
      ...(sleeps && { SLEEP: "true", PROVE_WAKES: "true" }),
    },
    async (config, world, signal) => runFleet(config, world, signal),
    new ScaledClock(systemClock, 60),
  );
  const ours = async () => {
    const { items } = await api.get<{ items: RegisteredNode[] }>("/api/v1/nodes");
    return items.filter(({ metadata }) => metadata.name.startsWith(nodePrefix));
  };
  run.finally(async () => {
    for (const { metadata } of await ours()) await api.text("DELETE", `/api/v1/nodes/${metadata.name}`);
  });
  const pods = async () => (await api.get<Pods>(`/api/v1/namespaces/${workloadNamespace}/pods`)).items;
  run.finally(async () => {
    for (const { metadata } of await pods())
      await api.text("DELETE", `/api/v1/namespaces/${workloadNamespace}/pods/${metadata.name}?gracePeriodSeconds=0`);
  });
  await run.until("nodes are registered and ready", async () => {
    const ready = (await ours()).filter(({ status }) => /"type":"Ready"/.test(JSON.stringify(status)));
    return ready.length === 3;
  });
  const lease = (name: string) => `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
  let first: string | undefined;
  await run.until("leases are renewed", async () => {
    const [node] = await ours();
    const { spec } = await api.get<{ spec: { renewTime: string } }>(lease(node?.metadata.name ?? ""));
    first ??= spec.renewTime;
    return spec.renewTime !== first;
  });
  const endpoints = async () => {
    const { items } = await api.get<{ items: Endpoint[] }>(powerEndpoints);
    return items.filter(({ metadata }) => metadata.name.startsWith(nodePrefix));
  };
  if (sleeps) {
    await run.until("a test of every wake is requested", async () => {
      const requested = (await endpoints()).filter(({ metadata }) => metadata.annotations !== undefined);
      return requested.length === 3;
    });
    // The power program removes the annotation when it has tested the wake.
    for (const { metadata } of await endpoints())
      await api.mergePatch(`${powerEndpoints}/${metadata.name}`, { metadata: { annotations: null } });
  }
  await run.until("jobs run", async () => (await pods()).some(({ status }) => status.phase === "Running"));
  const seen = new Set<string>();
  await run.until("jobs end", async () => {
    const names = (await pods()).map(({ metadata }) => metadata.name);
    const hasEnded = [...seen].some((name) => !names.includes(name));
    for (const name of names) seen.add(name);
    return hasEnded;
  });
  const running = (await pods()).find(({ status }) => status.phase === "Running")?.metadata.name ?? "";
  await api.text("DELETE", `/api/v1/namespaces/${workloadNamespace}/pods/${running}`);
  await run.until("a deleted pod ends", async () => (await pods()).every(({ metadata }) => metadata.name !== running));
  const [victim] = await ours();
  const { name = "", labels = {} } = victim?.metadata ?? {};
  await api.text("DELETE", `/api/v1/nodes/${name}`);
  await run.plane.createNodes([name], { labels: { "joulie.io/simulated": "true" } });
  await run.until("a replaced node is adopted", async () => {
    const now = (await ours()).find(({ metadata }) => metadata.name === name);
    return Object.keys(labels).every((key) => now?.metadata.labels?.[key] === labels[key]);
  });
  await api.text("DELETE", `/api/v1/nodes/${name}`);
  await run.until("a deleted node is registered again", async () => (await ours()).length === 3);
  await program.stop();
  await run.until("nodes and pods are removed", async () => (await ours()).length + (await pods()).length === 0);
  await run.until("PowerEndpoints are removed", async () => (await endpoints()).length === 0);
}
