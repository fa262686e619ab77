import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { crdOf, kinds, labels } from "../../core/api/index.ts";
import { instant, milliseconds } from "../../core/units/index.ts";
import { VirtualClock } from "../../platform/clock/testing/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import { KubeClient, type KubeObject, resources, stoppedBy, type Transport } from "../../platform/kube/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { clearStop, uninstall } from "./uninstall.ts";

const namespace = "joulie-system";

describe("joulie uninstall", () => {
  const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  const limit = { perSecond: 1e6, burst: 1e6, queue: 1e6 };
  let api: EmbeddedApi;
  let client: KubeClient;
  beforeEach(async () => {
    api = new EmbeddedApi({ clock, random: seededRandom(1), crds: kinds.map(crdOf) });
    const transport = api.transport();
    client = new KubeClient({ transport, clock, random: seededRandom(2), fieldManager: "test", limit });
    await client.create(resources.namespaces, { metadata: { name: namespace } });
  });
  afterEach(async () => api.close());

  const createNode = async (name: string) => {
    const own = { [labels.managed]: "true", [labels.powerProfile]: "eco", [labels.draining]: "false", mine: "yes" };
    const conditions = [{ type: "Ready", status: "True" }];
    await client.create(resources.nodes, { metadata: { name, labels: own }, status: { conditions } });
    const spec = { nodeName: name, profile: "eco", policy: { name: "static_partition" } };
    await client.apply(resources.nodeTwins, { name }, { spec });
    await client.apply(resources.nodeHardwares, { name }, { spec: { nodeName: name } });
  };
  const report = async (name: string, result?: string, message = "") => {
    const controlStatus =
      result === undefined
        ? { observedGeneration: 0 }
        : { observedGeneration: 1, cpu: { backend: "rapl", result, message } };
    await client.apply(
      resources.nodeTwins,
      { name },
      { status: { controlStatus } },
      { subresource: "status", force: true },
    );
  };
  const labelsOf = async (name: string) => (await client.get(resources.nodes, { name })).metadata.labels;
  const annotationsOf = async () => (await client.get(resources.namespaces, { name: namespace })).metadata.annotations;
  const count = async (resource: (typeof resources)[keyof typeof resources]) =>
    (await client.listAll(resource)).items.length;
  const start = (more: object = {}) => {
    const result: { problem?: string | undefined; ended: boolean } = { ended: false };
    const options = {
      client,
      clock,
      namespace,
      timeout: milliseconds(60_000),
      wakeTimeout: milliseconds(600_000),
      keepObjects: false,
      ...more,
    };
    void uninstall({ ...options, labels: [labels.powerProfile, labels.draining] }).then((problem) => {
      result.problem = problem;
      result.ended = true;
    });
    return result;
  };
  const advance = async (seconds: number) => {
    for (let step = 0; step < seconds * 4; step++) await clock.advanceAsync(milliseconds(250));
    for (let turn = 0; turn < 50; turn++) await clock.advanceAsync(milliseconds(0));
  };

  it("X-102 stops first, waits for the agents, then removes Joulie's labels and objects, and nothing else", async () => {
    await createNode("a");
    await report("a", "applied", "210 W per package");
    await client.create(resources.nodePowerProfiles, {
      metadata: { name: "a" },
      spec: { nodeName: "a", profile: "eco" },
    });
    const result = start();
    await advance(5);
    expect(result.ended).toBe(false);
    expect(await annotationsOf()).toEqual({ "joulie.io/stop": "true" });
    expect(await count(resources.nodeTwins)).toBe(1);
    await report("a", "none", `no cap requested; ${stoppedBy(namespace)}`);
    await advance(5);
    expect(result).toEqual({ ended: true, problem: undefined });
    expect(await labelsOf("a")).toEqual({ [labels.managed]: "true", mine: "yes" });
    expect([await count(resources.nodeTwins), await count(resources.nodeHardwares)]).toEqual([0, 0]);
    // A pin belongs to the user.
    expect(await count(resources.nodePowerProfiles)).toBe(1);
  });

  it("SLP-23 waits until every node is awake, and removes nothing if one does not wake", async () => {
    const slept = { lastSleep: { at: "2030-01-01T00:00:00Z", result: "succeeded" } };
    const woken = { ...slept, lastWake: { at: "2030-01-01T01:00:00Z", result: "succeeded" } };
    const say = async (status: object) =>
      client.mergePatch(resources.powerEndpoints, { name: "a" }, { status }, { subresource: "status" });
    await createNode("a");
    const spec = { nodeName: "a", webhook: { url: "https://switch.example" } };
    await client.create(resources.powerEndpoints, { metadata: { name: "a" }, spec });
    await say(slept);
    const tooLate = start();
    await advance(605);
    expect(tooLate.problem).toMatch(/^1 node is not awake after 10m.*: a;/);
    expect(await count(resources.nodeTwins)).toBe(1);
    const result = start();
    await advance(60);
    expect(result.ended).toBe(false);
    await say(woken);
    await advance(5);
    expect(result).toEqual({ ended: true, problem: undefined });
    expect([await count(resources.nodeTwins), await count(resources.powerEndpoints)]).toEqual([0, 1]);
  });

  it("SLP-23 waits for a node whose status says on and that is not Ready, as after etcd was restored", async () => {
    await createNode("a");
    const spec = { nodeName: "a", webhook: { url: "https://switch.example" } };
    await client.create(resources.powerEndpoints, { metadata: { name: "a" }, spec });
    const kubelet = async (status: string) => {
      const conditions = [{ type: "Ready", status }];
      await client.mergePatch(resources.nodes, { name: "a" }, { status: { conditions } }, { subresource: "status" });
    };
    await kubelet("Unknown");
    const result = start();
    await advance(60);
    expect(result.ended).toBe(false);
    await kubelet("True");
    await advance(15);
    expect(result).toEqual({ ended: true, problem: undefined });
  });

  it("SLP-23 waits for a node that fell asleep before the power program saw the annotation", async () => {
    await createNode("a");
    await report("a", "applied", "210 W per package");
    const spec = { nodeName: "a", webhook: { url: "https://switch.example" } };
    await client.create(resources.powerEndpoints, { metadata: { name: "a" }, spec });
    const result = start();
    await advance(5);
    const slept = { lastSleep: { at: "2030-01-01T00:00:00Z", result: "succeeded" } };
    await client.mergePatch(resources.powerEndpoints, { name: "a" }, { status: slept }, { subresource: "status" });
    await report("a", "none", `no cap requested; ${stoppedBy(namespace)}`);
    await advance(60);
    expect(result.ended).toBe(false);
    expect(await count(resources.nodeTwins)).toBe(1);
  });

  it("SLP-23 both waits for sleeping nodes together take no longer than the time for wakes", async () => {
    await createNode("a");
    await report("a", "applied", "210 W per package");
    const spec = { nodeName: "a", webhook: { url: "https://switch.example" } };
    await client.create(resources.powerEndpoints, { metadata: { name: "a" }, spec });
    const say = async (what: "lastSleep" | "lastWake", at: string) => {
      const status = { [what]: { at, result: "succeeded" } };
      await client.mergePatch(resources.powerEndpoints, { name: "a" }, { status }, { subresource: "status" });
    };
    await say("lastSleep", "2030-01-01T00:00:00Z");
    const result = start();
    await advance(300);
    await say("lastWake", "2030-01-01T01:00:00Z");
    await advance(15);
    await say("lastSleep", "2030-01-01T02:00:00Z");
    await report("a", "none", `no cap requested; ${stoppedBy(namespace)}`);
    await advance(200);
    expect(result.ended).toBe(false);
    await advance(120);
    expect(result.problem).toMatch(/^1 node is not awake after 4m.*: a;/);
  });

  it("SLP-23 removes the taint of a sleeping node whose PowerEndpoint was deleted, and no other taint", async () => {
    await createNode("a");
    const own = { key: "mine", effect: "NoSchedule" };
    const taints = [{ key: "joulie.io/asleep", effect: "NoSchedule" }, own];
    await client.mergePatch(resources.nodes, { name: "a" }, { spec: { taints } });
    const result = start();
    await advance(5);
    expect(result).toEqual({ ended: true, problem: undefined });
    expect(await client.get(resources.nodes, { name: "a" })).toMatchObject({ spec: { taints: [own] } });
    expect(await labelsOf("a")).toEqual({ [labels.managed]: "true", mine: "yes" });
  });

  it("SLP-23 removes labels and the taint although a kubelet writes and a node is deleted meanwhile", async () => {
    for (const name of ["a", "b", "c"]) await createNode(name);
    const taints = [{ key: "joulie.io/asleep", effect: "NoSchedule" }];
    await client.mergePatch(resources.nodes, { name: "a" }, { spec: { taints } });
    const inner = api.transport();
    let heartbeats = 0;
    const transport: Transport = {
      close: async () => inner.close(),
      request: async (request) => {
        if (request.method === "PATCH" && request.path.startsWith("/api/v1/nodes/a") && heartbeats++ === 0) {
          await client.mergePatch(resources.nodes, { name: "a" }, { metadata: { annotations: { heartbeat: "1" } } });
          await client.delete(resources.nodes, { name: "b" });
        }
        return inner.request(request);
      },
    };
    const result = start({
      client: new KubeClient({ transport, clock, random: seededRandom(3), fieldManager: "test" }),
    });
    await advance(5);
    expect(result).toEqual({ ended: true, problem: undefined });
    expect((await client.get<KubeObject & { spec?: object }>(resources.nodes, { name: "a" })).spec).toEqual({
      taints: [],
    });
    for (const name of ["a", "c"]) expect(await labelsOf(name)).toEqual({ [labels.managed]: "true", mine: "yes" });
  });

  it("X-102 cleans up thousands of nodes with many calls at once, but not all", async () => {
    const names = Array.from({ length: 100 }, (_, index) => `n${index}`);
    for (const name of names) await createNode(name);
    const inner = api.transport();
    let [open, most] = [0, 0];
    const transport: Transport = {
      close: async () => inner.close(),
      request: async (request) => {
        if (request.method === "GET") return inner.request(request);
        most = Math.max(most, ++open);
        await clock.sleep(milliseconds(100));
        open--;
        return inner.request(request);
      },
    };
    const tapped = new KubeClient({ transport, clock, random: seededRandom(3), fieldManager: "test", limit });
    const result = start({ client: tapped });
    // One call after the other would take 30 s.
    await advance(5);
    expect(result).toEqual({ ended: true, problem: undefined });
    expect(most).toBe(32);
    for (const name of names) expect(await labelsOf(name)).toEqual({ [labels.managed]: "true", mine: "yes" });
    expect([await count(resources.nodeTwins), await count(resources.nodeHardwares)]).toEqual([0, 0]);
  });

  it("X-102 ends if the administrator deletes the NodeTwin of a node whose agent cannot confirm", async () => {
    await createNode("a");
    await createNode("broken");
    await report("broken", "applied", "210 W per package");
    const failed = start();
    await advance(61);
    expect(failed.problem).toContain("1 node did not confirm within 1m that its original limits are restored: broken");
    await client.delete(resources.nodeTwins, { name: "broken" });
    const result = start();
    await advance(5);
    expect(result).toEqual({ ended: true, problem: undefined });
    expect(await labelsOf("broken")).toEqual({ [labels.managed]: "true", mine: "yes" });
    expect([await count(resources.nodeTwins), await count(resources.nodeHardwares)]).toEqual([0, 0]);
  });

  it("X-102 keeps objects when asked to", async () => {
    await createNode("a");
    const result = start({ keepObjects: true });
    await advance(5);
    expect(result.ended).toBe(true);
    expect([await count(resources.nodeTwins), await count(resources.nodeHardwares)]).toEqual([1, 1]);
    expect(await labelsOf("a")).toEqual({ [labels.managed]: "true", mine: "yes" });
  });

  it.each([
    ["still reports a cap", "applied", "210 W per package"],
    ["could not restore a limit", "error", `${stoppedBy(namespace)}; the limit set on package-0 could not be restored`],
  ])("X-102 gives up after the timeout and removes nothing while an agent %s", async (_, how, message) => {
    await createNode("a");
    await report("a", how, message);
    const result = start();
    await advance(65);
    expect(result.problem).toMatch(/^1 node did not confirm within 1m0?s?.*: a$/);
    expect(await count(resources.nodeTwins)).toBe(1);
    expect(await labelsOf("a")).toHaveProperty([labels.powerProfile]);
  });

  it("X-102 waits for an agent that has begun, and not said yet what it did", async () => {
    await createNode("a");
    await report("a");
    const result = start();
    await advance(65);
    expect(result.problem).toContain("did not confirm");
  });

  it("counts an agent that restored the limits when it stopped", async () => {
    await createNode("a");
    await report("a", "none", "the agent has stopped; the original limits are restored");
    const result = start();
    await advance(5);
    expect(result).toEqual({ ended: true, problem: undefined });
  });

  it("X-102 ends a simulated fleet after the agents have confirmed, and waits for its pod", async () => {
    await createNode("a");
    await report("a", "applied", "210 W per package");
    const fleetPod = { name: "fleet-1", labels: { role: "fleet" } };
    const containers = [{ name: "main", image: "none" }];
    await client.create(resources.pods, { metadata: fleetPod, spec: { containers } }, { namespace });
    const deleted: string[] = [];
    // The embedded API has no Deployments.
    const inner = api.transport();
    const transport: Transport = {
      close: async () => inner.close(),
      request: async (request) => {
        if (!request.path.startsWith("/apis/apps/")) return inner.request(request);
        deleted.push(`${request.method} ${request.path}`);
        const body = (async function* () {
          yield Buffer.from("{}");
        })();
        return { status: 200, headers: { "content-type": "application/json" }, body };
      },
    };
    const tapped = new KubeClient({ transport, clock, random: seededRandom(3), fieldManager: "test" });
    const result = start({ client: tapped, fleet: { name: "joulie-fleet", podSelector: "role=fleet" } });
    await advance(5);
    expect(deleted).toEqual([]);
    await report("a", "none", stoppedBy(namespace));
    await advance(5);
    expect(deleted).toEqual([`DELETE /apis/apps/v1/namespaces/${namespace}/deployments/joulie-fleet`]);
    expect(result.ended).toBe(false);
    expect(await count(resources.nodeTwins)).toBe(1);
    await client.delete(resources.pods, { name: "fleet-1", namespace });
    await advance(5);
    expect(result).toEqual({ ended: true, problem: undefined });
    expect(await count(resources.nodeTwins)).toBe(0);
  });

  it("X-102 clears the annotation and the Leases once the release's pods are gone", async () => {
    await client.mergePatch(
      resources.namespaces,
      { name: namespace },
      { metadata: { annotations: { "joulie.io/stop": "true", mine: "yes" } } },
    );
    for (const name of ["joulie-operator", "joulie-power", "other"])
      await client.create(resources.leases, { metadata: { name } }, { namespace });
    for (const name of ["joulie-arrivals", "mine"])
      await client.create(resources.configMaps, { metadata: { name } }, { namespace });
    const labelled = { name: "p", labels: { "app.kubernetes.io/instance": "joulie" } };
    const containers = [{ name: "main", image: "none" }];
    await client.create(resources.pods, { metadata: labelled, spec: { containers } }, { namespace });
    const done = clearStop({
      client,
      clock,
      namespace,
      timeout: milliseconds(60_000),
      selector: "app.kubernetes.io/instance=joulie",
      leases: ["joulie-operator", "joulie-power"],
    });
    await advance(5);
    expect(await annotationsOf()).toHaveProperty(["joulie.io/stop"]);
    await client.delete(resources.pods, { name: "p", namespace });
    await advance(5);
    expect(await done).toBeUndefined();
    expect(await annotationsOf()).toEqual({ mine: "yes" });
    const { items } = await client.listAll(resources.leases, { namespace });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["other"]);
    const maps = await client.listAll(resources.configMaps, { namespace });
    expect(maps.items.map(({ metadata }) => metadata.name)).toEqual(["mine"]);
  });
});
