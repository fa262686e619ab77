// Every command for a user who may list nodes and Joulie's kinds, but no pods.
import { beforeEach, describe, expect, it } from "vitest";
import type { ClusterObjects } from "../../core/report/index.ts";
import { defaultReportSettings, summarizeNodes } from "../../core/report/index.ts";
import {
  clusterOf,
  installation,
  nodeObject,
  podObject,
  REPORT_TIME,
  twinObject,
} from "../../core/report/testing/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { VirtualClock } from "../../platform/clock/testing/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import { KubeClient, resources } from "../../platform/kube/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { readCluster } from "./cluster/cluster-reader.ts";
import type { ConsoleContext } from "./context.ts";
import { nodeDetailsOf } from "./nodes/node-details.ts";
import { nodeListOf } from "./nodes/node-list.ts";
import { planOf, planText } from "./plan.ts";
import { measureSavings } from "./savings/savings.ts";
import { statusReport } from "./status.ts";
import { supportBundle } from "./support/support-bundle.ts";
import { initialTop, topFrame } from "./top/top-view.ts";
import { explainPod } from "./why.ts";

const namespace = "joulie-system";
const screen = { columns: 160, colour: false };
const known = clusterOf(
  [nodeObject("a", { status: { allocatable: { cpu: "64", "nvidia.com/gpu": "4" } } })],
  [twinObject("a")],
  {
    pods: [podObject("p", { node: "a", cpu: "3" })],
    installation: installation({ unreadable: ["pods: pods is forbidden"] }),
  },
);
const unknown: ClusterObjects = { ...known, pods: undefined };
let context: ConsoleContext;
const { signal } = new AbortController();

beforeEach(() => {
  const clock = new VirtualClock(REPORT_TIME);
  const transport = new EmbeddedApi({ clock, random: seededRandom(1), crds: [] }).transport();
  const client = new KubeClient({ transport, clock, random: seededRandom(2), fieldManager: "test" });
  context = { client, transport, clock, out: () => undefined, screen };
});

describe("pods that cannot be read", () => {
  it("CLI-10 are undefined, and the reason is in the report", async () => {
    const { client, transport, clock } = context;
    await client.create(resources.nodes, { metadata: { name: "a" } });
    const body = { kind: "Status", code: 403, reason: "Forbidden", message: "pods is forbidden" };
    const refusing = {
      close: async () => undefined,
      request: async (request: Parameters<typeof transport.request>[0]) =>
        request.path.startsWith("/api/v1/pods")
          ? {
              status: 403,
              headers: { "content-type": "application/json" },
              body: ReadableStream.from([Buffer.from(JSON.stringify(body))]),
            }
          : transport.request(request),
    };
    const read = async (through: typeof transport) =>
      readCluster({
        client: new KubeClient({ transport: through, clock, random: seededRandom(3), fieldManager: "test" }),
        clock,
        namespace,
      });
    expect((await read(transport)).pods).toEqual([]);
    const objects = await read(refusing);
    expect(objects.pods).toBeUndefined();
    expect(objects.installation?.unreadable).toEqual([expect.stringMatching(/^pods: .*pods is forbidden/)]);
  });

  it("CLI-10 status says that they are unknown, and does not count 0", () => {
    expect(statusReport(known, { screen }).text(false)).toContain("PODS      1: 0 performance, 1 standard\n");
    expect(statusReport(unknown, { screen }).text(false)).toContain(
      "PODS      unknown: they cannot be listed; see joulie doctor\n",
    );
  });

  it("CLI-11 node and top show no figure for pods and for what they request", () => {
    const list = (objects: ClusterObjects) =>
      nodeListOf(objects, { sortBy: "name", headers: false, screen }).text(false).split(/\s+/);
    expect(list(known)).toEqual(expect.arrayContaining(["1", "3/64", "0/4"]));
    expect(list(unknown)).toEqual(expect.arrayContaining(["-", "?/64", "?/4"]));
    expect(list(unknown)).not.toContain("0");
    const frame = topFrame({
      nodes: summarizeNodes(unknown, defaultReportSettings),
      history: new Map(),
      state: initialTop(),
      screen,
      rows: 10,
      error: undefined,
      notListed: ["pods"],
      pending: [],
      age: 0,
    }).join("\n");
    expect(frame).toContain("cannot list pods: see joulie doctor");
    expect(frame).toMatch(/-\s+\?\/64\s+\?\/4/);
  });

  it("CLI-11 node NAME says that they are unknown", () => {
    const history = { power: [], length: milliseconds(0), capChanges: [], why: "it is not installed" };
    const details = (objects: ClusterObjects) => nodeDetailsOf("a", objects, { events: [], history }, { screen });
    expect(details(known).text(false)).toContain("PODS (1)\nstandard    default/p\n");
    expect(details(unknown).text(false)).toContain(
      "PODS\n            unknown: they cannot be listed; see joulie doctor\n",
    );
    expect(details(unknown).value()).not.toHaveProperty("pods", expect.anything());
  });

  it("CLI-04 plan downgrades no node, as the operator would not, and says so", async () => {
    const pin = { metadata: { name: "a" }, spec: { nodeName: "a", profile: "eco" } } as const;
    const profiles = new Map([["a", pin]]);
    const plan = async (objects: ClusterObjects) => planOf(context, { ...objects, profiles }, namespace);
    expect((await plan(known)).report.changes).toMatchObject([{ change: "performance → eco", waitsFor: undefined }]);
    const blind = await plan(unknown);
    expect(blind.report.changes).toMatchObject([{ change: "performance → eco", waitsFor: "the pods to be readable" }]);
    expect(planText(blind, { screen, headers: true }).text(false)).toMatch(
      /^The pods cannot be read, so no node is downgraded; the policy asks for/,
    );
  });

  it("CLI-03 SAV-05 why and savings have no answer without them, and say why", async () => {
    const message = /^the pods of the cluster cannot be listed \(pods: pods is forbidden\), .* joulie doctor/;
    const options = { pod: "p", namespace: "default", installation: namespace };
    await expect(explainPod(context, unknown, options)).rejects.toThrow(message);
    const window = { window: milliseconds(60_000), interval: milliseconds(1000), factors: {} };
    await expect(measureSavings(context, async () => unknown, window, signal)).rejects.toThrow(message);
  });

  it("CLI-03 CLI-04 SAV-05 plan, why and savings do not invent an answer without twins", async () => {
    const refused = { unreadable: ["nodetwins: nodetwins is forbidden"] };
    const blind: ClusterObjects = {
      ...known,
      twins: new Map(),
      notListed: ["twins"],
      installation: installation(refused),
    };
    const message =
      /^the nodetwins of the cluster cannot be listed \(nodetwins: nodetwins is forbidden\), .* joulie doctor/;
    const options = { pod: "p", namespace: "default", installation: namespace };
    const window = { window: milliseconds(60_000), interval: milliseconds(1000), factors: {} };
    await expect(planOf(context, blind, namespace)).rejects.toThrow(message);
    await expect(explainPod(context, blind, options)).rejects.toThrow(message);
    await expect(measureSavings(context, async () => blind, window, signal)).rejects.toThrow(message);
    await expect(planOf(context, { ...blind, pending: ["twins"] }, namespace)).rejects.toThrow("are not read yet");
  });

  it("CLI-04 plan says that pins are unknown if they cannot be listed", async () => {
    const plan = async (objects: ClusterObjects) => (await planOf(context, objects, namespace)).source;
    expect(await plan(known)).not.toContain("Pins");
    expect(await plan({ ...known, notListed: ["profiles"] })).toMatch(
      /Pins are unknown and left out: they cannot be listed; see joulie doctor\.$/,
    );
  });

  it("CLI-08 support-bundle has no list of pods, and says so", async () => {
    const options = { namespace, version: {}, findings: [], isPlainVariable: () => false };
    const names = (await supportBundle(context, unknown, options)).files.map(({ name }) => name);
    expect(names).toContain("pods.error.txt");
    expect(names).not.toContain("pods.json");
  });
});
