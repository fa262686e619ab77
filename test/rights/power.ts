// The life of the power program: proves a wake, lets a node sleep and wakes it, over a webhook and over Metal3.

import { apiVersion, type NodeTwin, type PowerEndpoint } from "../../src/core/api/index.ts";
import { milliseconds } from "../../src/core/units/index.ts";
import { FakeHttpServer } from "../../src/platform/switch/testing/fake-http-server.ts";
import { powerConfig } from "../../src/programs/power/config.ts";
import { runPower } from "../../src/programs/power/start.ts";
import type { ScenarioRun } from "./run.ts";

const prefix = `/apis/${apiVersion}`;

export async function powerLife(run: ScenarioRun): Promise<void> {
  const { api } = run.plane;
  const { namespace } = run.names;
  const [worker, host] = [`worker-${run.id}`, `metal-${run.id}`];
  let power = "on";
  const server = new FakeHttpServer(({ method, body, headers }) => {
    if (headers.authorization !== "Bearer t0ken") return { status: 401 };
    if (method === "GET") return { json: { state: power } };
    power = (JSON.parse(body) as { action: string }).action === "on" ? "on" : "off";
    return { status: 202 };
  });
  const url = await server.listen();
  run.finally(async () => server.close());
  await run.create(`/api/v1/namespaces/${namespace}/secrets`, {
    metadata: { name: "switch", annotations: { "joulie.io/hosts": url } },
    stringData: { token: "t0ken" },
  });
  const metal = `/apis/metal3.io/v1alpha1/namespaces/${namespace}/baremetalhosts`;
  await run.create(metal, {
    apiVersion: "metal3.io/v1alpha1",
    kind: "BareMetalHost",
    metadata: { name: host },
    spec: { online: true },
  });
  await api.mergePatch(`${metal}/${host}/status`, { status: { poweredOn: true } });
  const switches = {
    [worker]: { webhook: { url, credentialsSecretRef: { name: "switch" } } },
    [host]: { metal3: { namespace, name: host } },
  };
  const endpoint = (name: string) => `${prefix}/powerendpoints/${name}`;
  const twin = (name: string) => `${prefix}/nodetwins/${name}`;
  for (const [name, own] of Object.entries(switches)) {
    await run.createNode(name, { "joulie.io/may-sleep": "true" });
    const header = { apiVersion, metadata: { name } };
    await run.create(`${prefix}/nodetwins`, {
      ...header,
      kind: "NodeTwin",
      spec: { nodeName: name, profile: "eco" },
    });
    await run.create(`${prefix}/powerendpoints`, {
      ...header,
      kind: "PowerEndpoint",
      spec: { nodeName: name, ...own },
    });
  }
  // No machine may be switched off before the claim of a pod without a node was read.
  await run.create(`/api/v1/namespaces/${namespace}/pods`, {
    metadata: { name: "waits" },
    spec: {
      containers: [{ name: "main", image: "none" }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
    },
  });
  const times = {
    settle: milliseconds(1000),
    pollInterval: milliseconds(200),
    refreshInterval: milliseconds(1000),
  };
  const program = run.start(powerConfig, {}, async (config, world, signal) =>
    runPower(config, { ...world, times }, signal),
  );
  const target = async (name: string, state: "off" | "on") =>
    api.mergePatch(twin(name), { spec: { power: { state, reason: "a scenario" } } });
  const heartbeat = async (name: string) => {
    const now = new Date().toISOString();
    const ready = { type: "Ready", status: "True", reason: "Test", message: "", lastTransitionTime: now };
    const conditions = [{ ...ready, lastHeartbeatTime: now }];
    await api.mergePatch(`/api/v1/nodes/${name}/status`, { status: { conditions } });
  };
  const stateOf = async (name: string) => (await api.get<NodeTwin & Named>(twin(name))).status?.power?.state;
  const statusOf = async (name: string) => (await api.get<PowerEndpoint & Named>(endpoint(name))).status;
  const isTainted = async (name: string) => {
    const { spec } = await api.get<{ spec: { taints?: { key: string }[] } }>(`/api/v1/nodes/${name}`);
    return spec.taints?.some(({ key }) => key === "joulie.io/asleep") === true;
  };
  /** A node stays awake for some minutes after a wake. */
  const forgetWake = async (name: string) => {
    const result = "succeeded";
    const status = {
      lastWake: { at: "2020-01-01T00:00:00Z", result },
      lastSleep: { at: "2019-01-01T00:00:00Z", result },
    };
    await api.mergePatch(`${endpoint(name)}/status`, { status });
  };
  const follow = async (online: boolean) => {
    const { spec } = await api.get<{ spec: { online: boolean } }>(`${metal}/${host}`);
    if (spec.online !== online) return false;
    await api.mergePatch(`${metal}/${host}/status`, { status: { poweredOn: online } });
    return true;
  };

  await api.mergePatch(endpoint(worker), { metadata: { annotations: { "joulie.io/test-power": "now" } } });
  await run.until("the test taints the node", async () => isTainted(worker));
  await run.until("the test wakes the node", async () => {
    if (power === "on" && (await statusOf(worker))?.lastSleep !== undefined) await heartbeat(worker);
    return (await statusOf(worker))?.wakeProven === true;
  });
  await run.until("the twin says that it is on", async () => (await stateOf(worker)) === "on");
  await run.until("the annotation is gone", async () => {
    const { metadata } = await api.get<{ metadata: { annotations?: object } }>(endpoint(worker));
    return Object.keys(metadata.annotations ?? {}).length === 0;
  });
  await api.mergePatch(`${endpoint(host)}/status`, { status: { wakeProven: true } });
  for (const [name, isOff] of [
    [worker, () => power === "off"],
    [host, async () => follow(false)],
  ] as const) {
    const kind = name === worker ? "webhook" : "Metal3";
    await forgetWake(name);
    await target(name, "off");
    await run.until(`the machine is switched off, by ${kind}`, isOff);
    await run.until(`the twin says so, by ${kind}`, async () => (await stateOf(name)) === "off");
    await target(name, "on");
    await run.until(`the machine is switched on, by ${kind}`, async () =>
      name === worker ? power === "on" : follow(true),
    );
    await heartbeat(name);
    await run.until(`the node takes pods again, by ${kind}`, async () => !(await isTainted(name)));
  }
  await run.until("an Event says so", async () => (await run.events(worker)).has("NodeAwake"));
  const lease = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${run.names.powerLease}`;
  let first: string | undefined;
  await run.until("the Lease is renewed", async () => {
    const { spec } = await api.get<{ spec: { renewTime: string } }>(lease);
    first ??= spec.renewTime;
    return spec.renewTime !== first;
  });
  await forgetWake(worker);
  await run.setStop("true");
  await target(worker, "off");
  await run.until("the stop annotation is followed", () =>
    program.logs.some((line) => /joulie\.io\/stop/.test(line) && !/may not/.test(line)),
  );
  await program.stop();
  await run.until("Events are counted", async () => ((await run.events(worker)).get("NodeAwake") ?? 0) > 1);
}

interface Named {
  readonly metadata: { readonly name: string; readonly uid: string };
}
