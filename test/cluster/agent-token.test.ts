// What someone who steals an agent's token from one node can do: read, and lie about that one node.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parseAllDocuments } from "yaml";
import { agentPermissions } from "../../src/programs/agent/permissions.ts";
import { Api, ApiFailure } from "../controlplane/api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { helmOf } from "../controlplane/helm.ts";

const namespace = "joulie-system";
const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
const joulie = "/apis/joulie.io/v1alpha1";

interface ResourceList {
  readonly resources: readonly { readonly name: string; readonly namespaced: boolean }[];
}

let plane: ControlPlane;
let agent: Api;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "joulie-token-"));
  const helm = await helmOf(folder);
  plane = await startControlPlane();
  await plane.kubectl(["create", "namespace", namespace]);
  const chart = join(import.meta.dirname, "../../charts/joulie");
  const rendered = parseAllDocuments(await helm("template", "joulie", chart, "--namespace", namespace))
    .map((document) => document.toJS() as { kind: string } | null)
    .filter((object) => /Role|ServiceAccount|Admission/.test(object?.kind ?? ""));
  const input = rendered.map((object) => JSON.stringify(object)).join("\n---\n");
  const applied = await plane.kubectl(["apply", "-f", "-"], { input });
  if (applied.code !== 0) throw new Error(applied.stderr);
  await plane.createNodes(["n1", "n2"]);
  await plane.createPods(["agent-n1"], { namespace, spec: { nodeName: "n1", serviceAccountName: "joulie-agent" } });
  agent = new Api(plane.server, plane.admin.ca, await token({ kind: "Pod", name: "agent-n1" }));
  for (const name of ["n1", "n2"]) {
    await plane.api.create(`${joulie}/nodetwins`, twin(name));
    await plane.api.mergePatch(`${joulie}/nodetwins/${name}/status`, { status: { schedulableClass: "eco" } });
    await plane.api.create(`${joulie}/telemetryprofiles`, profile(name, { scope: "node", nodeName: name }));
  }
  await plane.api.create(`${joulie}/nodehardwares`, { ...meta("NodeHardware", "n2"), spec: { nodeName: "n2" } });
  await plane.api.create(`${joulie}/telemetryprofiles`, profile("all", { scope: "cluster" }));
  // The API server compiles a new policy a moment after it is written.
  await vi.waitUntil(async () => (await status(reportOn("n2"))) === 403, { timeout: 30_000, interval: 100 });
});
afterAll(async () => {
  await agent?.close();
  await plane?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function token(boundObjectRef: object | undefined): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/joulie-agent/token`;
  const answer = await plane.api.create<{ status: { token: string } }>(path, { spec: { boundObjectRef } });
  return answer.status.token;
}

const meta = (kind: string, name: string) => ({ apiVersion: "joulie.io/v1alpha1", kind, metadata: { name } });
const twin = (name: string) => ({ ...meta("NodeTwin", name), spec: { nodeName: name, profile: "eco" } });
const profile = (name: string, target: object) => ({ ...meta("TelemetryProfile", name), spec: { target } });

const controlStatus = { cpu: { result: "applied" } };
const reportOn = (name: string) => async () =>
  agent.mergePatch(`${joulie}/nodetwins/${name}/status`, { status: { controlStatus } });

/** 0 for success. */
async function status(call: () => Promise<unknown>): Promise<number> {
  try {
    await call();
    return 0;
  } catch (error) {
    if (error instanceof ApiFailure) return error.status;
    throw error;
  }
}

describe("an agent's token", () => {
  it("allows no verb on any resource beyond the agent's permissions", async () => {
    const groups = await plane.api.get<{ groups: { name: string; preferredVersion: { groupVersion: string } }[] }>(
      "/apis",
    );
    const lists = [
      { group: "", path: "/api/v1" },
      ...groups.groups.map(({ name, preferredVersion }) => ({
        group: name,
        path: `/apis/${preferredVersion.groupVersion}`,
      })),
    ];
    const allowed: string[] = [];
    for (const { group, path } of lists) {
      const { resources } = await plane.api.get<ResourceList>(path);
      const questions = resources.flatMap(({ name, namespaced }) =>
        verbs.flatMap((verb) =>
          (namespaced ? ["default", "kube-system", namespace] : [undefined]).map((where) => ({ verb, name, where })),
        ),
      );
      await Promise.all(
        questions.map(async ({ verb, name, where }) => {
          const [resource, subresource] = name.split("/");
          const resourceAttributes = { group, resource, subresource, verb, namespace: where };
          const review = await agent.create<{ status: { allowed: boolean } }>(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            { spec: { resourceAttributes } },
          );
          if (review.status.allowed)
            allowed.push(`${verb} ${group}/${name}${where === undefined ? "" : ` in ${where}`}`);
        }),
      );
    }
    // The review names no object, so the rule for the agent's own namespace does not apply.
    const rules = agentPermissions("daemonset").filter(({ resourceNames }) => resourceNames === undefined);
    const own = rules.flatMap((rule) =>
      rule.apiGroups.flatMap((group) =>
        rule.resources.flatMap((name) =>
          rule.verbs.map(
            (verb) => `${verb} ${group}/${name}${rule.namespace === undefined ? "" : ` in ${rule.namespace}`}`,
          ),
        ),
      ),
    );
    // Kubernetes lets every authenticated user ask about itself.
    const self = allowed.filter((line) => /selfsubject/.test(line));
    expect(allowed.filter((line) => !self.includes(line)).toSorted()).toEqual(own.toSorted());
  }, 300_000);

  it.each<[string, number, () => Promise<unknown>]>([
    ["report on its own node's caps", 0, reportOn("n1")],
    ["report on another node's caps", 403, reportOn("n2")],
    [
      "change what the operator published for its own node",
      403,
      async () => agent.mergePatch(`${joulie}/nodetwins/n1/status`, { status: { schedulableClass: "performance" } }),
    ],
    [
      "remove what the operator published for its own node",
      403,
      async () => agent.mergePatch(`${joulie}/nodetwins/n1/status`, { status: { schedulableClass: null } }),
    ],
    [
      "change its own node's target",
      403,
      async () => agent.mergePatch(`${joulie}/nodetwins/n1`, { spec: { profile: "performance" } }),
    ],
    [
      "create its own node's hardware",
      0,
      async () => agent.create(`${joulie}/nodehardwares`, { ...meta("NodeHardware", "n1"), spec: { nodeName: "n1" } }),
    ],
    [
      "create another node's hardware",
      403,
      async () => agent.create(`${joulie}/nodehardwares`, { ...meta("NodeHardware", "n3"), spec: { nodeName: "n3" } }),
    ],
    [
      "change another node's hardware",
      403,
      async () => agent.mergePatch(`${joulie}/nodehardwares/n2/status`, { status: { cpu: { vendor: "intel" } } }),
    ],
    [
      "report on its own telemetry profile",
      0,
      async () => agent.mergePatch(`${joulie}/telemetryprofiles/n1/status`, { status: { control: controlStatus } }),
    ],
    [
      "report on another node's telemetry profile",
      403,
      async () => agent.mergePatch(`${joulie}/telemetryprofiles/n2/status`, { status: { control: controlStatus } }),
    ],
    [
      "report on the cluster's telemetry profile",
      403,
      async () => agent.mergePatch(`${joulie}/telemetryprofiles/all/status`, { status: { control: controlStatus } }),
    ],
    ["label its own node", 403, async () => agent.mergePatch("/api/v1/nodes/n1", { metadata: { labels: { a: "b" } } })],
    ["read Secrets", 403, async () => agent.get("/api/v1/secrets")],
    ["delete its own node's twin", 403, async () => agent.remove(`${joulie}/nodetwins/n1`)],
  ])("to %s gets %d", async (_, expected, call) => {
    expect(await status(call)).toBe(expected);
  });

  it("that is bound to no pod may write nothing", async () => {
    const unbound = new Api(plane.server, plane.admin.ca, await token(undefined));
    const path = `${joulie}/nodetwins/n1/status`;
    expect(await status(async () => unbound.mergePatch(path, { status: { controlStatus } }))).toBe(403);
    await unbound.close();
  });
});
