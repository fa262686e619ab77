// Pods that kube-scheduler has promised to a node, and not yet bound, on a real control plane with a webhook as the switch.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NodeTwin, PowerEndpoint } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { FakeHttpServer } from "../../src/platform/switch/testing/fake-http-server.ts";
import { powerConfig } from "../../src/programs/power/config.ts";
import { powerPermissions } from "../../src/programs/power/permissions.ts";
import { runPower } from "../../src/programs/power/start.ts";
import { reach } from "../contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { configured, powerTimes, powerVariables } from "./sleep-settings.ts";

const pods = "/api/v1/namespaces/default/pods";
const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
const joulie = "/apis/joulie.io/v1alpha1";

interface SchedulerPod {
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly nominatedNodeName?: string };
}

describe("X-131 pods that kube-scheduler has promised to a node", () => {
  let plane: ControlPlane;
  let stop: () => Promise<void>;
  const power = new Map<string, string>();
  const actions: string[] = [];
  const reads = new Map<string, number>();
  const server = new FakeHttpServer(({ method, path, body }) => {
    const node = path.slice(1);
    if (method === "GET") {
      reads.set(node, (reads.get(node) ?? 0) + 1);
      return { json: { state: power.get(node) ?? "on" } };
    }
    const { action } = JSON.parse(body) as { action: string };
    actions.push(`${node} ${action}`);
    power.set(node, action === "on" ? "on" : "off");
    return { status: 202 };
  });

  const containers = (cpu: string) => [{ name: "main", image: "none", resources: { requests: { cpu } } }];
  const isReady = { type: "Ready", status: "True", reason: "Test", message: "" };
  /** A node that may sleep, on which only pods with the same `nodeSelector` run. */
  const createNode = async (name: string, url: string) => {
    await plane.createNodes([name], { labels: { "joulie.io/may-sleep": "true", "kubernetes.io/hostname": name } });
    const now = new Date().toISOString();
    const condition = { ...isReady, lastTransitionTime: now, lastHeartbeatTime: now };
    const capacity = { cpu: "4", memory: "8Gi", pods: "10" };
    const status = { conditions: [condition], capacity, allocatable: capacity };
    await plane.api.mergePatch(`/api/v1/nodes/${name}/status`, { status });
    const metadata = { name };
    const apiVersion = "joulie.io/v1alpha1";
    const spec = { nodeName: name, profile: "eco" };
    await plane.api.create(`${joulie}/nodetwins`, { apiVersion, kind: "NodeTwin", metadata, spec });
    await plane.api.create(`${joulie}/powerendpoints`, {
      apiVersion,
      kind: "PowerEndpoint",
      metadata,
      spec: { nodeName: name, webhook: { url: `${url}/{node}` } },
    });
    const { metadata: created } = await plane.api.get<PowerEndpoint>(`${joulie}/powerendpoints/${name}`);
    await plane.api.mergePatch(`${joulie}/powerendpoints/${name}/status`, {
      status: { wakeProven: true, provenGeneration: created.generation },
    });
  };
  const only = (name: string) => ({ nodeSelector: { "kubernetes.io/hostname": name } });
  /** What the operator does, as if it knew nothing of the pod. */
  const askForSleep = async (name: string) =>
    plane.api.mergePatch(`${joulie}/nodetwins/${name}`, { spec: { power: { state: "off", reason: "a test" } } });
  const powerOf = async (name: string) =>
    (await plane.api.get<NodeTwin>(`${joulie}/nodetwins/${name}`)).status?.power?.state;
  const isTainted = async (name: string) => {
    const { spec } = await plane.api.get<{ readonly spec: object }>(`/api/v1/nodes/${name}`);
    return JSON.stringify(spec).includes("joulie.io/asleep");
  };
  /** Waits until the power program has considered the sleep at least once, and again after the refresh interval. */
  const considered = async (name: string) => {
    const before = reads.get(name) ?? 0;
    await eventually(() => (reads.get(name) ?? 0) >= before + 3);
  };
  const lastSleep = async (name: string) =>
    (await plane.api.get<PowerEndpoint>(`${joulie}/powerendpoints/${name}`)).status?.lastSleep?.result;
  const remove = async (path: string) =>
    plane.api.text("DELETE", path, { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 0 });

  beforeAll(async () => {
    plane = await startControlPlane({ scheduler: {} });
    const url = await server.listen();
    await plane.kubectl(["create", "namespace", "joulie-system"]);
    for (const name of ["with-volume", "preempted"]) await createNode(name, url);
    const {
      server: address,
      token,
      ca,
    } = await plane.identity(powerPermissions("joulie-system"), {
      name: "joulie-power",
    });
    const transport = reach(address, token, ca);
    const log = createLogger({ level: "fatal", program: "power" });
    const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log, times: powerTimes };
    const ending = new AbortController();
    const done = runPower(configured(powerConfig, powerVariables, "env"), world, ending.signal);
    stop = async () => {
      ending.abort();
      await done;
      await transport.close();
    };
  });
  afterAll(async () => {
    await stop?.();
    await server.close();
    await plane?.stop();
  });

  it("X-131 a pod whose claim waits for its volume on the node keeps the node on, until it is deleted", async () => {
    const node = "with-volume";
    await plane.api.create("/apis/storage.k8s.io/v1/storageclasses", {
      metadata: { name: "later" },
      provisioner: "test.joulie.io/later",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    await plane.api.create(claims, {
      metadata: { name: "data" },
      spec: {
        storageClassName: "later",
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "1Gi" } },
      },
    });
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
    await plane.api.create(pods, {
      metadata: { name: "db" },
      spec: { ...only(node), containers: containers("1"), volumes },
    });
    await eventually(async () => {
      const { metadata } = await plane.api.get<{
        readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
      }>(`${claims}/data`);
      return metadata.annotations?.["volume.kubernetes.io/selected-node"] === node;
    });
    expect((await plane.api.get<SchedulerPod>(`${pods}/db`)).spec.nodeName).toBeUndefined();
    await askForSleep(node);
    await considered(node);
    expect([actions, await isTainted(node)]).toEqual([[], false]);
    await remove(`${pods}/db`);
    await eventually(async () => (await powerOf(node)) === "off");
    expect(actions).toEqual([`${node} shutdown`]);
  });

  it("X-131 a pod that waits for a preempted DaemonSet pod keeps the node on, and is bound", async () => {
    const node = "preempted";
    await plane.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name: "urgent" }, value: 1000 });
    const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "logs", uid: "d1", controller: true };
    await plane.api.create(pods, {
      metadata: { name: "logs-1", ownerReferences: [owner] },
      spec: { ...only(node), containers: containers("3"), terminationGracePeriodSeconds: 3600 },
    });
    await eventually(async () => (await plane.api.get<SchedulerPod>(`${pods}/logs-1`)).spec.nodeName === node);
    await plane.api.create(pods, {
      metadata: { name: "urgent" },
      spec: { ...only(node), containers: containers("3"), priorityClassName: "urgent" },
    });
    await eventually(
      async () => (await plane.api.get<SchedulerPod>(`${pods}/urgent`)).status.nominatedNodeName === node,
    );
    await askForSleep(node);
    await considered(node);
    expect(await isTainted(node)).toBe(false);
    await remove(`${pods}/logs-1`);
    await eventually(async () => (await plane.api.get<SchedulerPod>(`${pods}/urgent`)).spec.nodeName === node);
    await eventually(async () => (await lastSleep(node)) === "failed");
    expect(actions.filter((action) => action.startsWith(node))).toEqual([]);
  });
});
