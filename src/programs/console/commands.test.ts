import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { crdOf, kinds } from "../../core/api/index.ts";
import { instant, milliseconds } from "../../core/units/index.ts";
import { VirtualClock } from "../../platform/clock/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import { type ApiResponse, KubeClient, type KubeObject, resources, type Transport } from "../../platform/kube/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { readCluster } from "./cluster-reader.ts";
import type { ConsoleContext } from "./context.ts";
import { doctorText, examineInstallation, needsAction } from "./doctor.ts";
import { eventsOf, nodeDetailsOf } from "./node-details.ts";
import { nodeListOf } from "./node-list.ts";
import { pinNode, unpinNode } from "./pin.ts";
import { planOf, planText } from "./plan.ts";
import { measureSavings, savingsCsv, savingsText } from "./savings.ts";
import { statusOf } from "./status.ts";
import { setStopped } from "./stop.ts";
import { supportBundle } from "./support-bundle.ts";
import { watchText } from "./watch.ts";
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
  const client = new KubeClient({ transport, clock, random: seededRandom(2), fieldManager: "test" });
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
    const printable = statusOf(await read(), screen);
    const text = printable.text(false);
    expect(text.split("\n")[0]).toBe("2 PROBLEMS");
    expect(text).toContain("WARNING  node b: The operator has not refreshed the twin for 10m.");
    expect(text).toContain("-> joulie doctor");
    expect(text).toContain("POWER     400 W of 800 W allowed by caps ██████████           50 %");
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
    const { installation, nodes } = await read();
    expect(nodes).toHaveLength(1);
    expect(installation?.missingKinds).toEqual(["powerendpoints.joulie.io"]);
    expect(installation?.unreadable.join()).toContain("nodehardwares");
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
    const text = nodeDetailsOf("b", objects, await eventsOf(context.client, "b"), screen).text(false);
    expect(text).toContain("cpu         applied by rapl 0s ago, reads -\n            150 W per package");
    expect(text).toContain("performance default/p");
    expect(text).toContain("WARNING     1 performance pod runs on this eco node.");
    expect(() => nodeDetailsOf("x", objects, [], screen)).toThrow("there is no node x; joulie node lists all");
  });

  it("CLI-03 why finds the pod, explains every node, and names another namespace that has it", async () => {
    await createNode("a");
    await createNode("b", { schedulableClass: "performance" });
    await createPod("p", "b", "performance");
    const objects = await read();
    const options = { pod: "p", namespace: "default", installation: namespace, service: "s" };
    const why = await explainPod(context, objects, options);
    const text = whyText(why, undefined, screen).text(true);
    expect(text).toContain("Pod default/p (performance) is on b.");
    expect(text).toContain("b ranks first of 1 nodes that take the pod.");
    expect(text).toContain("a\n  The node is capped to save energy (class eco)");
    expect(whyText(why, "a", screen).names()).toEqual(["node/a"]);
    await expect(explainPod(context, objects, { ...options, namespace: "other" })).rejects.toThrow(
      "there is no pod p in namespace other; there is one in default: joulie why default/p",
    );
  });

  it("CLI-03 why shows the extender's own record if the extender gives it", async () => {
    await createNode("b", { schedulableClass: "performance" });
    await createPod("p", "b");
    extra[`/api/v1/namespaces/${namespace}/services/s:extender/proxy/debug/decisions`] = {
      status: 200,
      value: { decisions: [{ at: "2030-01-01T00:00:00Z", verb: "prioritize", nodes: [{ node: "b", score: 77 }] }] },
    };
    const options = { pod: "p", namespace: "default", installation: namespace, service: "s" };
    const text = whyText(await explainPod(context, await read(), options), undefined, screen).text(false);
    expect(text).toContain("recorded: score 77 at 2030-01-01T00:00:00Z");
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
    await pinNode(context, { node: "a", profile: "performance", cpuCap: "80%" });
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
    const done = measureSavings({ clock }, flaky, {
      window: milliseconds(20_000),
      interval: milliseconds(5000),
      factors: { pricePerKilowattHour: 0.3 },
    });
    for (let step = 0; step < 120; step++) await clock.advanceAsync(milliseconds(250));
    const report = await done;
    expect(report.totals.used).toBeCloseTo(200 * 20, -1);
    const text = savingsText(report, screen).text(false);
    for (const part of ["Method: ", "Bias: ", "cost: ", "all nodes"]) expect(text).toContain(part);
    const csv = savingsCsv(report);
    expect(csv).toMatch(/^# Energy used is /);
    expect(csv).toMatch(/\nnode,a,4000,/);
  });

  it("CLI-13 doctor checks kinds, permissions, the extender's calls and the clock, each with a fix", async () => {
    await createNode("a");
    const proxy = `/api/v1/namespaces/${namespace}/services/s:metrics/proxy`;
    const review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    extra["/version"] = { status: 200, value: {} };
    extra[`${proxy}/readyz`] = { status: 200, value: "ok" };
    extra[`${proxy}/metrics`] = { status: 200, value: "joulie_scheduler_filter_requests_total 0\n" };
    extra[review] = { status: 201, value: { metadata: {}, status: { allowed: true } } };
    const findings = async () => examineInstallation(context, await read(), { namespace, service: "s" });
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
    expect((await severityOf("permissions"))?.what).toContain("list nodes");
    expect((await severityOf("agents"))?.what).toBe("agents of 1 nodes report");
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
    const { archive, files } = await supportBundle({ ...context, client, transport }, await read(), {
      namespace,
      version: { version: "1" },
      findings: [],
      isPlainVariable: (name) => name === "POLICY_TYPE",
    });
    const tar = gunzipSync(archive).toString("latin1");
    expect(tar).not.toContain("hunter2");
    expect(tar).toContain("POLICY_TYPE");
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
