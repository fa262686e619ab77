// What someone who steals an agent's token from one node can do: read, and lie about that one node.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { agentPermissions } from "../../src/programs/agent/permissions.ts";
import { Api, ApiFailure } from "../controlplane/api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { helmOf } from "../controlplane/helm.ts";

const namespace = "joulie-system";
const joulie = "/apis/joulie.io/v1alpha1";
const events = "/apis/events.k8s.io/v1/namespaces/default/events";
const tokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";

/** How each verb of RBAC is asked for. Nothing is changed for good, also if the server allowed it. */
const verbs = {
  get: { method: "GET", named: true },
  list: { method: "GET", named: false },
  watch: { method: "GET", named: false, query: "watch=true&timeoutSeconds=1" },
  create: { method: "POST", named: false },
  update: { method: "PUT", named: true },
  patch: { method: "PATCH", named: true },
  delete: { method: "DELETE", named: true },
  deletecollection: { method: "DELETE", named: false },
} as const;

interface ResourceList {
  readonly resources: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
}

interface Question {
  readonly verb: keyof typeof verbs;
  readonly groupVersion: string;
  /** With the subresource. */
  readonly resource: string;
  readonly kind: string;
  readonly namespace: string | undefined;
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
  const rendered = parseAllDocuments(
    await helm("template", "joulie", chart, "--namespace", namespace, "--set", "image.repository=joulie"),
  )
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
    const published = { schedulableClass: "eco", lastUpdated: new Date().toISOString() };
    await plane.api.mergePatch(`${joulie}/nodetwins/${name}/status`, { status: published });
    await plane.api.create(`${joulie}/telemetryprofiles`, profile(name, { scope: "node", nodeName: name }));
  }
  for (const name of ["n1", "n2"]) await plane.api.create(events, event(name, name));
  await plane.api.create(`${joulie}/nodehardwares`, { ...meta("NodeHardware", "n2"), spec: { nodeName: "n2" } });
  await plane.api.create(`${joulie}/telemetryprofiles`, profile("all", { scope: "cluster" }));
  // The API server compiles a new policy a moment after it is written.
  await eventually(async () => (await status(reportOn("n2"))) === 403);
});
afterAll(async () => {
  await agent?.close();
  await plane?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const dry = (path: string) => `${path}${path.includes("?") ? "&" : "?"}dryRun=All`;

/** With the token of an agent's pod on this node. */
async function agentOn(node: string, pod = `agent-${node}`): Promise<Api> {
  await plane.createPods([pod], { namespace, spec: { nodeName: node, serviceAccountName: "joulie-agent" } });
  return new Api(plane.server, plane.admin.ca, await token({ kind: "Pod", name: pod }));
}

async function token(boundObjectRef: object | undefined): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/joulie-agent/token`;
  const answer = await plane.api.create<{ status: { token: string } }>(path, { spec: { boundObjectRef } });
  return answer.status.token;
}

const meta = (kind: string, name: string) => ({ apiVersion: "joulie.io/v1alpha1", kind, metadata: { name } });
const twin = (name: string) => ({ ...meta("NodeTwin", name), spec: { nodeName: name, profile: "eco" } });
const profile = (name: string, target: object) => ({ ...meta("TelemetryProfile", name), spec: { target } });

const seen = (count: number) => ({ count, lastObservedTime: "2030-01-01T00:00:00.000000Z" });

const controlStatus = { cpu: { result: "applied" } };
const reportOn = (name: string) => async () =>
  agent.mergePatch(`${joulie}/nodetwins/${name}/status`, { status: { controlStatus } });
const refresh = (name: string) => async () =>
  agent.mergePatch(`${joulie}/nodetwins/${name}/status`, {
    status: { controlStatus, lastUpdated: new Date().toISOString() },
  });

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

/** Every verb × resource × namespace that the API server knows. */
async function everyQuestion(): Promise<Question[]> {
  const { groups } = await plane.api.get<{ groups: { preferredVersion: { groupVersion: string } }[] }>("/apis");
  const groupVersions = ["v1", ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)];
  const lists = await Promise.all(
    groupVersions.map(async (groupVersion) => ({
      groupVersion,
      ...(await plane.api.get<ResourceList>(groupVersion === "v1" ? "/api/v1" : `/apis/${groupVersion}`)),
    })),
  );
  return lists.flatMap(({ groupVersion, resources }) =>
    resources.flatMap(({ name: resource, kind, namespaced }) =>
      (namespaced ? ["default", "kube-system", namespace] : [undefined]).flatMap((where) =>
        (Object.keys(verbs) as Question["verb"][]).map((verb) => ({
          verb,
          groupVersion,
          resource,
          kind,
          namespace: where,
        })),
      ),
    ),
  );
}

/** The server's answer to the agent, for an object called `name`: 403 if RBAC or the policy refuses. */
async function answerTo({ verb, groupVersion, resource, kind, namespace: where }: Question, name: string) {
  const {
    method,
    named,
    query,
  }: { method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"; named: boolean; query?: string } = verbs[verb];
  const [plural, subresource] = resource.split("/");
  const base = groupVersion === "v1" ? "/api/v1" : `/apis/${groupVersion}`;
  const place = where === undefined ? "" : `/namespaces/${where}`;
  // A subresource belongs to an object, whatever is done to it.
  const at = named || subresource !== undefined ? `/${name}` : "";
  const path = `${base}${place}/${plural}${at}${subresource === undefined ? "" : `/${subresource}`}`;
  const body = method === "POST" || method === "PUT" ? { ...about(plural, name), apiVersion: groupVersion, kind } : {};
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const hasBody = method !== "GET" && method !== "DELETE";
  return agent.status(method, `${path}?${query ?? "dryRun=All"}`, hasBody ? body : undefined, type);
}

/** A valid object about the node, where the agent may create some. */
function about(plural: string | undefined, name: string): object {
  if (plural === "events") return event(`new-${name}`, name);
  return { metadata: { name: plural === "nodehardwares" ? `${name}-new` : name }, spec: { nodeName: `${name}-new` } };
}

const event = (name: string, node: string) => ({
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name, namespace: "default" },
  eventTime: "2030-01-01T00:00:00.000000Z",
  action: "CapCpu",
  reason: "ControlFailed",
  type: "Warning",
  reportingController: "joulie.io/agent",
  reportingInstance: "agent-n1",
  regarding: { apiVersion: "v1", kind: "Node", name: node },
});

describe("an agent's token", () => {
  it("is refused every verb on every resource except reads and reviews, if the object is not about its node", async () => {
    const questions = await everyQuestion();
    expect(questions.length).toBeGreaterThan(1000);
    const allowed: string[] = [];
    await Promise.all(
      questions.map(async (question) => {
        if ((await answerTo(question, "n2")) === 403) return;
        const { verb, groupVersion, resource, namespace: where } = question;
        const group = groupVersion.includes("/") ? groupVersion.replace(/\/.*/, "") : "";
        allowed.push(`${verb} ${group}/${resource}${where === undefined ? "" : ` in ${where}`}`);
      }),
    );
    const isRead = (verb: string) => ["get", "list", "watch"].includes(verb);
    const granted = agentPermissions("daemonset")
      // The rule for the agent's own namespace names one object, and the questions are about another.
      .filter(({ resourceNames }) => resourceNames === undefined)
      .flatMap(({ apiGroups: [group = ""], resources: [resource = ""], verbs: own }) =>
        own.map((verb) => ({ verb, group, resource })),
      )
      .filter(({ verb, resource }) => isRead(verb) || /^(tokenreviews|subjectaccessreviews)$/.test(resource))
      .map(({ verb, group, resource }) => `${verb} ${group}/${resource}`);
    // Kubernetes lets every authenticated user ask about itself.
    const about = allowed.filter((line) => !/ \S*\/selfsubject/.test(line));
    expect(about.toSorted()).toEqual(granted.toSorted());
  }, 300_000);

  it.each(["/metrics", "/logs", "/debug/pprof/", "/configz"])("may not read %s of the API server", async (path) => {
    expect(await agent.status("GET", path)).toBe(403);
  });

  it.each<[string, number, () => Promise<unknown>]>([
    ["report on its own node's caps", 0, reportOn("n1")],
    ["report on another node's caps", 403, reportOn("n2")],
    ["refresh its own node's twin", 0, refresh("n1")],
    ["refresh another node's twin", 403, refresh("n2")],
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
    ["report an Event about its own node", 0, async () => agent.create(events, event("mine", "n1"))],
    ["report an Event about another node", 403, async () => agent.create(events, event("other", "n2"))],
    [
      "report an Event about a pod",
      403,
      async () => {
        const regarding = { apiVersion: "v1", kind: "Pod", namespace: "default", name: "n1" };
        return agent.create(events, { ...event("pod", "n1"), regarding });
      },
    ],
    ["count another node's Event", 403, async () => agent.mergePatch(`${events}/n2`, { series: seen(2) })],
    [
      // Kubernetes itself rejects a change of an Event's subject.
      "make another node's Event its own",
      422,
      async () => agent.mergePatch(`${events}/n2`, { regarding: { kind: "Node", name: "n1" } }),
    ],
    ["count its own node's Event", 0, async () => agent.mergePatch(`${events}/n1`, { series: seen(2) })],
    ["review a token, for its debug page", 0, async () => agent.create(tokenReviews, { spec: { token: "x" } })],
    ["label its own node", 403, async () => agent.mergePatch("/api/v1/nodes/n1", { metadata: { labels: { a: "b" } } })],
    ["read Secrets", 403, async () => agent.get("/api/v1/secrets")],
    ["delete its own node's twin", 403, async () => agent.remove(`${joulie}/nodetwins/n1`)],
  ])("to %s gets %d", async (_, expected, call) => {
    expect(await status(call)).toBe(expected);
  });

  it("of each of two nodes may write what is about its own node, and nothing about the other, by any kind of write", async () => {
    const second = await agentOn("n2");
    const apply = "application/apply-patch+yaml";
    const writes = (node: string): readonly [Parameters<Api["status"]>[0], string, object, string][] => [
      ["PATCH", `${joulie}/nodetwins/${node}/status`, { status: { controlStatus } }, "application/merge-patch+json"],
      [
        "PATCH",
        `${joulie}/nodetwins/${node}/status`,
        [{ op: "add", path: "/status/controlStatus", value: controlStatus }] as never,
        "application/json-patch+json",
      ],
      [
        "PATCH",
        `${joulie}/nodetwins/${node}/status?fieldManager=joulie-agent&force=true`,
        { ...meta("NodeTwin", node), status: { controlStatus } },
        apply,
      ],
      [
        "PATCH",
        `${joulie}/nodehardwares/${node}?fieldManager=joulie-agent&force=true`,
        { ...meta("NodeHardware", node), spec: { nodeName: node } },
        apply,
      ],
      [
        "PATCH",
        `${joulie}/telemetryprofiles/${node}/status?fieldManager=joulie-agent&force=true`,
        { ...meta("TelemetryProfile", node), status: { control: controlStatus } },
        apply,
      ],
      ["POST", events, event(`two-${node}`, node), "application/json"],
    ];
    try {
      const answers = async (api: Api, node: string) =>
        Promise.all(writes(node).map(async ([method, path, body, type]) => api.status(method, dry(path), body, type)));
      const isDone = (code: number) => code < 300;
      for (const [own, other, api] of [
        ["n1", "n2", agent],
        ["n2", "n1", second],
      ] as const) {
        expect((await answers(api, own)).map(isDone)).toEqual(writes(own).map(() => true));
        expect(await answers(api, other)).toEqual(writes(other).map(() => 403));
      }
    } finally {
      await second.close();
    }
  });

  it("cannot smuggle another node into an object of its own name", async () => {
    const smuggled = { ...meta("NodeHardware", "n1"), spec: { nodeName: "n2" } };
    const path = `${joulie}/nodehardwares/n1?fieldManager=joulie-agent&force=true`;
    expect(await agent.status("PATCH", dry(path), smuggled, "application/apply-patch+yaml")).toBe(422);
    const target = { status: { control: controlStatus }, spec: { target: { scope: "node", nodeName: "n1" } } };
    expect(await status(async () => agent.mergePatch(`${joulie}/telemetryprofiles/n2/status`, target))).toBe(403);
  });

  it("ends with its pod", async () => {
    const ended = await agentOn("n2", "agent-n2-ended");
    expect(await ended.status("GET", `${joulie}/nodetwins?limit=1`)).toBe(200);
    await plane.api.remove(`/api/v1/namespaces/${namespace}/pods/agent-n2-ended?gracePeriodSeconds=0`);
    // The API server remembers a checked token for a few seconds.
    await eventually(async () => (await ended.status("GET", `${joulie}/nodetwins?limit=1`)) === 401);
    await ended.close();
  });

  it("that is bound to no pod may write nothing", async () => {
    const unbound = new Api(plane.server, plane.admin.ca, await token(undefined));
    const path = `${joulie}/nodetwins/n1/status`;
    expect(await status(async () => unbound.mergePatch(path, { status: { controlStatus } }))).toBe(403);
    await unbound.close();
  });
});
