import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { crdOf, kinds } from "../../core/api/index.ts";
import { after, instant, milliseconds } from "../../core/units/index.ts";
import { clockWithCalendar } from "../../platform/clock/index.ts";
import { VirtualClock } from "../../platform/clock/testing/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import {
  ApiError,
  type ApiResponse,
  clockSkewOf,
  KubeClient,
  type KubeObject,
  resources,
  ServerTime,
  type Transport,
} from "../../platform/kube/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { readCluster } from "./cluster/cluster-reader.ts";
import { setStopped } from "./cluster/installation.ts";
import { advised, type ConsoleContext, usageError } from "./context.ts";
import { doctorText, examineInstallation, needsAction } from "./doctor/doctor.ts";
import { eventsOf, nodeDetailsOf } from "./nodes/node-details.ts";
import { nodeListOf } from "./nodes/node-list.ts";
import { pinNode, unpinNode } from "./nodes/pin.ts";
import { watchText } from "./output/watch.ts";
import { planOf, planText } from "./plan.ts";
import { measureSavings, savingsCsv, savingsText } from "./savings/savings.ts";
import { statusReport } from "./status.ts";
import { supportBundle } from "./support/support-bundle.ts";
import { explainPod, whyText } from "./why.ts";

const NOW = Date.UTC(2030, 0, 1, 12);
const namespace = "joulie-system";
const screen = { columns: 80, colour: false };

let clock: VirtualClock;
let api: EmbeddedApi;
let context: ConsoleContext;
/** Answers of the API server that the embedded one does not have. */
let extra: Record<string, { readonly status: number; readonly value: unknown }>;

beforeEach(async () => {
  clock = new VirtualClock(instant(NOW));
  api = new EmbeddedApi({ clock, random: seededRandom(1), crds: kinds.map(crdOf) });
  extra = {};
  const inner = api.transport();
  const transport: Transport = {
    close: async () => inner.close(),
    request: async (request) => {
      const known = extra[request.path.replace(/\?.*/, "")];
      return known === undefined ? inner.request(request) : answer(known.status, known.value);
    },
  };
  const limit = { perSecond: 1e6, burst: 1e6, queue: 1e6 };
  const client = new KubeClient({ transport, clock, random: seededRandom(2), fieldManager: "test", limit });
  context = { client, transport, clock, out: () => undefined, screen };
  await client.create(resources.namespaces, { metadata: { name: namespace } });
});
afterEach(async () => api.close());

const answer = (status: number, value: unknown): ApiResponse => ({
  status,
  headers: { "content-type": "application/json", date: new Date(NOW).toUTCString() },
  body: (async function* () {
    yield Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
  })(),
});

async function createNode(name: string, status: object = {}, labels: Record<string, string> = {}): Promise<void> {
  const { client } = context;
  await client.create(resources.nodes, {
    metadata: { name, labels: { "joulie.io/managed": "true", "joulie.io/rack": "r1", ...labels } },
    status: { allocatable: { cpu: "64", memory: "256Gi", pods: "110" } },
  });
  await client.create(resources.nodeTwins, {
    metadata: { name },
    spec: {
      nodeName: name,
      profile: "eco",
      cpu: { packagePowerCapPctOfMax: 60 },
      policy: { name: "static_partition" },
    },
  });
  const published = {
    schedulableClass: "eco",
    predictedPowerHeadroomScore: 70,
    predictedCoolingStressScore: 20,
    powerMeasurement: { source: "agent", measuredNodePowerW: 200, nodeCappedPowerW: 400, nodeTdpW: 600 },
    controlStatus: {
      cpu: { backend: "rapl", result: "applied", message: "150 W per package", updatedAt: new Date(NOW).toISOString() },
    },
    lastUpdated: new Date(NOW).toISOString(),
    ...status,
  };
  await client.mergePatch(resources.nodeTwins, { name }, { status: published }, { subresource: "status" });
}

const createPod = async (name: string, nodeName?: string, workloadClass = "standard") =>
  context.client.create(
    resources.pods,
    {
      metadata: { name, annotations: { "joulie.io/workload-class": workloadClass } },
      spec: {
        ...(nodeName !== undefined && { nodeName }),
        containers: [{ name: "main", image: "x", resources: { requests: { cpu: "2", memory: "1Gi" } } }],
      },
    },
    { namespace: "default" },
  );

const read = async () => readCluster({ client: context.client, clock, namespace });

describe("commands on the embedded API", () => {
  it("CLI-10 status shows problems first, each with a command, then power, nodes and pods", async () => {
    await createNode("a");
    await createNode("b", { lastUpdated: new Date(NOW - 600_000).toISOString() });
    await createPod("p", "a");
    const printable = statusReport(await read(), { screen });
    const text = printable.text(false);
    expect(text.split("\n")[0]).toBe("2 PROBLEMS");
    expect(text).toContain("WARNING  node b: The operator has not refreshed the twin for 10m.");
    expect(text).toContain("-> joulie doctor");
    // b has no reading.
    expect(text).toContain("POWER     200 W of 400 W allowed by caps ██████████           50 %");
    expect(text).toContain("LIMIT     800 W, 67 % of 1200 W uncapped\nREADINGS  1 of 2 nodes, 1 of them measured");
    expect(text).toContain("NODES     2 managed: 0 performance, 2 eco");
    expect(text).toContain("PODS      1: 0 performance, 1 standard");
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    expect(printable.names()).toContain("problem/twin-stale");
  });

  it("CLI-10 a kind that is missing or forbidden is a finding, and the rest is still shown", async () => {
    await createNode("a");
    extra["/apis/joulie.io/v1alpha1/powerendpoints"] = {
      status: 404,
      value: { kind: "Status", code: 404, reason: "NotFound" },
    };
    extra["/apis/joulie.io/v1alpha1/nodehardwares"] = {
      status: 403,
      value: { kind: "Status", code: 403, reason: "Forbidden", message: "no" },
    };
    const { installation, nodes, notListed } = await read();
    expect(nodes).toHaveLength(1);
    expect(notListed).toEqual(expect.arrayContaining(["endpoints", "hardware"]));
    expect(installation?.missingKinds).toEqual(["powerendpoints.joulie.io"]);
    expect(installation?.unreadable.join()).toContain("nodehardwares");
  });

  it("CLI-10 twins and Leases that may not be read are not reported as absent", async () => {
    await createNode("a");
    const forbidden = { status: 403, value: { kind: "Status", code: 403, reason: "Forbidden", message: "no" } };
    extra["/apis/joulie.io/v1alpha1/nodetwins"] = forbidden;
    extra[`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/joulie-operator`] = forbidden;
    const labels = { "app.kubernetes.io/name": "joulie", "app.kubernetes.io/component": "operator" };
    const operator = { metadata: { name: "joulie-operator", labels }, spec: {}, status: { readyReplicas: 1 } };
    extra[`/apis/apps/v1/namespaces/${namespace}/deployments`] = {
      status: 200,
      value: { kind: "List", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: [operator] },
    };
    const objects = await read();
    expect(statusReport(objects, { screen }).names()).toEqual(["problem/unreadable", "problem/unreadable"]);
    const history = { power: [], length: milliseconds(0), capChanges: [], why: "it is not installed" };
    const text = nodeDetailsOf("a", objects, { events: [], history }, { screen }).text(false);
    expect(text).toContain("the twins are unknown: they cannot be listed; see joulie doctor");
    expect(text).not.toMatch(/has not published|reported/);
    const options = { namespace, service: "s", version: "0.1.0" };
    const checks = (await examineInstallation(context, objects, options)).map(({ check }) => check);
    for (const check of ["agents", "twins", "mounts", "agent-silent", "twin-missing"])
      expect(checks).not.toContain(check);
  });

  it("CLI-11 node lists nodes, sorted and filtered, and shows one with receipts, pods and history", async () => {
    await createNode("a", { powerMeasurement: { source: "agent", measuredNodePowerW: 100, nodeCappedPowerW: 400 } });
    await createNode("b");
    await createPod("p", "b", "performance");
    const list = (sortBy: string, filter = "") =>
      nodeListOf(objects, { sortBy, headers: false, screen, filter }).names();
    const objects = await read();
    expect(list("power")).toEqual(["node/b", "node/a"]);
    expect(list("name", "class:perf")).toEqual([]);
    expect(() => list("colour")).toThrow(/--sort-by colour: use name, class/);
    const change = { at: instant(NOW - 600_000), from: 600, to: 400, drawn: 350 };
    const history = {
      power: [350, undefined, 200],
      length: milliseconds(3_600_000),
      capChanges: [change],
      why: undefined,
    };
    const events = [{ at: new Date(NOW - 60_000).toISOString(), reason: "ProfileEco", note: "eco" }];
    const text = nodeDetailsOf("b", objects, { events, history }, { screen }).text(false);
    expect(text.slice(text.indexOf("HISTORY"))).toBe(
      "HISTORY\npower       █ ▁ 200 W to 350 W in 60m\n60s ago     ProfileEco: eco\n10m ago     cap 600 W → 400 W, drew 350 W\n",
    );
    const unknown = { ...history, power: [], capChanges: [], why: "it is not installed" };
    const past = { events: await eventsOf(context.client, "b"), history: unknown };
    expect(nodeDetailsOf("b", objects, past, { screen }).text(false)).toContain(
      "power       caps and power over time are unknown: it is not installed\n            no Events of Joulie",
    );
    extra["/apis/events.k8s.io/v1/namespaces/default/events"] = { status: 403, value: { kind: "Status" } };
    const unlisted = { events: await eventsOf(context.client, "b"), history };
    expect(nodeDetailsOf("b", objects, unlisted, { screen }).text(false)).toContain("Events are unknown");
    expect(text).toContain("cpu         applied by rapl 0s ago, reads -\n            150 W per package");
    expect(text).toContain("performance default/p");
    expect(text).toContain("WARNING     1 performance pod runs on this eco node.");
    expect(() => nodeDetailsOf("x", objects, past, { screen })).toThrow("there is no node x; joulie node lists all");
  });

  it("CLI-03 why finds the pod, explains every node, and names another namespace that has it", async () => {
    await createNode("a");
    await createNode("b", { schedulableClass: "performance" });
    await createPod("p", "b", "performance");
    const objects = await read();
    const options = { pod: "p", namespace: "default", installation: namespace };
    const why = await explainPod(context, objects, options);
    const text = whyText(why, undefined, screen).text(true);
    expect(text).toContain("Pod default/p (performance) is on b.");
    expect(text).toContain("b is the only node that takes the pod.");
    expect(text).toContain("a\n  The node is capped to save energy (class eco)");
    expect(whyText(why, "a", screen).names()).toEqual(["node/a"]);
    await expect(explainPod(context, objects, { ...options, namespace: "other" })).rejects.toThrow(
      "there is no pod p in namespace other; there is one in default: joulie why default/p",
    );
  });

  it("CLI-04 plan shows what changes next and what it waits for, by the operator's own planning", async () => {
    await createNode("a", { schedulableClass: "performance" });
    await context.client.mergePatch(
      resources.nodeTwins,
      { name: "a" },
      { spec: { profile: "performance", cpu: null } },
    );
    await createNode("b");
    await context.client.create(resources.nodePowerProfiles, {
      metadata: { name: "a" },
      spec: { nodeName: "a", profile: "eco" },
    });
    await createPod("p", "a", "performance");
    const plan = await planOf(context, await read(), namespace);
    expect(plan.report.changes).toMatchObject([
      {
        node: "a",
        kind: "drain",
        change: "performance → draining",
        waitsFor: "1 performance pod to end; nothing is evicted",
      },
      { node: "b", kind: "promote", change: "eco → performance" },
    ]);
    const text = planText(plan, { screen, headers: true }).text(false);
    expect(text).toContain("Computed now from the API with default settings");
    expect(text.replaceAll("\n", " ")).toContain(
      "The operator was not asked: no pod of the operator is ready in joulie-system.",
    );
  });

  it("CLI-05 pin writes a NodePowerProfile with caps and an end, replaces an earlier one whole, and unpin removes it", async () => {
    await createNode("a");
    const pinned = async () =>
      context.client.get<KubeObject & { spec: object }>(resources.nodePowerProfiles, { name: "a" });
    await pinNode(context, {
      node: "a",
      profile: "eco",
      cpuCap: "210W",
      gpuCap: "60%",
      duration: milliseconds(7_200_000),
    });
    expect(await pinned()).toMatchObject({
      metadata: { annotations: { "joulie.io/pin-until": "2030-01-01T14:00:00.000Z" } },
      spec: { profile: "eco", cpu: { packagePowerCapWatts: 210 }, gpu: { powerCap: { capPctOfMax: 60 } } },
    });
    const pinning = await pinNode(context, { node: "a", profile: "performance", cpuCap: "80%" });
    expect(pinning).toBe("nodepowerprofile/a pinned to performance until joulie unpin a\n");
    const again = await pinned();
    expect(again.spec).toEqual({ nodeName: "a", profile: "performance", cpu: { packagePowerCapPctOfMax: 80 } });
    expect(again.metadata.annotations?.["joulie.io/pin-until"]).toBeUndefined();
    expect(await unpinNode(context, "a")).toContain("unpinned");
    await expect(unpinNode(context, "a")).rejects.toThrow("node a is not pinned");
    await expect(pinNode(context, { node: "x", profile: "eco" })).rejects.toThrow("there is no node x");
    for (const cpuCap of ["banana", "0W", "101%", "-5W", "60"])
      await expect(pinNode(context, { node: "a", profile: "eco", cpuCap })).rejects.toThrow(/is not a cap/);
  });

  it("CLI-12 stop sets the annotation on the namespace, and resume removes it", async () => {
    const annotation = async () =>
      (await context.client.get(resources.namespaces, { name: namespace })).metadata.annotations?.["joulie.io/stop"];
    await setStopped(context, namespace, true);
    expect(await annotation()).toBe("true");
    expect((await read()).installation?.stopped).toBe(true);
    await setStopped(context, namespace, false);
    expect(await annotation()).toBeUndefined();
    await expect(setStopped(context, "other", true)).rejects.toThrow("there is no namespace other");
  });

  it("SAV-05 savings watches for the window, survives a failed reading, and prints text, JSON and CSV", async () => {
    await createNode("a");
    let calls = 0;
    const flaky = async () => {
      if (++calls === 2) throw new Error("gone");
      return read();
    };
    const done = measureSavings(
      { clock },
      flaky,
      {
        window: milliseconds(20_000),
        interval: milliseconds(5000),
        factors: { pricePerKilowattHour: 0.3 },
      },
      new AbortController().signal,
    );
    for (let step = 0; step < 120; step++) await clock.advanceAsync(milliseconds(250));
    const savings = await done;
    const { used, modelled = 0 } = savings.report.totals;
    expect(used - modelled).toBeCloseTo(200 * 20, -1);
    expect(modelled).toBeGreaterThan(0);
    const text = savingsText(savings, screen).text(false);
    for (const part of ["Method: ", "Bias: ", "cost: ", "all nodes", "Source: 4 readings"])
      expect(text).toContain(part);
    const csv = savingsCsv(savings);
    expect(csv).not.toContain("#");
    expect(csv).toMatch(/\nnode,a,[^,]+,[^,]+,0.00\d+,/);
  });

  it("SAV-05 savings ends at once at a missing right and at Ctrl-C, also while the API hangs", async () => {
    const asked = { window: milliseconds(60_000), interval: milliseconds(5000), factors: {} };
    const refused = async () => Promise.reject(new ApiError("forbidden", "nodes is forbidden"));
    await expect(measureSavings({ clock }, refused, asked, new AbortController().signal)).rejects.toThrow("forbidden");
    const quit = new AbortController();
    const done = measureSavings({ clock }, async () => new Promise(() => undefined), asked, quit.signal);
    quit.abort();
    await expect(done).rejects.toThrow("it was interrupted before the first reading");
  });

  it("CLI-11 node NAME asks for the Events of this node only", async () => {
    const asked: string[] = [];
    const transport: Transport = {
      ...context.transport,
      request: async (request) => {
        asked.push(decodeURIComponent(request.path));
        return context.transport.request(request);
      },
    };
    const client = new KubeClient({ transport, clock, random: seededRandom(3), fieldManager: "test" });
    const event = (name: string, node: string, kind = "Node") => ({
      metadata: { name: `${name}-${kind.toLowerCase()}` },
      regarding: { kind, name: node },
      reason: name,
      note: "",
      reportingController: "joulie.io/operator",
      eventTime: new Date(NOW).toISOString(),
    });
    for (const about of [event("of-a", "a"), event("of-b", "b")])
      await client.create(resources.events, about, { namespace: "default" });
    asked.length = 0;
    expect((await eventsOf(client, "a"))?.map(({ reason }) => reason)).toEqual(["of-a"]);
    // The power program writes an Event on the node and on its PowerEndpoint, and some on the latter alone.
    for (const about of [event("of-a", "a", "PowerEndpoint"), event("alone", "a", "PowerEndpoint")])
      await client.create(resources.events, about, { namespace: "default" });
    asked.length = 0;
    expect((await eventsOf(client, "a"))?.map(({ reason }) => reason).toSorted()).toEqual(["alone", "of-a"]);
    expect(asked).toEqual([expect.stringContaining("fieldSelector=regarding.name=a")]);
  });

  it("CLI-13 doctor checks kinds, permissions, the extender's calls and the clock, each with a fix", async () => {
    await createNode("a");
    const proxy = `/api/v1/namespaces/${namespace}/services/s:metrics/proxy`;
    const review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    extra["/version"] = { status: 200, value: {} };
    extra[`${proxy}/readyz`] = { status: 200, value: "ok" };
    extra[`${proxy}/metrics`] = { status: 200, value: "joulie_scheduler_filter_requests_total 0\n" };
    extra[review] = { status: 201, value: { metadata: {}, status: { allowed: true } } };
    const findings = async () =>
      examineInstallation(context, await read(), { namespace, service: "s", version: "0.1.0" });
    const severityOf = async (check: string) => (await findings()).find((finding) => finding.check === check);
    expect(await severityOf("crds")).toMatchObject({ severity: undefined });
    expect(await severityOf("permissions")).toMatchObject({ severity: undefined });
    expect(await severityOf("clock")).toMatchObject({ severity: undefined });
    expect(await severityOf("extender")).toMatchObject({
      severity: "warning",
      what: "It is ready, but kube-scheduler has never asked it since it started.",
      fix: "joulie scheduler-config prints what kube-scheduler's configuration needs",
    });
    extra[`${proxy}/metrics`] = {
      status: 200,
      value:
        'joulie_scheduler_filter_requests_total{workload_class="standard"} 7\njoulie_scheduler_prioritize_requests_total{workload_class="standard"} 5\n',
    };
    expect((await severityOf("extender"))?.what).toContain("asked it 12 times");
    extra[`${proxy}/readyz`] = { status: 503, value: "" };
    extra[review] = { status: 201, value: { metadata: {}, status: { allowed: false } } };
    expect(await severityOf("extender")).toMatchObject({ severity: "warning" });
    expect((await findings()).filter(({ check }) => check === "permissions")).toMatchObject([
      {
        severity: "warning",
        what: "You may not get/list/watch nodes, list/watch pods, list/watch nodetwins, list/watch nodehardwares, get/list/watch nodepowerprofiles, list/watch powerendpoints, get namespaces, get leases in joulie-system, list leases in kube-node-lease, list deployments in joulie-system, list daemonsets in joulie-system, list statefulsets in joulie-system, list events in default, create pods/portforward in joulie-system, get pods/log in joulie-system, get pods/proxy in joulie-system, get services/proxy in joulie-system.",
      },
      {
        severity: "notice",
        what: "You may not create/patch/delete nodepowerprofiles, patch namespaces, which joulie pin, unpin, stop and resume need.",
      },
    ]);
    expect((await severityOf("agents"))?.what).toBe("agents of 1 node report");
    await createNode("b", { power: { state: "off" }, controlStatus: {} });
    expect((await severityOf("agents"))?.what).toBe("agents of 1 of 2 nodes report");
    await clock.advanceAsync(milliseconds(90_000));
    expect((await severityOf("clock"))?.what).toMatch(/is \d+ s behind this machine's/);
    const all = await findings();
    expect(needsAction(all)).toBe(true);
    for (const { severity, fix } of all) expect(fix === undefined).toBe(severity === undefined);
    expect(doctorText(all, screen).text(false)).toContain("fix: ");
  });

  it("CLI-08 support-bundle is a .tar.gz that contains no secret, and reads no Secret", async () => {
    await createNode("a", { controlStatus: { cpu: { result: "error", message: "POST http://u:hunter2@bmc failed" } } });
    const asked: string[] = [];
    const transport: Transport = {
      ...context.transport,
      request: async (request) => {
        asked.push(request.path);
        return context.transport.request(request);
      },
    };
    const client = new KubeClient({ transport, clock, random: seededRandom(3), fieldManager: "test" });
    extra[`/apis/apps/v1/namespaces/${namespace}/deployments`] = {
      status: 200,
      value: {
        kind: "DeploymentList",
        apiVersion: "apps/v1",
        metadata: { resourceVersion: "1" },
        items: [
          {
            metadata: { name: "joulie-operator" },
            spec: {
              template: {
                spec: {
                  containers: [
                    {
                      env: [
                        { name: "DB_PASSWORD", value: "hunter2" },
                        { name: "POLICY_TYPE", value: "x" },
                      ],
                    },
                  ],
                },
              },
            },
          },
        ],
      },
    };
    extra[`/apis/apps/v1/namespaces/${namespace}/statefulsets`] = {
      status: 200,
      value: {
        kind: "StatefulSetList",
        apiVersion: "apps/v1",
        metadata: { resourceVersion: "1" },
        items: [{ metadata: { name: "joulie-agent-pool" } }],
      },
    };
    const { archive, files } = await supportBundle({ ...context, client, transport }, await read(), {
      namespace,
      version: { version: "1" },
      findings: [],
      isPlainVariable: (name) => name === "POLICY_TYPE",
    });
    const tar = gunzipSync(archive).toString("latin1");
    expect(tar).not.toContain("hunter2");
    expect(tar).toContain("POLICY_TYPE");
    for (const kind of ["deployments.json", "daemonsets.error.txt", "statefulsets.json"]) expect(tar).toContain(kind);
    expect(tar).toContain("joulie-agent-pool");
    expect(tar.slice(257, 262)).toBe("ustar");
    expect(files.map(({ name }) => name)).toContain("problems.json");
    expect(asked.filter((path) => path.includes("/secrets"))).toEqual([]);
  });

  it("CLI-14 watch prints again only when something changed, and survives API errors", async () => {
    const printed: string[] = [];
    const texts = ["one\n", "one\n", new Error("refused"), new Error("refused"), "two\n"];
    let at = 0;
    const ending = new AbortController();
    const done = watchText(
      { clock, out: (text) => printed.push(text) },
      async () => {
        const next = texts[Math.min(at++, texts.length - 1)];
        if (next instanceof Error) throw next;
        return next ?? "";
      },
      ending.signal,
    );
    for (let step = 0; step < 100; step++) await clock.advanceAsync(milliseconds(500));
    ending.abort();
    for (let step = 0; step < 5; step++) await clock.advanceAsync(milliseconds(500));
    await done;
    expect(printed).toEqual(["one\n", "# refused; trying again\n", "# the API answers again\n", "\ntwo\n"]);
  });
});

describe("what --watch prints", () => {
  const printedOf = async (texts: readonly string[], rowsOnly: boolean): Promise<readonly string[]> => {
    const printed: string[] = [];
    const ending = new AbortController();
    let at = 0;
    const text = async () => texts[Math.min(at++, texts.length - 1)] ?? "";
    const done = watchText({ clock, out: (more) => printed.push(more) }, text, ending.signal, { rowsOnly });
    for (let step = 0; step < 40; step++) await clock.advanceAsync(milliseconds(500));
    ending.abort();
    await done;
    return printed;
  };

  it("CLI-14 is nothing while only ages differ", async () => {
    const table = (age: string) => `NAME  UPDATED\na     ${age.padStart(7)}\n`;
    expect(await printedOf([table("9s"), table("10s"), table("2m")], false)).toEqual([table("9s")]);
    const json = (age: number) => `{ "name": "a", "twinAge": ${age}, "receipts": [{ "age": ${age} }] }\n`;
    expect(await printedOf([json(5), json(2005)], false)).toEqual([json(5)]);
    expect(await printedOf(["200 W 5s\n", "210 W 7s\n"], false)).toEqual(["200 W 5s\n", "\n210 W 7s\n"]);
  });

  it("CLI-14 of a list is the rows that changed", async () => {
    const table = (b: string) =>
      `NAME  POWER  UPDATED\na     1 W        ${b === "2 W" ? "1s" : "3s"}\nb     ${b}        1s\n`;
    expect(await printedOf([table("2 W"), table("3 W")], true)).toEqual([table("2 W"), "b     3 W        1s\n"]);
  });

  it.each([usageError("--sort-by typo"), new ApiError("badRequest", "unable to parse requirement")])(
    "CLI-14 ends at a wrong command line: %s",
    async (error) => {
      const text = async () => {
        throw error;
      };
      const { signal } = new AbortController();
      await expect(watchText({ clock, out: () => undefined }, text, signal)).rejects.toThrow(error.message);
    },
  );

  it("CLI-14 ends at Ctrl-C while the API hangs", async () => {
    const ending = new AbortController();
    const done = watchText({ clock, out: () => undefined }, async () => new Promise(() => undefined), ending.signal);
    ending.abort();
    await expect(done).resolves.toBeUndefined();
  });
});

describe("what the doctor examines besides", () => {
  it("CLI-13 asks about the installation's namespace by name, and a console that only shows needs no action", async () => {
    const asked: Record<string, string>[] = [];
    const inner = context.transport;
    const transport: Transport = {
      ...inner,
      request: async (request) => {
        if (!request.path.includes("/selfsubjectaccessreviews")) return inner.request(request);
        const { spec } = JSON.parse(request.body ?? "{}") as { spec: { resourceAttributes: Record<string, string> } };
        asked.push(spec.resourceAttributes);
        const isChange = /create|patch|delete/.test(spec.resourceAttributes["verb"] ?? "");
        const allowed = !isChange || spec.resourceAttributes["subresource"] === "portforward";
        return answer(201, { metadata: {}, status: { allowed } });
      },
    };
    const limit = { perSecond: 1e6, burst: 1e6, queue: 1e6 };
    context = {
      ...context,
      transport,
      client: new KubeClient({ transport, clock, random: seededRandom(2), fieldManager: "test", limit }),
    };
    expect(await find("permissions")).toMatchObject({ severity: "notice" });
    expect(asked.filter(({ resource }) => resource === "namespaces")).toEqual([
      { verb: "get", group: "", resource: "namespaces", name: namespace },
      { verb: "patch", group: "", resource: "namespaces", name: namespace },
    ]);
    expect(asked.filter(({ verb }) => verb === "watch")).toHaveLength(6);
  });

  it("CLI-13 does not say that twins are in order while Joulie is stopped and refreshes none", async () => {
    await createNode("a", { lastUpdated: new Date(NOW - 600_000).toISOString(), controlStatus: {} });
    await createNode("b");
    await setStopped(context, namespace, true);
    expect([await find("twins"), await find("agents")]).toEqual([undefined, undefined]);
  });

  it("CLI-10 CLI-13 advises commands for the cluster that the user named", async () => {
    await createNode("a", { power: { state: "failed" } });
    context = { ...context, target: { context: "prod eu", kubeconfig: "/k" } };
    const command = "joulie wake a --context 'prod eu' --kubeconfig /k";
    expect(statusReport(await read(), context).text(false)).toContain(`-> ${command}\n`);
    expect(await find("wake-failed")).toMatchObject({ fix: command });
    expect(advised("helm upgrade joulie", { context: "prod" })).toBe("helm upgrade joulie --kube-context prod");
    expect(advised("chronyc tracking", { context: "prod" })).toBe("chronyc tracking");
    expect(advised("joulie doctor")).toBe("joulie doctor");
  });

  const workload = (component: string, env: Readonly<Record<string, string>> = {}) => ({
    metadata: {
      name: `joulie-${component}`,
      labels: { "app.kubernetes.io/name": "joulie", "app.kubernetes.io/component": component },
    },
    spec: {
      template: {
        spec: {
          serviceAccountName: `sa-${component}`,
          containers: [{ image: "x:0.2.0", env: Object.entries(env).map(([name, value]) => ({ name, value })) }],
        },
      },
    },
    status: { readyReplicas: 1 },
  });
  const list = { kind: "List", apiVersion: "v1", metadata: { resourceVersion: "1" } };
  const installedAs = (plural: string, ...items: object[]) => {
    extra[`/apis/apps/v1/namespaces/${namespace}/${plural}`] = { status: 200, value: { ...list, items } };
  };
  const installed = (...items: object[]) => installedAs("deployments", ...items);
  const find = async (check: string) =>
    (await examineInstallation(context, await read(), { namespace, service: "s", version: "0.1.0" })).find(
      (finding) => finding.check === check,
    );

  it("CLI-13 asks what each program's ServiceAccount may do, with the rights that its settings need", async () => {
    installed(workload("operator", { PRESET: "energy-sleep" }), workload("extender", { SCORING: "energy" }));
    // One for each kind of node.
    const agent = workload("agent", { AGENT_MODE: "daemonset" });
    installedAs("daemonsets", agent, agent);
    const pool = workload("agent", { AGENT_MODE: "pool" });
    pool.spec.template.spec.serviceAccountName = "sa-pool";
    installedAs("statefulsets", pool);
    const asked: { user: string; resourceAttributes: { verb: string; resource: string } }[] = [];
    let isAllowed = true;
    const inner = context.transport;
    const transport: Transport = {
      ...inner,
      request: async (request) => {
        if (!request.path.includes("/subjectaccessreviews")) return inner.request(request);
        asked.push((JSON.parse(request.body ?? "{}") as { spec: (typeof asked)[number] }).spec);
        return answer(201, { metadata: {}, status: { allowed: isAllowed || asked.length > 2 } });
      },
    };
    const limit = { perSecond: 1e6, burst: 1e6, queue: 1e6 };
    const client = new KubeClient({ transport, clock, random: seededRandom(2), fieldManager: "test", limit });
    context = { ...context, client, transport };
    expect(await find("program-permissions")).toEqual({
      check: "program-permissions",
      severity: undefined,
      what: "sa-operator, sa-extender, sa-agent, sa-pool may do what they need",
      fix: undefined,
    });
    const questions = asked.map(({ user, resourceAttributes: { verb, resource } }) => `${user} ${verb} ${resource}`);
    // Only with sleep, and only with energy.
    expect(questions).toContain(`system:serviceaccount:${namespace}:sa-operator list powerendpoints`);
    expect(questions).toContain(`system:serviceaccount:${namespace}:sa-extender list pods`);
    // One agent reads the hardware of its node, a pool watches that of all its nodes.
    expect(questions).toContain(`system:serviceaccount:${namespace}:sa-agent get nodehardwares`);
    expect(questions).not.toContain(`system:serviceaccount:${namespace}:sa-agent watch nodehardwares`);
    expect(questions).toContain(`system:serviceaccount:${namespace}:sa-pool watch nodehardwares`);
    isAllowed = false;
    asked.length = 0;
    expect(await find("program-permissions")).toMatchObject({
      severity: "critical",
      what: expect.stringMatching(/^ServiceAccounts lack rights: sa-operator may not list namespaces, /) as string,
      fix: expect.stringContaining("helm upgrade") as string,
    });
  });

  const createExtender = async (name: string, calls: number, { ready = true, startedAgo = 3_600_000 } = {}) => {
    const labels = { "app.kubernetes.io/name": "joulie", "app.kubernetes.io/component": "extender" };
    const spec = { containers: [{ name: "c", image: "x" }] };
    await context.client.create(resources.pods, { metadata: { name, labels }, spec }, { namespace });
    const status = {
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      containerStatuses: [{ state: { running: { startedAt: new Date(NOW - startedAgo).toISOString() } } }],
    };
    await context.client.mergePatch(resources.pods, { name, namespace }, { status }, { subresource: "status" });
    metricsOf(name, 200, `joulie_scheduler_filter_requests_total ${calls}\n`);
  };
  const metricsOf = (name: string, status: number, value: unknown) => {
    extra[`/api/v1/namespaces/${namespace}/pods/${name}:9877/proxy/metrics`] = { status, value };
  };
  const extenderIsReady = () => {
    extra[`/api/v1/namespaces/${namespace}/services/s:metrics/proxy/readyz`] = { status: 200, value: "ok" };
  };

  it("CLI-13 counts the calls of all extender replicas, because kube-scheduler may ask only one", async () => {
    extenderIsReady();
    await createExtender("ext-1", 0);
    await createExtender("ext-2", 9);
    expect((await find("extender"))?.what).toContain("kube-scheduler has asked it 9 times");
  });

  it("CLI-13 says that kube-scheduler never asks the extender only if every ready replica showed its metrics", async () => {
    extenderIsReady();
    await createExtender("ext-1", 0);
    await createExtender("ext-2", 0);
    await createExtender("ext-3", 0, { ready: false });
    metricsOf("ext-3", 503, "not running");
    expect(await find("extender")).toMatchObject({
      severity: "warning",
      what: expect.stringContaining("has never asked it") as string,
    });
    metricsOf("ext-2", 503, "joulie_scheduler_filter_requests_total 0\n");
    expect(await find("extender")).toMatchObject({
      severity: "notice",
      what: "It is ready, but it is unknown whether kube-scheduler asks it: 1 of 2 replicas did not show their metrics.",
    });
  });

  it("CLI-13 does not take an error page of the extender's Service as 0 calls", async () => {
    extenderIsReady();
    const page = `/api/v1/namespaces/${namespace}/services/s:metrics/proxy/metrics`;
    extra[page] = { status: 503, value: "no endpoints available" };
    expect(await find("extender")).toMatchObject({ severity: "notice" });
    extra[page] = { status: 200, value: "joulie_scheduler_filter_requests_total 0\n" };
    expect(await find("extender")).toMatchObject({ severity: "warning" });
  });

  it("CLI-13 gives kube-scheduler ten minutes to ask an extender that has just started", async () => {
    extenderIsReady();
    await createExtender("ext-1", 0, { startedAgo: 300_000 });
    expect(await find("extender")).toMatchObject({
      severity: "notice",
      what: expect.stringContaining("it started less than 10 minutes ago") as string,
    });
    await clock.advanceAsync(milliseconds(300_000));
    expect(await find("extender")).toMatchObject({ severity: "warning" });
  });

  it("CLI-13 finds nodes whose clock differs from the API server's, and a console of another version", async () => {
    const lease = async (name: string, late: number) => {
      const status = { conditions: [{ type: "Ready", status: "True" }] };
      await context.client.create(resources.nodes, { metadata: { name }, status });
      const spec = { renewTime: new Date(NOW - late).toISOString() };
      await context.client.create(resources.leases, { metadata: { name }, spec }, { namespace: "kube-node-lease" });
    };
    await lease("fine", 9000);
    expect((await find("node-clocks"))?.what).toBe("the clocks of 1 node agree with the API server's");
    await lease("early", -120_000);
    await lease("late", 200_000);
    expect(await find("node-clocks")).toMatchObject({
      severity: "warning",
      what: expect.stringContaining("of 2 nodes differ from the API server's, for example early 120 s ahead") as string,
    });
    installed(workload("operator"));
    expect((await find("console-version"))?.what).toContain("This console is version 0.1.0, the programs are 0.2.0");
  });

  it("CLI-13 asks the extender of a demo at its address", async () => {
    const { createServer } = await import("node:http");
    const server = createServer((_, response) => response.end(JSON.stringify({ decisions: [{}, {}] })));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    context = { ...context, urls: { extender: `http://127.0.0.1:${port}` } };
    expect((await find("extender"))?.what).toContain("answers, and a scheduler has asked it at least 2 times");
    await new Promise((resolve) => server.close(resolve));
    expect(await find("extender")).toMatchObject({ severity: "warning" });
  });
});

describe("the API server's time", () => {
  it("CLI-20 ends a pin by the API server's clock, and says so if this machine's differs", async () => {
    await createNode("a");
    const skew = milliseconds(600_000);
    const duration = milliseconds(7_200_000);
    const ahead = { ...context, clock: clockWithCalendar(clock, { now: () => after(clock.now(), skew) }), skew };
    const said = await pinNode(ahead, { node: "a", profile: "eco", duration });
    expect(said).toContain(
      "until 2030-01-01T14:10:00.000Z by the API server's clock, which is 10m ahead of this machine's;",
    );
    expect(await clockSkewOf(context.transport, clock)).toBeUndefined();
    extra["/version"] = { status: 200, value: {} };
    clock.advance(milliseconds(90_000));
    expect(await clockSkewOf(context.transport, clock)).toBe(-89_500);
  });

  it("X-161 follows the time of an API server whose time passes faster, and keeps it while that does not answer", async () => {
    const time = new ServerTime(context.transport, clock);
    expect([time.skew, time.clock.now()]).toEqual([undefined, clock.now()]);
    extra["/version"] = { status: 200, value: {} };
    const { clock: serverClock } = time;
    for (const behind of [30_000, 90_000]) {
      clock.advance(milliseconds(behind));
      await time.measure();
    }
    expect(serverClock.now() - clock.now()).toBe(-119_500);
    delete extra["/version"];
    await time.measure();
    expect(time.skew).toBe(-119_500);
  });
});
