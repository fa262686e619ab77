// The dashboard of the chart in a pod on a real node: who may read it, what it reads itself, and what survives a restart.
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { readEnergyAccountAnswer } from "../../src/core/report/index.ts";
import type { NodeAnswer, Snapshot } from "../../src/programs/dashboard/wire.ts";
import { Installation, namespace, type Pod } from "./installation.ts";
import type { RealNode } from "./node.ts";

const PORT = 8090;

interface Answer {
  readonly status: number;
  readonly body: string;
}

describe("the dashboard in a pod", () => {
  let joulie: Installation;
  let node: RealNode;

  const thePod = async (program: string): Promise<Pod> => {
    const [pod] = await joulie.pods(program);
    if (pod === undefined) throw new Error(`there is no pod of the ${program}`);
    return pod;
  };
  /** A request from inside a pod; the image has no curl. */
  const requestFrom = async (program: string, url: string, token?: string): Promise<Answer> => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const script = `fetch(${JSON.stringify(url)}, { headers: ${JSON.stringify(headers)}, signal: AbortSignal.timeout(9000) })
      .then(async (answer) => console.log(JSON.stringify({ status: answer.status, body: await answer.text() })))`;
    const { metadata } = await thePod(program);
    const exec = ["exec", "--namespace", namespace, metadata.name, "--", "/usr/local/bin/node", "-e", script];
    return JSON.parse((await node.kubectl(exec)).stdout) as Answer;
  };
  /** As `kubectl port-forward` arrives: from loopback. */
  const local = async <Value>(path: string): Promise<Value> => {
    const { status, body } = await requestFrom("dashboard", `http://127.0.0.1:${PORT}${path}`);
    if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
    return JSON.parse(body) as Value;
  };
  const fromOtherPod = async (path: string, token?: string): Promise<Answer> =>
    requestFrom("extender", `http://${(await thePod("dashboard")).status.podIP}:${PORT}${path}`, token);
  const tokenOf = async (user: string, ...more: string[]): Promise<string> =>
    (await node.kubectl(["create", "token", user, "--namespace", "default", ...more])).stdout.trim();
  const serviceAccount = async (name: string) =>
    node.api.create("/api/v1/namespaces/default/serviceaccounts", {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name },
    });

  beforeAll(async () => {
    joulie = await Installation.prepare(inject("image"));
    ({ node } = joulie);
    await joulie.label("true");
    await joulie.install({ dashboard: { enabled: true } });
    await joulie.runs("agent", "dashboard", "extender", "extender", "operator", "operator");
  }, 600_000);
  afterAll(async () => node?.stop());

  it("DSH-04 answers on loopback without a login, with the page, all kinds and that Joulie only observes", async () => {
    const page = await requestFrom("dashboard", `http://127.0.0.1:${PORT}/`);
    expect(page.body).toContain('<div id="app">');
    await node.until("the node is shown, and that agents observe only", async () => {
      const { names, syncing, problems } = await local<Snapshot>("/api/snapshot");
      expect([names, syncing]).toEqual([[node.name], []]);
      expect(problems[0]?.title).toContain("observes only");
      return true;
    });
  });

  it("DSH-04 asks other pods for a token: of a reader, also one that is for Joulie alone, and of no one else", async () => {
    for (const name of ["reader", "stranger"]) await serviceAccount(name);
    await node.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "reader" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "joulie-dashboard-reader" },
      subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "default" }],
    });
    expect((await fromOtherPod("/")).status).toBe(200);
    expect((await fromOtherPod("/api/snapshot")).status).toBe(401);
    expect((await fromOtherPod("/api/snapshot", await tokenOf("stranger"))).status).toBe(403);
    await node.until("a reader is answered", async () => {
      expect((await fromOtherPod("/api/snapshot", await tokenOf("reader"))).status).toBe(200);
      return true;
    });
    const own = await tokenOf("reader", "--audience", "joulie.io");
    expect((await fromOtherPod("/api/snapshot", own)).status).toBe(200);
    // The API server does not accept this one.
    expect((await node.kubectl(["get", "nodes", `--token=${own}`])).stdout).not.toContain(node.name);
    const other = await tokenOf("reader", "--audience", "another-service");
    expect((await fromOtherPod("/api/snapshot", other)).status).toBe(401);
  });

  it("DSH-08 reads the plan of the leading operator and the extender's placements with its own token", async () => {
    // This cluster has no DNS, and of several addresses in a hosts file only the first counts: that of the leader.
    const lease = await node.api.get<{ spec: { holderIdentity: string } }>(
      `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/joulie-operator`,
    );
    const isLeader = ({ metadata }: Pod) => lease.spec.holderIdentity.startsWith(metadata.name);
    const aliases = ["operator", "extender"].map(async (program) => {
      const pods = await joulie.pods(program);
      const ip = (pods.find(isLeader) ?? pods[0])?.status.podIP;
      return { ip, hostnames: [`joulie-${program}-replicas.${namespace}.svc`] };
    });
    const patch = JSON.stringify({ spec: { template: { spec: { hostAliases: await Promise.all(aliases) } } } });
    await node.kubectl(["patch", "deployment/joulie-dashboard", "--namespace", namespace, "--patch", patch]);
    await node.kubectl(["rollout", "status", "deployment/joulie-dashboard", "--namespace", namespace, "--timeout=90s"]);
    await joulie.runs("agent", "dashboard", "extender", "extender", "operator", "operator");
    const warnings = async () => {
      const { stdout } = await node.kubectl(["logs", "--namespace", namespace, "deployment/joulie-dashboard"]);
      return stdout.split("\n").filter((line) => line.includes('"level":"warn"'));
    };
    await node.until("the reason is the plan's", async () => {
      const { reason } = await local<NodeAnswer>(`/api/node/${node.name}`);
      // In the words of the plan: the dashboard itself would name the cap.
      if (!reason.includes("asks for no performance node"))
        throw new Error(`it is: ${reason}\n${(await warnings()).join("\n")}`);
      return true;
    });
    expect((await warnings()).filter((line) => line.includes("decisions"))).toEqual([]);
    type Slices = { items: { endpoints?: { addresses: string[] }[] }[] };
    for (const program of ["operator", "extender"]) {
      const of = `kubernetes.io/service-name=joulie-${program}-replicas`;
      const { items } = await node.api.get<Slices>(
        `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=${encodeURIComponent(of)}`,
      );
      expect(items.flatMap(({ endpoints = [] }) => endpoints)).toHaveLength(2);
    }
  });

  it("DSH-06 continues its energy account after the container was restarted", async () => {
    const account = async () => readEnergyAccountAnswer(await local("/api/energy-account"))?.totals;
    await node.until("some energy was counted", async () => ((await account())?.used ?? 0) > 0);
    const before = await account();
    const [status] = (await thePod("dashboard")).status.containerStatuses ?? [];
    process.kill(await node.processOf(status?.containerID ?? ""), "SIGTERM");
    await node.until("the container runs again", async () => {
      const [again] = (await thePod("dashboard")).status.containerStatuses ?? [];
      expect(again?.restartCount).toBe((status?.restartCount ?? 0) + 1);
      return (await account()) !== undefined;
    });
    const after = await account();
    expect(after?.from).toBe(before?.from);
    expect(after?.used).toBeGreaterThanOrEqual(Math.floor(before?.used ?? Infinity));
  });
});
