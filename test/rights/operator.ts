// The life of an operator: plans, publishes, mirrors, follows every watch, and lets nodes sleep.
import {
  apiVersion,
  arrivalsConfigMap,
  labels,
  type NodePowerProfile,
  type NodeTwin,
  operatorConfigMap,
} from "../../src/core/api/index.ts";
import { ScaledClock, systemClock } from "../../src/platform/clock/index.ts";
import { operatorConfig } from "../../src/programs/operator/config.ts";
import { runOperator } from "../../src/programs/operator/start.ts";
import type { ScenarioRun, StartedProgram } from "./run.ts";

const prefix = `/apis/${apiVersion}`;
const dense = "joulie.io/hw.cpu-cores";
const performance = { "joulie.io/workload-class": "performance" };
/** Operators plan once per second; on the fast clock a minute takes a second. */
const FAST = 60;

interface Named {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

function startOperator(
  run: ScenarioRun,
  variables: Readonly<Record<string, string>>,
  clock = systemClock as Parameters<ScenarioRun["start"]>[3],
): StartedProgram {
  return run.start(
    operatorConfig,
    { POD_NAME: "operator-0", NODE_SELECTOR: `${labels.managed}=true,scenario=${run.id}`, ...variables },
    async (config, world, signal) => runOperator(config, world, signal),
    clock,
  );
}

async function createPod(run: ScenarioRun, name: string, node: string, annotations = {}): Promise<void> {
  const metadata = { name, annotations };
  const spec = { nodeName: node, containers: [{ name: "main", image: "none" }] };
  await run.create("/api/v1/namespaces/default/pods", { apiVersion: "v1", kind: "Pod", metadata, spec });
}

export async function operatorLife(run: ScenarioRun): Promise<void> {
  const { api } = run.plane;
  const [a, b] = [`a-${run.id}`, `b-${run.id}`];
  const own = { [labels.managed]: "true", scenario: run.id };
  for (const name of [a, b]) await run.createNode(name, own);
  run.finally(async () => {
    for (const name of [a, b])
      for (const kind of ["nodetwins", "nodehardwares", "nodepowerprofiles"])
        await api.text("DELETE", `${prefix}/${kind}/${name}`).catch(() => "");
  });
  const metrics = "/apis/metrics.k8s.io/v1beta1/nodes";
  await run.create(metrics, {
    apiVersion: "metrics.k8s.io/v1beta1",
    kind: "NodeMetrics",
    metadata: { name: b },
    timestamp: new Date().toISOString(),
    window: "20s",
    usage: { cpu: "1", memory: "1Gi" },
  });
  const operator = startOperator(run, {
    RECONCILE_INTERVAL: "1s",
    PROFILE_MIN_DWELL: "0s",
    WRITE_NODE_POWER_PROFILES: "true",
  });
  const twin = async (name: string) => api.get<NodeTwin & Named>(`${prefix}/nodetwins/${name}`);
  const mirror = async (name: string) => api.get<NodePowerProfile & Named>(`${prefix}/nodepowerprofiles/${name}`);
  const classOf = async (name: string) => (await twin(name)).status?.schedulableClass;
  const label = async (name: string, change: Readonly<Record<string, string | null>>) =>
    api.mergePatch(`/api/v1/nodes/${name}`, { metadata: { labels: change } });

  await run.until("twins are published", async () => `${await classOf(a)} ${await classOf(b)}` === "performance eco");
  await run.until("nodes are labelled", async () => {
    const { metadata } = await api.get<Named>(`/api/v1/nodes/${b}`);
    return metadata.labels?.[labels.powerProfile] === "eco";
  });
  await run.until("profiles are mirrored", async () => (await mirror(b)).spec.profile === "eco");
  await run.until("utilization is read", async () => {
    const { status } = await twin(b);
    return status?.powerMeasurement?.source === "utilization";
  });
  const path = `/api/v1/namespaces/${run.names.namespace}/configmaps/${operatorConfigMap}`;
  run.finally(async () => api.text("DELETE", path).catch(() => ""));
  await run.until("the operator's state is published", async () => {
    const { data } = await api.get<Named & { data?: Readonly<Record<string, string>> }>(path);
    return data?.["aliveAt"] !== undefined;
  });
  await run.untilDebugPage(operator, "/debug/plan");
  await label(b, { [dense]: "512" });
  await run.until("a label changes the plan", async () => (await classOf(b)) === "performance");
  await run.until("the mirror follows", async () => (await mirror(b)).spec.profile === "performance");
  await createPod(run, `busy-${run.id}`, b, performance);
  for (const time of ["first", "second"]) {
    await label(b, { [dense]: null });
    await run.until(`a performance pod defers the downgrade, the ${time} time`, async () => {
      return (await classOf(b)) === "draining";
    });
    await label(b, { [dense]: "512" });
    await run.until(`it is planned for performance again, the ${time} time`, async () => {
      return (await classOf(b)) === "performance";
    });
  }
  await label(b, { [dense]: null });
  await run.until("the downgrade waits for the pod", async () => (await classOf(b)) === "draining");
  await api.mergePatch(`/api/v1/namespaces/default/pods/busy-${run.id}/status`, { status: { phase: "Succeeded" } });
  await run.until("the end of the pod completes the downgrade", async () => (await classOf(b)) === "eco");

  await api.mergePatch(`${prefix}/nodetwins/${b}`, { spec: { profile: "performance" } });
  await run.until("a changed twin is corrected", async () => (await twin(b)).spec.profile === "eco");
  const { uid } = (await mirror(b)).metadata;
  await api.text("DELETE", `${prefix}/nodepowerprofiles/${b}`);
  await run.until("a deleted mirror is written again", async () => (await mirror(b)).metadata.uid !== uid);
  await api.create(`${prefix}/nodehardwares`, {
    apiVersion,
    kind: "NodeHardware",
    metadata: { name: b },
    spec: { nodeName: b },
  });
  const cpu = { rawModel: "AMD EPYC 9654 96-Core Processor", sockets: 2, totalCores: 192 };
  await api.mergePatch(`${prefix}/nodehardwares/${b}/status`, { status: { cpu } });
  await run.until("published hardware changes the plan", async () => (await classOf(b)) === "performance");

  const lease = `/apis/coordination.k8s.io/v1/namespaces/${run.names.namespace}/leases/joulie-operator`;
  const renewed = async () => (await api.get<Named & { spec: { renewTime: string } }>(lease)).spec.renewTime;
  let first: string | undefined;
  await run.until("the Lease is renewed", async () => {
    const now = await renewed();
    first ??= now;
    return now !== first;
  });
  await label(b, { [labels.managed]: null });
  for (const kind of ["nodetwins", "nodehardwares", "nodepowerprofiles"])
    await run.until(`the ${kind} of an unmanaged node are removed`, async () => {
      const { items } = await api.get<{ items: Named[] }>(`${prefix}/${kind}`);
      return items.every(({ metadata }) => metadata.name !== b);
    });
  await run.until("an Event tells of the profile", async () => (await run.events(b)).has("DowngradeDeferred"));
  await run.setStop("true");
  await run.until("the stop annotation stops the operator", () =>
    operator.logs.some((line) => /joulie\.io\/stop/.test(line) && !/may not/.test(line)),
  );
  await operator.stop();
  await run.until("Events are counted", async () => ((await run.events(b)).get("DowngradeDeferred") ?? 0) > 1);
}

/** With SLEEP_MODE=on. */
export async function sleepingOperatorLife(run: ScenarioRun): Promise<void> {
  await operatorLife(run);
  await run.setStop(null);
  await sleepLife(run);
}

async function sleepLife(run: ScenarioRun): Promise<void> {
  const { api } = run.plane;
  const names = ["p", "q", "r", "s"].map((name) => `${name}-${run.id}`);
  const endpoints = `${prefix}/powerendpoints`;
  for (const name of names) {
    await run.createNode(name, { [labels.managed]: "true", [labels.maySleep]: "true", scenario: run.id });
    const spec = { nodeName: name, webhook: { url: "https://power.test/{node}" } };
    await run.create(endpoints, { apiVersion, kind: "PowerEndpoint", metadata: { name }, spec });
    const lastWake = { at: "2020-01-01T00:00:00Z", seconds: 200, result: "succeeded" };
    await api.mergePatch(`${endpoints}/${name}/status`, { status: { wakeProven: true, lastWake } });
    run.finally(async () => api.text("DELETE", `${prefix}/nodetwins/${name}`));
  }
  const start = () =>
    startOperator(
      run,
      { RECONCILE_INTERVAL: "1m", SLEEP_MODE: "on", SLEEP_AFTER: "1m", SLEEP_RESERVE_QUANTILE: "0" },
      new ScaledClock(systemClock, FAST),
    );
  const stateOf = async (name: string) =>
    (await api.get<NodeTwin & Named>(`${prefix}/nodetwins/${name}`)).spec.power?.state ?? "on";
  const asleep = async () => {
    const states = await Promise.all(names.map(stateOf));
    return names.filter((_, index) => states[index] === "off");
  };
  await createPod(run, `arrived-${run.id}`, names[0] ?? "");
  const operator = start();
  await run.until("empty nodes sleep", async () => (await asleep()).length > 1);
  const [first = "", second = ""] = await asleep();
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: [first] }];
  await run.create("/api/v1/persistentvolumes", {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `disk-${run.id}` },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      local: { path: "/mnt" },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
    },
  });
  await run.until("a local volume wakes its node", async () => (await stateOf(first)) === "on");
  await api.mergePatch(`${endpoints}/${second}/status`, { status: { wakeProven: false } });
  await run.until("a lost proof wakes its node", async () => (await stateOf(second)) === "on");

  const stored = `/api/v1/namespaces/${run.names.namespace}/configmaps/${arrivalsConfigMap}`;
  const version = async () =>
    (await api.get<{ metadata: { resourceVersion: string } }>(stored)).metadata.resourceVersion;
  const arrivals = async () => JSON.stringify((await api.get<{ data: object }>(stored)).data).includes("amounts");
  await run.until("arrivals are stored", arrivals);
  await operator.stop();
  for (const name of ["arrived", "busy"])
    await api.text("DELETE", `/api/v1/namespaces/default/pods/${name}-${run.id}?gracePeriodSeconds=0`);
  const before = await version();
  start();
  await run.until("arrivals are stored again", async () => (await version()) !== before);
  await run.until("with those of the operator before it", arrivals);
}
