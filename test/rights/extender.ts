// An extender: filters by twins, scores by hardware, and with SCORING=energy by running pods.
import { apiVersion, operatorConfigMap } from "../../src/core/api/index.ts";
import { freePorts } from "../../src/platform/serve/listen.ts";
import { extenderConfig } from "../../src/programs/extender/config.ts";
import { followOperator } from "../../src/programs/extender/operator-settings.ts";
import { runExtender } from "../../src/programs/extender/start.ts";
import type { ScenarioRun, StartedProgram } from "./run.ts";

const prefix = `/apis/${apiVersion}`;
const performancePod = {
  metadata: { name: "p", namespace: "default", uid: "u", annotations: { "joulie.io/workload-class": "performance" } },
  spec: { containers: [{ name: "main", resources: { requests: { cpu: "8" } } }] },
};

interface Extender extends StartedProgram {
  readonly metricsUrl: () => string;
  /** The answer of kube-scheduler's call. */
  readonly ask: (verb: "filter" | "prioritize", pod: object, names: readonly string[]) => Promise<unknown>;
}

async function startExtender(run: ScenarioRun, variables: Readonly<Record<string, string>> = {}): Promise<Extender> {
  const [port = 0] = await freePorts(1);
  const program = run.start(
    extenderConfig,
    { EXTENDER_ADDR: `127.0.0.1:${port}`, ...variables },
    async (config, world, signal) =>
      followOperator(
        config,
        { ...world, sources: {} },
        async (agreed, stop) => runExtender(agreed, world, stop),
        signal,
      ),
  );
  const url = `http://127.0.0.1:${port}`;
  return {
    ...program,
    metricsUrl: () => /"metrics":"([^"]+)"/.exec(program.logs.join(""))?.[1] ?? "",
    url: () => url,
    ask: async (verb, Pod, NodeNames) => {
      const body = JSON.stringify({ Pod, NodeNames });
      const headers = { "content-type": "application/json" };
      return (await fetch(`${url}/${verb}`, { method: "POST", headers, body })).json();
    },
  };
}

async function publish(run: ScenarioRun, name: string, profile: string): Promise<void> {
  const status = { schedulableClass: profile, lastUpdated: new Date().toISOString(), predictedPowerHeadroomScore: 50 };
  await run.plane.api.mergePatch(`${prefix}/nodetwins/${name}/status`, { status });
}

async function createNode(run: ScenarioRun, name: string, profile: string): Promise<void> {
  await run.createNode(name);
  const spec = { nodeName: name, profile };
  await run.create(`${prefix}/nodetwins`, { apiVersion, kind: "NodeTwin", metadata: { name }, spec });
  await publish(run, name, profile);
}

/** Publishes the operator's settings. */
async function settle(run: ScenarioRun): Promise<void> {
  const metadata = { name: operatorConfigMap };
  const data = { DRAINING_LABEL: "site.example/draining" };
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
  await run.create(`/api/v1/namespaces/${run.names.namespace}/configmaps`, object);
}

async function follow(run: ScenarioRun, extender: Extender): Promise<void> {
  // Nothing is served while it begins anew; a condition that throws is asked again.
  const page = async () => (await fetch(`${extender.url()}/debug/decisions`)).text();
  await run.until("it takes the operator's settings", async () => (await page()).includes("site.example/draining"));
  const path = `/api/v1/namespaces/${run.names.namespace}/configmaps/${operatorConfigMap}`;
  await run.plane.api.mergePatch(path, { data: { DRAINING_LABEL: "other.example/draining" } });
  await run.until("it follows a change", async () => (await page()).includes("other.example/draining"));
}

export async function extenderLife(run: ScenarioRun): Promise<void> {
  await settle(run);
  const extender = await startExtender(run);
  await decide(run, extender);
  await follow(run, extender);
}

/** With SCORING=energy the extender counts the pods of each node. */
export async function energyExtenderLife(run: ScenarioRun): Promise<void> {
  const node = `busy-${run.id}`;
  await createNode(run, node, "performance");
  const place = async (name: string) =>
    run.create("/api/v1/namespaces/default/pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: `${name}-${run.id}` },
      spec: { nodeName: node, containers: [{ name: "main", image: "none" }] },
    });
  await place("early");
  await settle(run);
  const extender = await startExtender(run, { SCORING: "energy" });
  const count = async () => {
    const page = await (await fetch(`${extender.metricsUrl()}/metrics`)).text();
    return Number(/^joulie_scheduler_pods (\d+)$/m.exec(page)?.[1]);
  };
  await run.until("it counts the pods that run", async () => (await count()) > 0);
  const before = await count();
  await place("late");
  await run.until("it counts a new pod", async () => (await count()) > before);
  await decide(run, extender);
  await follow(run, extender);
}

async function decide(run: ScenarioRun, extender: Extender): Promise<void> {
  const [eco, bare] = [`eco-${run.id}`, `bare-${run.id}`];
  await createNode(run, eco, "eco");
  await createNode(run, bare, "performance");
  await run.until("the extender is ready", async () => (await fetch(`${extender.url()}/readyz`)).status === 200);
  const answer = async () => JSON.stringify(await extender.ask("filter", performancePod, [eco]));
  await run.until("it rejects an eco node", async () =>
    (await answer()).includes(`"FailedAndUnresolvableNodes":{"${eco}"`),
  );
  await run.untilDebugPage(extender, "/debug/decisions");
  await publish(run, eco, "performance");
  await run.until("it accepts the node when it leaves eco", async () => (await answer()).includes(`["${eco}"]`));

  const page = async () => (await fetch(`${extender.url()}/debug/scoring`)).text();
  const hardwareOf = async (name: string) => hardwareOn(await page(), name);
  const [ecoBefore, bareBefore] = [await hardwareOf(eco), await hardwareOf(bare)];
  await run.create(`${prefix}/nodehardwares`, {
    apiVersion,
    kind: "NodeHardware",
    metadata: { name: bare },
    spec: { nodeName: bare },
  });
  const cpu = { rawModel: "AMD EPYC 9654 96-Core Processor", sockets: 2, totalCores: 192 };
  await run.plane.api.mergePatch(`${prefix}/nodehardwares/${bare}/status`, { status: { cpu } });
  await run.until("it reads published hardware", async () => (await hardwareOf(bare)) !== bareBefore);
  const labels = { "joulie.io/hw.cpu-model": "AMD-EPYC-9654-96-Core-Processor", "joulie.io/hw.cpu-sockets": "2" };
  await run.plane.api.mergePatch(`/api/v1/nodes/${eco}`, { metadata: { labels } });
  await run.until("it reads a node's labels", async () => (await hardwareOf(eco)) !== ecoBefore);
}

/** The part of a node's row that does not depend on time. */
function hardwareOn(page: string, name: string): number | undefined {
  const { nodes } = JSON.parse(page) as { readonly nodes: readonly { nodeName: string; cpuMaxWattsTotal?: number }[] };
  return nodes.find(({ nodeName }) => nodeName === name)?.cpuMaxWattsTotal;
}
