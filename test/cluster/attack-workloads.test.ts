// StatefulSets with local volumes, and PodDisruptionBudgets, against sleeping nodes on a real control plane.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { PowerEndpointStatus } from "../../src/core/api/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { FakeHttpServer } from "../../src/platform/switch/testing/fake-http-server.ts";
import { ApiFailure } from "../controlplane/api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { AttackScene } from "./attack-scene.ts";
import { SleepScene } from "./sleep-scene.ts";

const controllers = [
  "statefulset-controller",
  "replicaset-controller",
  "disruption-controller",
  "persistentvolume-binder-controller",
];
const namespace = "/api/v1/namespaces/default";
const apps = "/apis/apps/v1/namespaces/default";
const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

interface WorkloadPod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly nodeName?: string };
}

const podsOf = async (plane: ControlPlane): Promise<readonly WorkloadPod[]> =>
  (await plane.api.get<{ readonly items: readonly WorkloadPod[] }>(`${namespace}/pods`)).items;

/** A class of volumes that an administrator creates by hand, each bound when its first pod is scheduled. */
const createLocalClass = async (plane: ControlPlane) =>
  plane.api.create("/apis/storage.k8s.io/v1/storageclasses", {
    metadata: { name: "local" },
    provisioner: "kubernetes.io/no-provisioner",
    volumeBindingMode: "WaitForFirstConsumer",
  });

/** A volume on the disk of the node with this label. */
const createLocalVolume = async (plane: ControlPlane, name: string, key: string, value: string) =>
  plane.api.create("/api/v1/persistentvolumes", {
    metadata: { name },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "local",
      persistentVolumeReclaimPolicy: "Retain",
      local: { path: "/data" },
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values: [value] }] }] },
      },
    },
  });

const podTemplate = (app: string, more: object = {}) => ({
  metadata: { labels: { app } },
  spec: {
    containers: [{ name: "main", image: "none", resources: { requests: { cpu: "1" } } }],
    terminationGracePeriodSeconds: 0,
    ...more,
  },
});

const createStatefulSet = async (plane: ControlPlane, name: string, replicas: number) =>
  plane.api.create(`${apps}/statefulsets`, {
    metadata: { name },
    spec: {
      replicas,
      serviceName: name,
      selector: { matchLabels: { app: name } },
      template: podTemplate(name),
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: {
            storageClassName: "local",
            accessModes: ["ReadWriteOnce"],
            resources: { requests: { storage: "1Gi" } },
          },
        },
      ],
    },
  });
const scale = async (plane: ControlPlane, name: string, replicas: number) =>
  plane.api.mergePatch(`${apps}/statefulsets/${name}`, { spec: { replicas } });

describe("workloads on nodes that the operator lets sleep", () => {
  let plane: ControlPlane;
  let scene: SleepScene;
  beforeAll(async () => {
    plane = await startControlPlane({ scheduler: {}, controllerManager: controllers });
    await createLocalClass(plane);
    scene = await SleepScene.open(plane, { nodes: 10 });
    scene.startOperator();
    await someSleep();
  });
  afterAll(async () => {
    await scene?.close();
    await plane?.stop();
  });
  /** Waits until nodes are off, and no sleep or wake is in progress. */
  const someSleep = async () =>
    eventually(async () => {
      if (scene.off().length === 0) return false;
      return (await scene.endpoints()).every(({ status }) => status?.operation === undefined);
    });
  const nodeOf = async (pod: string) =>
    (await podsOf(plane)).find(({ metadata }) => metadata.name === pod)?.spec.nodeName;

  it("SLP-40 a sleeping node wakes for a volume on its disk, named by an id of the driver, and runs its StatefulSet", async () => {
    const [sleeping = ""] = scene.off();
    const key = "topology.cstor.openebs.io/nodeName";
    await plane.api.mergePatch(`/api/v1/nodes/${sleeping}`, { metadata: { labels: { [key]: "disk-1" } } });
    await createLocalVolume(plane, "disk-1", key, "disk-1");
    await createStatefulSet(plane, "db", 1);
    await eventually(async () => (await nodeOf("db-0")) === sleeping);
    expect(scene.off()).not.toContain(sleeping);
  });

  it("SLP-40 it stays awake while the StatefulSet is scaled to 0, and runs it again", async () => {
    const node = (await nodeOf("db-0")) ?? "";
    // Another node becomes empty at the same time. When that one sleeps, this one would have had the time as well.
    const [other = ""] = scene.off();
    await scene.createPods("guest", 1, 1, { nodeSelector: { "kubernetes.io/hostname": other } });
    await eventually(async () => (await nodeOf("guest-0")) === other);
    await scale(plane, "db", 0);
    await scene.deletePods();
    await eventually(() => scene.off().includes(other));
    expect(scene.off()).not.toContain(node);
    await scale(plane, "db", 1);
    await eventually(async () => (await nodeOf("db-0")) === node);
    await plane.api.remove(`${apps}/statefulsets/db`);
    await eventually(async () => (await podsOf(plane)).length === 0);
    expect(await scene.violations()).toEqual([]);
  });

  it("SLP-11 a machine never takes power from pods of a budget, whatever is evicted meanwhile", async () => {
    const REPLICAS = 6;
    await plane.api.create(budgets, {
      metadata: { name: "web" },
      spec: { minAvailable: REPLICAS, selector: { matchLabels: { app: "web" } } },
    });
    await plane.api.create(`${apps}/replicasets`, {
      metadata: { name: "web" },
      spec: { replicas: REPLICAS, selector: { matchLabels: { app: "web" } }, template: podTemplate("web") },
    });
    const placed = async () => (await podsOf(plane)).filter(({ spec }) => spec.nodeName !== undefined);
    const isPlaced = async () => (await placed()).length === REPLICAS;
    await eventually(isPlaced);
    const evict = async (name: string) =>
      plane.api.create(`${namespace}/pods/${name}/eviction`, {
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name },
      });
    const allowed = async (count: number) =>
      eventually(async () => {
        const { status } = await plane.api.get<{ readonly status?: { readonly disruptionsAllowed?: number } }>(
          `${budgets}/web`,
        );
        return status?.disruptionsAllowed === count;
      });
    await allowed(0);
    const [first] = await placed();
    const refused = await evict(first?.metadata.name ?? "").catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ApiFailure);
    const before = new Set((await placed()).map(({ metadata }) => metadata.uid));
    await someSleep();
    expect((await placed()).filter(({ metadata }) => before.has(metadata.uid))).toHaveLength(REPLICAS);
    await plane.api.mergePatch(`${budgets}/web`, { spec: { minAvailable: REPLICAS - 1 } });
    for (let round = 0; round < REPLICAS; round++) {
      await allowed(1);
      const [victim] = await placed();
      await evict(victim?.metadata.name ?? "");
      await eventually(isPlaced);
    }
    expect(await scene.violations()).toEqual([]);
  });
});

type IsReached = (status: PowerEndpointStatus) => boolean;
const inStep =
  (type: string, step: string): IsReached =>
  ({ operation }) =>
    operation?.type === type && operation.step === step;
const isOff: IsReached = ({ operation, powerState }) => operation === undefined && powerState === "off";

describe("a StatefulSet with a volume on the disk of a node that is told to sleep", () => {
  let plane: ControlPlane;
  let scene: AttackScene;
  /** Shutdowns and cuts that came while the pod was bound to the node. */
  const losses: string[] = [];
  const server = new FakeHttpServer(({ method, body }) => {
    const { machine } = scene;
    if (method === "GET") return { json: { state: machine.power } };
    const { action } = JSON.parse(body) as { action: string };
    void (action === "on" ? machine.switchOn() : machine.switchOff(action !== "shutdown"));
    if (action !== "on")
      void podsOf(plane).then((pods) => {
        for (const { metadata, spec } of pods)
          if (spec.nodeName !== undefined) losses.push(`${action} with ${metadata.name}`);
      });
    return { status: 202 };
  });
  beforeAll(async () => {
    plane = await startControlPlane({ scheduler: {}, controllerManager: controllers });
    await createLocalClass(plane);
    scene = await AttackScene.open(plane, { webhook: { url: await server.listen() } });
    const capacity = { cpu: "4", memory: "8Gi", pods: "10" };
    await plane.api.mergePatch("/api/v1/nodes/worker/status", { status: { capacity, allocatable: capacity } });
    await eventually(async () => (await scene.endpoint()).status?.wakeProven === true);
    await createLocalVolume(plane, "disk", "kubernetes.io/hostname", "worker");
    await createStatefulSet(plane, "db", 1);
    await eventually(async () => (await scene.isUsable()) && (await isBound()));
  });
  afterAll(async () => {
    await scene?.close();
    await server.close();
    await plane?.stop();
  });
  afterEach(async () => {
    scene.onStatus = async () => undefined;
    scene.wanted = "on";
    await eventually(async () => scene.isUsable());
  });
  const isBound = async () => (await podsOf(plane)).some(({ spec }) => spec.nodeName === "worker");
  /** Tells the node to sleep, and calls `attack` right after the power program has written the step. */
  const strike = async (isReached: IsReached, attack: () => Promise<void>) => {
    const reached = Promise.withResolvers<void>();
    scene.onStatus = async (status) => {
      if (!isReached(status)) return;
      scene.onStatus = async () => undefined;
      await attack().then(reached.resolve, reached.reject);
    };
    scene.wanted = "off";
    await reached.promise;
  };
  /** Leaves the power program alone with the attack until its sleep succeeds or is given up: the operator is late. */
  const ends = async () => eventually(async () => (await scene.endpoint()).status?.operation === undefined);
  const runsAgain = async () => {
    await eventually(async () => (await scene.isUsable()) && (await isBound())).catch(async () => {
      expect.fail(`the StatefulSet does not run: ${await scene.describe()}`);
    });
  };

  it.each<[string, IsReached]>([
    ["before the taint", inStep("sleep", "taint")],
    ["tainted", inStep("sleep", "count")],
    ["stopping", inStep("sleep", "shutdown")],
    ["off", isOff],
  ])("SLP-11 scaled up while the node is %s: it runs there, and loses no power", async (_, step) => {
    await scale(plane, "db", 0);
    await eventually(async () => (await podsOf(plane)).length === 0);
    await strike(step, async () => {
      await scale(plane, "db", 1);
      await eventually(async () => (await podsOf(plane)).length === 1);
    });
    await ends();
    scene.wanted = "on";
    await runsAgain();
    expect(losses).toEqual([]);
  });

  it("SLP-11 a pod that is evicted during the last count keeps the machine on until it has ended", async () => {
    await scale(plane, "db", 0);
    await eventually(async () => (await podsOf(plane)).length === 0);
    const spec = {
      nodeName: "worker",
      terminationGracePeriodSeconds: 3600,
      containers: podTemplate("x").spec.containers,
    };
    await plane.api.create(`${namespace}/pods`, { metadata: { name: "slow" }, spec });
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "slow" } };
    await strike(inStep("sleep", "count"), async () => {
      await plane.api.create(`${namespace}/pods/slow/eviction`, eviction);
    });
    await eventually(async () => (await scene.endpoint()).status?.lastSleep?.result === "failed");
    expect([losses, scene.machine.power]).toEqual([[], "on"]);
    scene.wanted = "on";
    await plane.kubectl(["delete", "pod", "slow", "--force", "--grace-period=0"]);
    await scale(plane, "db", 1);
    await runsAgain();
    expect(losses).toEqual([]);
  });

  it.each<[string, IsReached]>([
    ["before the taint", inStep("sleep", "taint")],
    ["tainted", inStep("sleep", "count")],
  ])("SLP-11 its pod deleted and created again while the node is %s: it runs there again", async (_, step) => {
    await eventually(isBound);
    await strike(step, async () => plane.api.remove(`${namespace}/pods/db-0`));
    await ends();
    scene.wanted = "on";
    await runsAgain();
    expect(losses).toEqual([]);
  });
});
