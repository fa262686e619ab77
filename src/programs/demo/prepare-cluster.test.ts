import { describe, expect, it } from "vitest";
import { crdOf, kinds } from "../../core/api/index.ts";
import { systemClock } from "../../platform/clock/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import { type ApiRequest, KubeClient, type Resource, resources } from "../../platform/kube/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { prepareCluster } from "./prepare-cluster.ts";

const never = new AbortController().signal;
const crds: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};

function cluster(installed: boolean) {
  const api = new EmbeddedApi({
    clock: systemClock,
    random: seededRandom(1),
    crds: installed ? kinds.map(crdOf) : [],
  });
  const way = api.transport();
  /** Called after each response. */
  const served: ((call: ApiRequest) => void)[] = [];
  const client = new KubeClient({
    transport: {
      ...way,
      request: async (call) => {
        const answer = await way.request(call);
        for (const hear of served) hear(call);
        return answer;
      },
    },
    clock: systemClock,
    random: seededRandom(2),
    fieldManager: "joulie-demo",
  });
  const names = async (resource: Resource) =>
    (await client.listAll(resource)).items.map(({ metadata }) => metadata.name).toSorted();
  return { client, names, served };
}

describe("prepareCluster", () => {
  it("creates CRDs and a namespace, and removes them afterwards", async () => {
    const { client, names } = cluster(false);
    const giveBack = await prepareCluster(client, "joulie-demo", systemClock, never);
    expect(await names(crds)).toContain("nodetwins.joulie.io");
    expect(await names(resources.namespaces)).toContain("joulie-demo");
    await giveBack(never);
    expect(await names(crds)).toEqual([]);
    expect(await names(resources.namespaces)).not.toContain("joulie-demo");
  });

  it("keeps objects that existed before", async () => {
    const { client, names } = cluster(true);
    await client.create(resources.namespaces, { metadata: { name: "joulie-demo" } });
    const giveBack = await prepareCluster(client, "joulie-demo", systemClock, never);
    await giveBack(never);
    expect(await names(crds)).toHaveLength(kinds.length);
    expect(await names(resources.namespaces)).toContain("joulie-demo");
  });

  it("cleans up when it is aborted before the cluster is ready", async () => {
    const { client, names, served } = cluster(false);
    const enough = new AbortController();
    served.push(({ method, path }) => {
      if (method === "POST" && path.includes("customresourcedefinitions")) enough.abort(new Error("enough"));
    });
    await expect(prepareCluster(client, "joulie-demo", systemClock, enough.signal)).rejects.toThrow("enough");
    expect(await names(crds)).toEqual([]);
  });

  it("refuses a cluster with a managed node, and creates nothing", async () => {
    const { client, names } = cluster(false);
    await client.create(resources.nodes, { metadata: { name: "worker", labels: { "joulie.io/managed": "true" } } });
    await expect(prepareCluster(client, "joulie-demo", systemClock, never)).rejects.toThrow(/the managed Node worker/);
    expect(await names(crds)).toEqual([]);
  });

  it("refuses a cluster with a twin of a node that is not simulated", async () => {
    const { client } = cluster(true);
    await client.apply(resources.nodeTwins, { name: "worker" }, { spec: { nodeName: "worker", profile: "eco" } });
    await expect(prepareCluster(client, "joulie-demo", systemClock, never)).rejects.toThrow(/a NodeTwin worker/);
  });

  it("accepts a cluster with nodes left by an earlier demo", async () => {
    const { client } = cluster(true);
    const labels = { "joulie.io/managed": "true", "joulie.io/simulated": "true" };
    await client.create(resources.nodes, { metadata: { name: "sim-000", labels } });
    await client.apply(resources.nodeTwins, { name: "sim-000" }, { spec: { nodeName: "sim-000", profile: "eco" } });
    await expect(prepareCluster(client, "joulie-demo", systemClock, never)).resolves.toBeTypeOf("function");
  });
});
