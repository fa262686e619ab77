// The commands that the chart's Jobs run, on a real API server with exactly the roles of the chart.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { crdOf, kinds, labels, nodeTwinKind } from "../../src/core/api/index.ts";
import { stoppedBy } from "../../src/platform/kube/index.ts";
import { run } from "../../src/programs/cli/index.ts";
import { programs } from "../../src/programs/index.ts";
import { type InstalledProgram, programPermissions } from "../../src/programs/permissions.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import type { ClusterIdentity } from "../controlplane/identities.ts";
import { compareRights } from "../controlplane/rights.ts";

const names = {
  namespace: "joulie-system",
  service: "joulie-scheduler-extender",
  workloadNamespace: "default",
  lease: "joulie-operator",
  powerLease: "joulie-power",
  fleet: "joulie-fleet",
};
interface Definition {
  readonly spec: { readonly versions: readonly { readonly schema: object }[] };
}

const fleetLabels = { app: "fleet" };
const fleetDeployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: names.fleet },
  spec: {
    selector: { matchLabels: fleetLabels },
    template: { metadata: { labels: fleetLabels }, spec: { containers: [{ name: "main", image: "none" }] } },
  },
};

const joulie = "/apis/joulie.io/v1alpha1";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

describe("the chart's Jobs", () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane({ audit: true, crds: false });
  });
  afterAll(async () => plane?.stop());

  const identityOf = async (program: InstalledProgram): Promise<ClusterIdentity> =>
    plane.identity(programPermissions[program](names), { name: `joulie-${program}`, namespace: names.namespace });
  /** Runs `joulie ARGS` and returns its exit code and output. */
  const joulieAs = async ({ kubeconfig }: ClusterIdentity, ...args: readonly string[]) => {
    let text = "";
    const write = (more: string) => {
      text += more;
    };
    const machine = { isTerminal: false, exists: () => false };
    const code = await run(args, programs, { env: { KUBECONFIG: kubeconfig }, machine, out: write, err: write });
    return { code, text };
  };
  const expectMinimal = (program: InstalledProgram, { user: own }: ClusterIdentity) => {
    const requests = plane.audited().filter(({ user }) => user === own);
    expect(requests.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
    expect(compareRights(programPermissions[program](names), requests)).toEqual({ unused: [], missing: [] });
  };

  it("joulie crds apply installs missing CRDs and upgrades older ones that Helm installed", async () => {
    const identity = await identityOf("crds");
    const all = kinds.map(({ plural }) => `${plural}.joulie.io`);
    const applied = { code: 0, text: `joulie crds apply: applied ${all.join(", ")}\n` };
    expect(await joulieAs(identity, "crds", "apply")).toEqual(applied);
    // An older version, whose fields belong to Helm.
    const { spec: older } = crdOf(nodeTwinKind);
    for (const { schema } of older.versions) {
      const { status: _, ...properties } = schema.openAPIV3Schema.properties ?? {};
      schema.openAPIV3Schema = { ...schema.openAPIV3Schema, properties };
    }
    await plane.api.mergePatch(`${definitions}/nodetwins.joulie.io?fieldManager=helm`, { spec: older });
    expect(await joulieAs(identity, "crds", "apply")).toEqual(applied);
    const { spec } = await plane.api.get<Definition>(`${definitions}/nodetwins.joulie.io`);
    expect(spec.versions[0]?.schema).toEqual(crdOf(nodeTwinKind).spec.versions[0]?.schema);
    expectMinimal("crds", identity);
  });

  it("joulie check names a missing ServiceAccount's rights, the extender and the nodes, in one line", async () => {
    const identity = await identityOf("check");
    // As the chart's Job: finding the namespace would need rights beyond it.
    const namespace = ["--namespace", names.namespace];
    for (const program of ["agent", "operator"] as const) await identityOf(program);
    await plane.createNodes(["n1"], { labels: { [labels.managed]: "true" } });
    const { code, text } = await joulieAs(identity, "check", ...namespace, "--timeout", "0s");
    expect(text.split("\n")).toHaveLength(2);
    expect({ code, text }).toEqual({
      code: 1,
      text:
        "joulie check: missing: joulie-extender may not list nodes, joulie-extender may not watch nodes, " +
        "joulie-extender may not list joulie.io/nodetwins and 7 more permissions; " +
        "extender: the Service joulie-scheduler-extender in namespace joulie-system answers with status 404; " +
        "the operator has published no twin in the last 5m of n1; no agent has reported in the last 5m from n1\n",
    });
    await identityOf("extender");
    const again = await joulieAs(identity, "check", ...namespace, "--timeout", "0s", "--report-only");
    expect(again.code).toBe(0);
    expect(again.text).toMatch(/^joulie check: missing: extender: /);
    expectMinimal("check", identity);
  });

  it.each(["uninstall", "uninstall-fleet"] as const)("joulie %s removes what Joulie wrote", async (program) => {
    const identity = await identityOf(program);
    const deployment = `/apis/apps/v1/namespaces/${names.namespace}/deployments`;
    const fleet = program === "uninstall" ? [] : ["--fleet", names.fleet];
    if (fleet.length > 0) await plane.api.create(deployment, fleetDeployment);
    const header = (kind: string) => ({ apiVersion: "joulie.io/v1alpha1", kind, metadata: { name: "n1" } });
    const spec = { nodeName: "n1", profile: "eco" };
    await plane.api.create(`${joulie}/nodetwins`, { ...header("NodeTwin"), spec });
    await plane.api.create(`${joulie}/nodehardwares`, { ...header("NodeHardware"), spec: { nodeName: "n1" } });
    const metadata = { name: "n1", labels: { [labels.managedBy]: "operator" } };
    await plane.api.create(`${joulie}/nodepowerprofiles`, { ...header("NodePowerProfile"), metadata, spec });
    const report = { result: "none", message: stoppedBy(names.namespace) };
    await plane.api.mergePatch(`${joulie}/nodetwins/n1/status`, { status: { controlStatus: { cpu: report } } });
    await plane.api.mergePatch("/api/v1/nodes/n1", { metadata: { labels: { [labels.powerProfile]: "eco" } } });
    const shared = {
      leases: `/apis/coordination.k8s.io/v1/namespaces/${names.namespace}/leases`,
      configmaps: `/api/v1/namespaces/${names.namespace}/configmaps`,
    };
    for (const name of [names.lease, names.powerLease, "another"])
      await plane.api.create(shared.leases, {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name },
      });
    const arrivals = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "joulie-arrivals" } };
    await plane.api.create(shared.configmaps, arrivals);
    const stop = async () => {
      const path = `/api/v1/namespaces/${names.namespace}`;
      const { metadata: found } = await plane.api.get<{ metadata: { annotations?: object } }>(path);
      return Object.keys(found.annotations ?? {});
    };
    expect(await joulieAs(identity, "uninstall", "--timeout", "5s", ...fleet)).toEqual({ code: 0, text: "" });
    expect(await stop()).toEqual(["joulie.io/stop"]);
    expect((await plane.api.get<{ items: unknown[] }>(deployment)).items).toEqual([]);
    for (const kind of ["nodetwins", "nodehardwares", "nodepowerprofiles"])
      expect((await plane.api.get<{ items: unknown[] }>(`${joulie}/${kind}`)).items).toEqual([]);
    const node = await plane.api.get<{ metadata: { labels: object } }>("/api/v1/nodes/n1");
    expect(node.metadata.labels).not.toHaveProperty([labels.powerProfile]);
    const cleared = await joulieAs(identity, "uninstall", "--timeout", "5s", "--clear-stop", "app=none");
    expect(cleared).toEqual({ code: 0, text: "" });
    expect(await stop()).toEqual([]);
    const left = async (path: string) =>
      (await plane.api.get<{ items: { metadata: { name: string } }[] }>(path)).items.map((one) => one.metadata.name);
    expect(await left(shared.leases)).toEqual(["another"]);
    expect(await left(shared.configmaps)).not.toContain("joulie-arrivals");
    await plane.api.remove(`${shared.leases}/another`);
    expectMinimal(program, identity);
  });
});
