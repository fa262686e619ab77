// Tests the harness and the chart's CRDs on a real control plane: the basis of the other cluster tests.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiVersion, kinds } from "../../src/core/api/index.ts";
import { eventually, watchFor } from "../../src/platform/clock/testing/index.ts";
import { Api } from "../controlplane/api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { type Crd, numbered } from "../controlplane/objects.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const twins = `/apis/${apiVersion}/nodetwins`;
const twin = (name: string, spec: object, metadata: object = {}) => ({
  apiVersion,
  kind: "NodeTwin",
  metadata: { name, ...metadata },
  spec: { nodeName: name, profile: "eco", ...spec },
});

describe("a real control plane", () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane({ scheduler: {}, controllerManager: true, audit: true });
  });
  afterAll(async () => plane.stop());

  it("reports the Kubernetes version it was built from, over the API and in kubectl", async () => {
    const { gitVersion } = await plane.api.get<{ gitVersion: string }>("/version");
    expect(gitVersion).toBe(plane.version);
    const { stdout } = await plane.kubectl(["version"]);
    expect(stdout).toContain(`Client Version: ${plane.version}`);
    expect(stdout).toContain(`Server Version: ${plane.version}`);
  });

  it("accepts every CRD of the chart without a schema warning", async () => {
    const { items } = await plane.api.get<{ items: Crd[] }>(crds);
    expect(items.map((crd) => crd.spec.names.kind).toSorted()).toEqual(kinds.map(({ kind }) => kind).toSorted());
    for (const crd of items) {
      const conditions = Object.fromEntries(crd.status?.conditions?.map(({ type, status }) => [type, status]) ?? []);
      expect({ name: crd.metadata.name, ...conditions }).toEqual({
        name: crd.metadata.name,
        NamesAccepted: "True",
        Established: "True",
      });
    }
  });

  const refused: [what: string, plural: string, object: object, why: string][] = [
    [
      "a NodeTwin of another name than its node's",
      "nodetwins",
      { ...twin("one", {}), spec: { nodeName: "two", profile: "eco" } },
      "expected metadata.name to be spec.nodeName",
    ],
    [
      "a NodeTwin with an empty cpu block",
      "nodetwins",
      twin("one", { cpu: {} }),
      "expected at least one of packagePower",
    ],
    [
      "a TelemetryProfile for one node that does not say which",
      "telemetryprofiles",
      { apiVersion, kind: "TelemetryProfile", metadata: { name: "one" }, spec: { target: { scope: "node" } } },
      "expected nodeName where scope is node",
    ],
  ];
  it.each(refused)("rejects %s", async (_, plural, object, why) => {
    await expect(plane.api.create(`/apis/${apiVersion}/${plural}`, object)).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining(why),
    });
  });

  it("rejects calls that the rules of a ServiceAccount do not allow and records the caller in the audit log", async () => {
    const reader = await plane.identity([
      { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list"] },
      { namespace: "rack-a", apiGroups: [""], resources: ["pods"], verbs: ["list"] },
    ]);
    const allowed = ["get nodes", "get pods -n rack-a"];
    const forbidden = ["get pods -n default", "get pods -A", "delete node none", "get nodetwins"];
    for (const args of allowed) {
      expect({ args, ...(await plane.kubectl(args.split(" "), { as: reader })) }).toMatchObject({ args, code: 0 });
    }
    for (const args of forbidden) {
      const answer = await plane.kubectl(args.split(" "), { as: reader });
      expect({ args, ...answer }).toMatchObject({ args, code: 1, stderr: expect.stringContaining("Forbidden") });
    }
    const asked = await eventually(async () => {
      const own = plane.audited().filter(({ user, resource }) => user === reader.user && resource !== "");
      return own.length >= allowed.length + forbidden.length ? own : undefined;
    });
    expect(asked.map(({ verb, resource, namespace, code }) => `${verb} ${resource} ${namespace} ${code}`)).toEqual([
      "list nodes  200",
      "list pods rack-a 200",
      "list pods default 403",
      "list pods  403",
      "delete nodes  403",
      "list nodetwins  403",
    ]);
  });

  it("derives the node from a token that is bound to a pod", async () => {
    await plane.createNodes(["bound"]);
    const namespace = "agents";
    await plane.createPods(["agent"], { namespace, spec: { nodeName: "bound", serviceAccountName: "agent" } });
    const agent = await plane.identity([], { namespace, name: "agent", pod: "agent" });
    const own = new Api(agent.server, agent.ca, agent.token);
    try {
      const { status } = await own.create<{
        status: { userInfo: { username: string; extra: Record<string, string[]> } };
      }>("/apis/authentication.k8s.io/v1/selfsubjectreviews", {});
      expect(status.userInfo.username).toBe(agent.user);
      expect(status.userInfo.extra["authentication.kubernetes.io/node-name"]).toEqual(["bound"]);
    } finally {
      await own.close();
    }
  });

  it("creates nodes and pods in bulk and counts the completed requests", async () => {
    const nodes = numbered("bulk", 300);
    const requests = await plane.requestsDuring(async () => {
      await plane.createNodes(nodes, (_, index) => ({ labels: { "joulie.io/rack": `r${index % 3}` } }));
      await plane.createPods(numbered("running", 50), { phase: "Running", spec: { nodeName: "bulk-00000" } });
    });
    const count = (verb: string, resource: string, subresource: string) =>
      requests
        .filter((entry) => entry.verb === verb && entry.resource === resource && entry.subresource === subresource)
        .reduce((sum, entry) => sum + entry.count, 0);
    expect(count("POST", "nodes", "")).toBe(300);
    expect(count("PATCH", "pods", "status")).toBe(50);
    const { stdout } = await plane.kubectl(["get", "nodes", "-l", "joulie.io/rack=r1", "--no-headers"]);
    expect(stdout.trimEnd().split("\n")).toHaveLength(100);
    expect(stdout.match(/ Ready /g)).toHaveLength(100);
    const running = await plane.kubectl(["get", "pods", "--field-selector", "status.phase=Running", "-o", "name"]);
    expect(running.stdout.trimEnd().split("\n")).toHaveLength(50);
  });

  it("prints a NodeTwin's columns", async () => {
    await plane.api.create(
      twins,
      twin("shown", { cpu: { packagePowerCapPctOfMax: 60 }, scheduling: { draining: true } }),
    );
    await plane.api.mergePatch(`${twins}/shown/status`, {
      status: {
        schedulableClass: "draining",
        predictedPowerHeadroomScore: 41.5,
        predictedCoolingStressScore: 62.5,
        coolingStressNow: 31.3,
        predictedPsuStressScore: 60,
        powerMeasurement: { measuredNodePowerW: 417, nodeCappedPowerW: 1200 },
      },
    });
    const { stdout } = await plane.kubectl(["get", "nodetwins", "shown"]);
    const [head = "", row = ""] = stdout.split("\n").map((line) =>
      line
        .trim()
        .split(/\s{2,}/)
        .join(" | "),
    );
    expect(head).toBe("NAME | CLASS | POWER | CAP | COOLING | PSU | AGE");
    expect(row).toMatch(/^shown \| draining \| 417 \| 1200 \| 31\.3 \| 60 \| \d+s$/);
  });

  it("kube-scheduler binds a pod to the only node that fits", async () => {
    await plane.createNodes(["gpu-node"], { capacity: { "nvidia.com/gpu": "4" } });
    await plane.createPods(["wants-gpu"], { requests: { "nvidia.com/gpu": "2" } });
    const node = await eventually(async () => {
      const pod = await plane.api.get<{ spec: { nodeName?: string } }>("/api/v1/namespaces/default/pods/wants-gpu");
      return pod.spec.nodeName;
    });
    expect(node).toBe("gpu-node");
  });

  it("garbage-collects the NodeTwin of a deleted Node, and no other", async () => {
    await plane.createNodes(["owner"]);
    const { metadata } = await plane.api.get("/api/v1/nodes/owner");
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "owner", uid: metadata.uid }];
    await plane.api.create(twins, twin("owner", {}, { ownerReferences }));
    await plane.api.create(twins, twin("orphan", {}));
    await plane.api.remove("/api/v1/nodes/owner");
    await eventually(async () =>
      plane.api.get(`${twins}/owner`).then(
        () => undefined,
        (error: { status?: number }) => error.status === 404 || undefined,
      ),
    );
    await expect(plane.api.get(`${twins}/orphan`)).resolves.toBeDefined();
  });

  it.each(["apiserver", "etcd"] as const)(
    "completes no request while %s is frozen, and completes it afterwards",
    async (name) => {
      await plane[name].freeze();
      let answered = false;
      const answer = plane.api.create("/api/v1/namespaces", { metadata: { name: `during-${name}` } }).then((made) => {
        answered = true;
        return made;
      });
      try {
        await watchFor(500);
        expect(answered).toBe(false);
      } finally {
        plane[name].thaw();
      }
      expect((await answer).metadata.name).toBe(`during-${name}`);
    },
  );

  it("keeps objects and identities across restarts", async () => {
    await plane.createNodes(["kept"]);
    const reader = await plane.identity([{ apiGroups: [""], resources: ["nodes"], verbs: ["get"] }]);
    const before = plane.apiserver.pid;
    await plane.apiserver.restart();
    expect(plane.apiserver.pid).not.toBe(before);
    await plane.apiserver.kill();
    await plane.etcd.restart();
    await plane.apiserver.start();
    const { code, stdout } = await plane.kubectl(["get", "nodes", "kept", "-o", "name"], { as: reader });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "node/kept\n" });
  });
});
