import { afterEach, beforeEach, expect, it } from "vitest";
import { crdOf, kinds } from "../../../core/api/index.ts";
import { defaultReportSettings, summarizeNodes } from "../../../core/report/index.ts";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { type Clock, systemClock } from "../../../platform/clock/index.ts";
import { eventually, eventuallyPasses, simulatedDelay, VirtualClock } from "../../../platform/clock/testing/index.ts";
import { EmbeddedApi } from "../../../platform/embedded/index.ts";
import { type ApiResponse, KubeClient, resources, type Transport } from "../../../platform/kube/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { WatchedCluster } from "./watched-cluster.ts";

const refusal = (message: string): ApiResponse => ({
  status: 403,
  headers: { "content-type": "application/json" },
  body: ReadableStream.from([Buffer.from(JSON.stringify({ kind: "Status", reason: "Forbidden", message }))]),
});

/** The body of a watch that the server ends at the signal. */
async function* until(signal: AbortSignal, body: ApiResponse["body"]): ApiResponse["body"] {
  const chunks = body[Symbol.asyncIterator]();
  const ended = new Promise<{ done: true; value: undefined }>((resolve) =>
    signal.addEventListener("abort", () => resolve({ done: true, value: undefined })),
  );
  for (;;) {
    const { done, value } = await Promise.race([chunks.next(), ended]);
    if (done) return;
    yield value;
  }
}

let api: EmbeddedApi;
let user: KubeClient;
let lists: string[];
let requests: string[];
let isDown: boolean;
let forbidden: string | undefined;
/** Answers about these kinds come late. */
let late: RegExp | undefined;
/** Requests about this kind are never answered. */
let held: string | undefined;
let watching: AbortController;
const endWatches = () => watching.abort();
let client: KubeClient;
let watchedOn: (clock: Clock) => WatchedCluster;
let cluster: WatchedCluster;

beforeEach(async () => {
  lists = [];
  requests = [];
  isDown = false;
  forbidden = undefined;
  late = undefined;
  held = undefined;
  watching = new AbortController();
  // One kind is not installed.
  const installed = kinds.filter(({ plural }) => plural !== "powerendpoints");
  api = new EmbeddedApi({ clock: systemClock, random: seededRandom(1), crds: installed.map(crdOf) });
  const inner = api.transport();
  const tapped: Transport = {
    close: async () => inner.close(),
    request: async (request) => {
      requests.push(request.path);
      if (isDown) throw new Error("connection refused");
      if (held !== undefined && request.path.includes(held)) await new Promise(() => undefined);
      if (late?.test(request.path)) await simulatedDelay(100);
      if (forbidden !== undefined && request.path.includes(forbidden)) return refusal(`${forbidden} is forbidden`);
      if (request.path !== "/version" && !request.path.includes("watch=")) lists.push(request.path.replace(/\?.*/, ""));
      if (!request.path.includes("watch=")) return inner.request(request);
      const answer = await inner.request(request);
      return { ...answer, body: until(watching.signal, answer.body) };
    },
  };
  const clientOf = (transport: Transport) =>
    new KubeClient({ transport, clock: systemClock, random: seededRandom(2), fieldManager: "test" });
  user = clientOf(inner);
  const log = createLogger({ level: "silent", program: "test" });
  client = clientOf(tapped);
  const options = { client, random: seededRandom(3), log, nodeSelector: "joulie.io/managed=true" };
  watchedOn = (clock) => new WatchedCluster({ ...options, clock });
  cluster = watchedOn(systemClock);
});
afterEach(async () => {
  await cluster.stop();
  await api.close();
});

/** Advances virtual time until the work has ended. */
async function whileTimePasses<Value>(clock: VirtualClock, work: Promise<Value>): Promise<Value> {
  let isOver = false;
  void work.finally(() => (isOver = true)).catch(() => undefined);
  await eventually(() => isOver, { between: async () => clock.advanceAsync(milliseconds(1000)) });
  return work;
}

const summaries = async () => summarizeNodes(await cluster.read(), defaultReportSettings);

it("CLI-09 top reads by watches: a change arrives without another list, also if a kind is missing", async () => {
  for (const [name, managed] of [
    ["a", "true"],
    ["b", "false"],
  ] as const)
    await user.create(resources.nodes, { metadata: { name, labels: { "joulie.io/managed": managed } } });
  cluster.start();
  expect((await summaries()).map(({ name, pods }) => [name, pods])).toEqual([["a", 0]]);
  const listed = lists.filter((path) => !path.includes("powerendpoints")).length;
  const container = { name: "c", image: "x", resources: { requests: { cpu: "2" } } };
  const spec = { nodeName: "a", containers: [container] };
  await user.create(resources.pods, { metadata: { name: "p" }, spec }, { namespace: "default" });
  await expect.poll(async () => (await summaries())[0]?.allocation.cpus).toBe(2);
  expect(lists.filter((path) => !path.includes("powerendpoints"))).toHaveLength(listed);
});

it("CLI-09 top keeps no names of images, which are most of a Node", async () => {
  const status = { allocatable: { cpu: "4" }, images: [{ names: ["registry.example/image:1"], sizeBytes: 1 }] };
  await user.create(resources.nodes, { metadata: { name: "a", labels: { "joulie.io/managed": "true" } }, status });
  cluster.start();
  const { nodes } = await cluster.read();
  expect(nodes.map(({ status: read }) => read)).toEqual([{ allocatable: { cpu: "4" } }]);
});

it("CLI-09 top notices at once that the API server is gone, and goes on when it is back", async () => {
  await user.create(resources.nodes, { metadata: { name: "a", labels: { "joulie.io/managed": "true" } } });
  cluster.start();
  expect(await summaries()).toHaveLength(1);
  isDown = true;
  requests = [];
  await expect(cluster.read()).rejects.toThrow("GET /version");
  // The screen says it after the first failure.
  expect(requests.filter((path) => path === "/version")).toHaveLength(1);
  isDown = false;
  expect(await eventuallyPasses(summaries)).toHaveLength(1);
});

it("CLI-09 top does not wait for a kind that the user may not list, or that is not installed", async () => {
  forbidden = "nodehardwares";
  late = /nodehardwares|powerendpoints/;
  await user.create(resources.nodes, { metadata: { name: "a", labels: { "joulie.io/managed": "true" } } });
  // Its time stands still: a wait would not end.
  cluster = watchedOn(new VirtualClock(instant(0)));
  cluster.start();
  const first = await cluster.read();
  expect(first.nodes).toHaveLength(1);
  expect(first.notListed).toEqual(["hardware", "endpoints"]);
});

it("CLI-09 top stops waiting for the first list when the user quits", async () => {
  const clock = new VirtualClock(instant(0));
  cluster = watchedOn(clock);
  const quit = new AbortController();
  // Not started: the nodes are never listed.
  const reading = cluster.read(quit.signal);
  await eventually(() => clock.waiting > 0);
  quit.abort();
  await expect(reading).rejects.toThrow("the nodes have not been listed yet");
});

it("CLI-09 top knows no pods of a user who may not list them", async () => {
  forbidden = "/pods";
  await user.create(resources.nodes, { metadata: { name: "a", labels: { "joulie.io/managed": "true" } } });
  cluster.start();
  const { pods, notListed } = await cluster.read();
  expect(pods).toBeUndefined();
  expect(notListed).toContain("pods");
  expect(await summaries()).toMatchObject([{ name: "a", pods: undefined }]);
});

it("CLI-09 top reads on while a kind is being listed, and does not call that a missing right", async () => {
  held = "/pods";
  await user.create(resources.namespaces, { metadata: { name: "joulie-system" } });
  await user.create(resources.nodes, { metadata: { name: "a", labels: { "joulie.io/managed": "true" } } });
  const clock = new VirtualClock(instant(0));
  cluster = watchedOn(clock);
  cluster.start();
  const reading = cluster.readAll("joulie-system");
  // The pods do not come within the time that a reading waits for them.
  const { pods, pending, notListed, installation } = await whileTimePasses(clock, reading);
  expect([pods, pending, notListed]).toEqual([undefined, ["pods"], ["endpoints", "pods"]]);
  expect(installation?.unreadable).toEqual(["pods: they are not read yet"]);
});

it("CLI-09 CLI-14 top and --watch know nothing of a kind that they may not list any more", async () => {
  await user.create(resources.nodes, { metadata: { name: "a", labels: { "joulie.io/managed": "true" } } });
  const spec = { nodeName: "a", profile: "eco" };
  await user.create(resources.nodeTwins, { metadata: { name: "a" }, spec });
  cluster.start();
  expect((await cluster.read()).twins.size).toBe(1);
  forbidden = "nodetwins";
  endWatches();
  await expect
    .poll(async () => {
      const { twins, notListed, pending } = await cluster.read();
      return [twins.size, notListed, pending];
    })
    .toEqual([0, ["twins", "endpoints"], []]);
  forbidden = undefined;
  await expect.poll(async () => (await cluster.read()).twins.size).toBe(1);
});

it("CLI-09 top says at once why nodes cannot be listed", async () => {
  forbidden = "/nodes";
  cluster.start();
  await expect(cluster.read()).rejects.toThrow("/nodes is forbidden");
});

it("CLI-14 commands with --watch list the large kinds once, and get what is installed with each reading", async () => {
  forbidden = "nodehardwares";
  await user.create(resources.namespaces, { metadata: { name: "joulie-system" } });
  await user.create(resources.nodes, { metadata: { name: "a", labels: { "joulie.io/managed": "true" } } });
  cluster.start();
  const { installation, notListed } = await cluster.readAll("joulie-system");
  expect(installation).toMatchObject({ stopped: false, missingKinds: ["powerendpoints.joulie.io"] });
  expect(installation?.unreadable).toEqual(["nodehardwares: you may not list and watch them"]);
  expect(notListed).toEqual(["hardware", "endpoints"]);
  lists = [];
  const metadata = { annotations: { "joulie.io/stop": "true" } };
  await user.mergePatch(resources.namespaces, { name: "joulie-system" }, { metadata });
  expect((await cluster.readAll("joulie-system")).installation?.stopped).toBe(true);
  expect(lists.filter((path) => /nodes|pods|nodetwins|nodepowerprofiles/.test(path))).toEqual([]);
});
