// The operator on a real API server, with exactly the permissions it declares.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  apiVersion,
  crdOf,
  labels,
  type NodePowerProfile,
  type NodeTwin,
  nodePowerProfileKind,
} from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually, eventuallyPasses, watchFor } from "../../src/platform/clock/testing/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import type { ApiResponse, Transport } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { operatorConfig } from "../../src/programs/operator/config.ts";
import { operatorPermissions } from "../../src/programs/operator/permissions.ts";
import { runOperator } from "../../src/programs/operator/start.ts";
import { reach } from "../contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import type { ClusterIdentity } from "../controlplane/identities.ts";
import { compareRights } from "../controlplane/rights.ts";

const main = join(import.meta.dirname, "../../src/main.ts");
const managed = { [labels.managed]: "true" };
const dense = "joulie.io/hw.cpu-cores";
const performancePod = { annotations: { "joulie.io/workload-class": "performance" } };
const twins = `/apis/${apiVersion}/nodetwins`;
const profiles = `/apis/${apiVersion}/nodepowerprofiles`;
const hardwares = `/apis/${apiVersion}/nodehardwares`;

const performance = { spec: "performance", class: "performance", labels: "performance false", cap: 100 };
const eco = { spec: "eco", class: "eco", labels: "eco false", cap: 60 };
const draining = { spec: "eco draining", class: "draining", labels: "eco true", cap: 100 };

interface Listed {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly namespace?: string };
    readonly reason?: string;
    readonly regarding?: { readonly name: string };
  }[];
}

describe("the operator on a real control plane", () => {
  let plane: ControlPlane;
  let identity: ClusterIdentity;
  let running: { readonly stop: () => Promise<void>; readonly logs: string[] }[] = [];
  beforeAll(async () => {
    plane = await startControlPlane({ controllerManager: true, audit: true });
    identity = await plane.identity(operatorPermissions("joulie-system"), { name: "joulie-operator" });
  });
  afterAll(async () => plane.stop());
  beforeEach(() => {
    running = [];
  });
  afterEach(async () => {
    await Promise.all(running.map(async ({ stop }) => stop()));
    for (const path of ["/api/v1/pods", "/api/v1/nodes", profiles, twins, hardwares]) {
      const { items } = await plane.api.get<Listed>(path);
      for (const { metadata } of items) {
        const place = metadata.namespace === undefined ? path : `/api/v1/namespaces/${metadata.namespace}/pods`;
        await plane.api.text("DELETE", `${place}/${metadata.name}?gracePeriodSeconds=0`).catch(() => "");
      }
    }
  });

  function start(
    variables: Readonly<Record<string, string>> = {},
    network: (inner: Transport) => Transport = (inner) => inner,
  ) {
    const env = { METRICS_ADDR: "127.0.0.1:0", RECONCILE_INTERVAL: "1s", POD_NAME: "operator-0", ...variables };
    const machine = { isTerminal: false, exists: () => false };
    const parsed = parseConfig(operatorConfig, { env, flags: {}, machine });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const logs: string[] = [];
    const log = createLogger({ level: "info", program: "operator", destination: { write: (line) => logs.push(line) } });
    const transport = network(reach(identity.server, identity.token, identity.ca));
    const stop = new AbortController();
    const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log };
    const done = runOperator(parsed.value.values, world, stop.signal);
    const operator = {
      logs,
      stop: async () => {
        stop.abort();
        await done;
        await transport.close();
      },
    };
    running.push(operator);
    return operator;
  }

  const twin = async (name: string) => plane.api.get<NodeTwin>(`${twins}/${name}`);
  const labelsOf = async (name: string) =>
    (await plane.api.get<{ metadata: { labels: Record<string, string> } }>(`/api/v1/nodes/${name}`)).metadata.labels;
  async function shown(name: string) {
    const { spec, status } = await twin(name);
    const own = await labelsOf(name);
    return {
      spec: `${spec.profile}${spec.scheduling?.draining === true ? " draining" : ""}`,
      class: status?.schedulableClass,
      labels: `${own[labels.powerProfile]} ${own[labels.draining]}`,
      cap: spec.cpu?.packagePowerCapPctOfMax,
    };
  }
  const comesToShow = async (name: string, wanted: Record<keyof Awaited<ReturnType<typeof shown>>, string | number>) =>
    eventuallyPasses(async () => expect(await shown(name)).toEqual(wanted));
  const label = async (name: string, own: Readonly<Record<string, string | null>>) =>
    plane.api.mergePatch(`/api/v1/nodes/${name}`, { metadata: { labels: own } });
  const finish = async (pod: string) =>
    plane.api.mergePatch(`/api/v1/namespaces/default/pods/${pod}/status`, { status: { phase: "Succeeded" } });

  it("OPR-16 OPR-20 OPR-21 OPR-22 OPR-23 OPR-24 OPR-25 OPR-26 X-22 takes every transition of the state machine with real pods", async () => {
    await plane.createNodes(["fsm-a", "fsm-b"], { labels: managed });
    await plane.createPods(["worker"], { ...performancePod, phase: "Running", spec: { nodeName: "fsm-b" } });
    start({ PROFILE_MIN_DWELL: "0s" });
    await comesToShow("fsm-a", performance);
    await comesToShow("fsm-b", draining);
    // Checked again at every tick.
    await watchFor(3000);
    expect(await shown("fsm-b")).toEqual(draining);
    // Planned for performance again, and back.
    await label("fsm-b", { [dense]: "512" });
    await comesToShow("fsm-b", performance);
    await comesToShow("fsm-a", eco);
    await label("fsm-b", { [dense]: null });
    await comesToShow("fsm-b", draining);
    await comesToShow("fsm-a", performance);
    await finish("worker");
    await comesToShow("fsm-b", eco);
    const events = await plane.api.get<Listed>("/apis/events.k8s.io/v1/namespaces/default/events");
    const reasons = events.items.filter(({ regarding }) => regarding?.name === "fsm-b").map(({ reason }) => reason);
    expect(new Set(reasons)).toEqual(new Set(["DowngradeDeferred", "ProfilePerformance", "ProfileEco"]));
  });

  it("X-22 the server rejects delayed eco caps on a node that has a pod by then", async () => {
    await plane.createNodes(["late"], { labels: managed });
    let sendLate: (() => Promise<ApiResponse>) | undefined;
    start({ STATIC_HP_FRAC: "0" }, (inner) => ({
      request: async (request) => {
        const isLowering =
          /nodetwins\/late\?/.test(request.path) && request.body?.includes('"packagePowerCapPctOfMax":60') === true;
        if (!isLowering || sendLate !== undefined) return inner.request(request);
        sendLate = async () => inner.request({ ...request, signal: new AbortController().signal });
        await plane.createPods(["first"], { ...performancePod, phase: "Running", spec: { nodeName: "late" } });
        throw new Error("no answer");
      },
      close: async () => inner.close(),
    }));
    // The operator has seen the pod: the twin contains the performance caps again.
    await eventuallyPasses(async () => {
      expect(sendLate).toBeDefined();
      expect((await twin("late")).status?.effectiveCapState?.cpuPct).toBe(100);
    });
    expect((await sendLate?.())?.status).toBe(409);
    expect(await shown("late")).toEqual({ ...eco, cap: 100 });
  });

  it("X-06 applies a pin and leaves it unchanged", async () => {
    await plane.createNodes(["pin-a", "pin-b"], { labels: managed });
    const spec = { nodeName: "pin-a", profile: "eco", cpu: { packagePowerCapPctOfMax: 45 } };
    await plane.api.create(profiles, { apiVersion, kind: "NodePowerProfile", metadata: { name: "pin-a" }, spec });
    const before = await plane.api.get(`${profiles}/pin-a`);
    start({ WRITE_NODE_POWER_PROFILES: "true" });
    await comesToShow("pin-a", { ...eco, cap: 45 });
    expect((await twin("pin-a")).spec.policy?.name).toBe("pinned");
    expect(await plane.api.get(`${profiles}/pin-a`)).toEqual(before);
    await eventuallyPasses(async () => {
      expect(await plane.api.get(`${profiles}/pin-b`)).toMatchObject({
        metadata: { labels: { [labels.managedBy]: "operator" } },
        spec: { profile: "performance" },
      });
    });
  });

  it("OPR-05 OPR-08 works with labels only, uses NodeHardware that appears later, and keeps the agent's fields", async () => {
    await plane.createNodes(["hw-a.example.com", "hw-b.example.com"], { labels: managed });
    start();
    await comesToShow("hw-a.example.com", performance);
    await comesToShow("hw-b.example.com", eco);

    const controlStatus = {
      cpu: { backend: "rapl", result: "applied", observedPowerWatts: 99, updatedAt: new Date().toISOString() },
    };
    const report = { apiVersion, kind: "NodeTwin", metadata: { name: "hw-b.example.com" }, status: { controlStatus } };
    const asAgent = "?fieldManager=joulie-agent&force=true";
    const applied = "application/apply-patch+yaml";
    await plane.api.text("PATCH", `${twins}/hw-b.example.com/status${asAgent}`, report, applied);

    const metadata = { name: "hw-b.example.com" };
    await plane.api.create(hardwares, {
      apiVersion,
      kind: "NodeHardware",
      metadata,
      spec: { nodeName: metadata.name },
    });
    const found = { cpu: { rawModel: "AMD EPYC 9654 96-Core Processor", sockets: 2, totalCores: 192 } };
    await plane.api.mergePatch(`${hardwares}/hw-b.example.com/status`, { status: found });
    await comesToShow("hw-b.example.com", performance);
    await comesToShow("hw-a.example.com", eco);
    const { status } = await twin("hw-b.example.com");
    expect(status?.controlStatus?.cpu).toMatchObject({ backend: "rapl", observedPowerWatts: 99 });
    expect(status?.powerMeasurement).toMatchObject({ source: "agent", measuredNodePowerW: 99 });
  });

  it("X-41 X-63 cleans up after an unmanaged node and after a deleted one", async () => {
    await plane.createNodes(["out-a", "out-b"], { labels: { ...managed, mine: "too" } });
    const spec = { nodeName: "out-a" };
    await plane.api.create(hardwares, { apiVersion, kind: "NodeHardware", metadata: { name: "out-a" }, spec });
    start({ WRITE_NODE_POWER_PROFILES: "true", PROFILE_MIN_DWELL: "0s" });
    await comesToShow("out-a", performance);
    await comesToShow("out-b", eco);
    const mirrored = async () =>
      (await plane.api.get<{ items: NodePowerProfile[] }>(profiles)).items.map(({ spec: own }) => own.profile);
    await eventuallyPasses(async () => expect(await mirrored()).toEqual(["performance", "eco"]));
    await label("out-a", { [labels.managed]: null });
    await eventuallyPasses(async () => {
      expect((await plane.api.get<Listed>(twins)).items.map(({ metadata }) => metadata.name)).toEqual(["out-b"]);
      const own = await labelsOf("out-a");
      expect([own["mine"], own[labels.powerProfile], own[labels.draining]]).toEqual(["too", undefined, undefined]);
      expect((await plane.api.get<Listed>(hardwares)).items).toEqual([]);
      expect(await mirrored()).toEqual(["performance"]);
    });
    await plane.api.remove("/api/v1/nodes/out-b");
    await eventuallyPasses(async () => expect((await plane.api.get<Listed>(twins)).items).toEqual([]));
  });

  it("OPR-15 OPR-18 removes its former labels after the keys changed, and no label of another manager", async () => {
    await plane.createNodes(["key-a", "key-b"], { labels: { ...managed, mine: "too" } });
    // Includes the labels that the API server itself has set.
    const [ofA, ofB] = [await labelsOf("key-a"), await labelsOf("key-b")];
    const first = start();
    await comesToShow("key-a", performance);
    await comesToShow("key-b", eco);
    await first.stop();
    await label("key-b", { [labels.powerProfile]: "theirs" });
    start({ POWER_PROFILE_LABEL: "site.example/profile", DRAINING_LABEL: "site.example/draining" });
    await eventuallyPasses(async () => {
      expect(await labelsOf("key-a")).toEqual({
        ...ofA,
        "site.example/profile": "performance",
        "site.example/draining": "false",
      });
      expect(await labelsOf("key-b")).toEqual({
        ...ofB,
        [labels.powerProfile]: "theirs",
        "site.example/profile": "eco",
        "site.example/draining": "false",
      });
    });
  });

  it("runs as `joulie operator` with a kubeconfig, serves its pages, and shuts down gracefully on a signal", async () => {
    await plane.createNodes(["cmd-a"], { labels: managed });
    const { NODE_COMPILE_CACHE } = process.env;
    const variables = { KUBECONFIG: identity.kubeconfig, METRICS_ADDR: "127.0.0.1:0", POD_NAME: "operator-1" };
    const child = spawn(process.execPath, [main, "operator"], {
      env: { NODE_COMPILE_CACHE, ...variables },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exit = once(child, "exit");
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    try {
      await comesToShow("cmd-a", performance);
      const url = /"url":"([^"]+)"/.exec(output)?.[1];
      const page = async (path: string) => (await fetch(`${url}${path}`)).text();
      expect(await page("/readyz")).toContain("[+] synced");
      expect(await page("/livez")).toContain("[+] loop");
      expect(JSON.parse(await page("/debug/plan"))).toMatchObject({ nodes: [{ name: "cmd-a" }] });
      const reader = await plane.identity([{ nonResourceURLs: ["/debug/plan"], verbs: ["get"] }]);
      const headers = { "x-forwarded-for": "203.0.113.9", authorization: `Bearer ${reader.token}` };
      expect((await fetch(`${url}/debug/plan`, { headers })).status).toBe(200);
      expect(await page("/metrics")).toContain('joulie_operator_node_state{node="cmd-a",state="ActivePerformance"} 1');
    } finally {
      child.kill("SIGTERM");
    }
    expect(await exit).toEqual([0, null]);
    const lease = "/apis/coordination.k8s.io/v1/namespaces/joulie-system/leases/joulie-operator";
    expect((await plane.api.get<{ spec: { holderIdentity?: string } }>(lease)).spec.holderIdentity ?? "").toBe("");
  });

  it("X-12 X-98 logs a missing CRD once, continues after its installation, and warns about a Pod with an invalid class", async () => {
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await plane.api.remove(`${definitions}/nodepowerprofiles.joulie.io`);
    await eventuallyPasses(async () => expect(plane.api.get(profiles)).rejects.toThrow("404"));
    await plane.createNodes(["crd-a"], { labels: managed });
    const annotations = { "joulie.io/workload-class": "perfomance" };
    await plane.createPods(["typo"], { annotations, phase: "Running", spec: { nodeName: "crd-a" } });
    const { logs } = start();
    await eventually(() => logs.some((line) => line.includes("is not installed")));
    // It says so once.
    await watchFor(3000);
    await plane.api.create(definitions, crdOf(nodePowerProfileKind));
    await comesToShow("crd-a", performance);
    const problems = logs.filter((line) => line.includes("NodePowerProfile") && !line.includes('"level":"info"'));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("the CustomResourceDefinition nodepowerprofiles.joulie.io is not installed");
    await eventuallyPasses(async () => {
      const { items } = await plane.api.get<Listed>("/apis/events.k8s.io/v1/namespaces/default/events");
      const warned = items.filter(({ reason }) => reason === "UnknownWorkloadClass");
      expect(warned.map(({ regarding }) => regarding?.name)).toEqual(["typo"]);
    });
  });

  it("OPR-01 OPR-28 works with exactly its own permissions and modifies no pod", async () => {
    const { user } = identity;
    const own = plane.audited().filter((request) => request.user === user);
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter(({ code }) => code === 403 || code === 401)).toEqual([]);
    const written = own.filter(({ verb }) => !["get", "list", "watch"].includes(verb));
    const touched = written.map(({ resource, subresource }) => `${resource}${subresource && `/${subresource}`}`);
    expect(touched).not.toContain("pods");
    // Every verb of its role was needed by a scenario above, so none can go.
    expect(compareRights(operatorPermissions("joulie-system"), own)).toEqual({ unused: [], missing: [] });
  });
});
