import { afterEach, beforeEach, expect, it } from "vitest";
import { crdOf, kinds } from "../../../core/api/index.ts";
import { instant, isoTime, milliseconds } from "../../../core/units/index.ts";
import { systemClock } from "../../../platform/clock/index.ts";
import { EmbeddedApi } from "../../../platform/embedded/index.ts";
import { type ApiResponse, KubeClient, resources, type Transport } from "../../../platform/kube/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { ClusterHistory } from "../past/cluster-history.ts";
import { ClusterWatch } from "./cluster-watch.ts";

const STALE_AFTER = milliseconds(300_000);
let user: KubeClient;
let cluster: ClusterWatch;
/** What the API server refuses, with this status. */
let refused: { readonly plural: string; readonly status: 403 | 404 } | undefined;
let watching: AbortController;

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

beforeEach(() => {
  refused = undefined;
  watching = new AbortController();
  const api = new EmbeddedApi({ clock: systemClock, random: seededRandom(1), crds: kinds.map(crdOf) });
  const inner = api.transport();
  const transport: Transport = {
    close: async () => inner.close(),
    request: async (request) => {
      if (refused !== undefined && request.path.includes(refused.plural)) {
        const { status } = refused;
        const body = { kind: "Status", code: status, reason: status === 403 ? "Forbidden" : "NotFound" };
        const headers = { "content-type": "application/json" };
        return { status, headers, body: ReadableStream.from([Buffer.from(JSON.stringify(body))]) };
      }
      const answer = await inner.request(request);
      return request.path.includes("watch=") ? { ...answer, body: until(watching.signal, answer.body) } : answer;
    },
  };
  const clientOf = (through: Transport) =>
    new KubeClient({ transport: through, clock: systemClock, random: seededRandom(2), fieldManager: "test" });
  user = clientOf(inner);
  cluster = new ClusterWatch({
    client: clientOf(transport),
    clock: systemClock,
    ioClock: systemClock,
    random: seededRandom(3),
    log: createLogger({ level: "silent", program: "test" }),
    staleAfter: STALE_AFTER,
  });
});
afterEach(async () => cluster.stop());

const createNode = async (name: string, { age = 0, state }: { age?: number; state?: string } = {}) => {
  await user.create(resources.nodes, { metadata: { name, labels: { "joulie.io/managed": "true" } } });
  await user.create(resources.nodeTwins, { metadata: { name }, spec: { nodeName: name, profile: "eco" } });
  const status = {
    schedulableClass: "eco",
    lastUpdated: isoTime(instant(systemClock.now() - age)),
    powerMeasurement: { source: "agent", measuredNodePowerW: 200, nodeCappedPowerW: 400, nodeTdpW: 500 },
    ...(state !== undefined && { power: { state } }),
  };
  await user.mergePatch(resources.nodeTwins, { name }, { status }, { subresource: "status" });
};

const totals = () => {
  cluster.refresh();
  return cluster.totals(null);
};
const synced = async (nodes: number) => {
  cluster.start();
  await expect.poll(() => [cluster.unsynced, totals().nodes]).toEqual([[], nodes]);
};

it.each([
  [403, "forbidden"],
  [404, "missing"],
] as const)(
  "DSH-01 shows nothing of twins that the API server answers with %d after the first list",
  async (status, how) => {
    await createNode("a");
    await synced(1);
    expect(totals()).toMatchObject({ power: 200, expected: 1, byClass: [0, 1, 0, 0, 0] });
    refused = { plural: "nodetwins", status };
    watching.abort();
    await expect.poll(totals).toMatchObject({ power: null, cap: null, expected: 0, byClass: [0, 0, 0, 0, 1] });
    const { twins, notListed } = cluster.objects(systemClock.now());
    expect([twins.size, notListed, cluster.refused[how]]).toEqual([0, ["twins"], ["nodetwins"]]);
    expect(cluster.node("a")).toMatchObject({ twin: undefined, areTwinsKnown: false });
    // The operator decided nothing.
    expect(cluster.decisions.entries).toEqual([]);
    refused = undefined;
    await expect.poll(totals).toMatchObject({ power: 200, expected: 1 });
    expect(cluster.decisions.entries).toEqual([]);
  },
);

it("DSH-05 has no total power, and no decline in its history, when the operator refreshes no twin any more", async () => {
  await createNode("stale-1", { age: STALE_AFTER + 1000 });
  await createNode("stale-2", { age: STALE_AFTER + 1000 });
  await createNode("off", { age: STALE_AFTER + 1000, state: "off" });
  await synced(3);
  expect(totals()).toMatchObject({ power: null, expected: 3, withPower: 1, stale: 2 });
  await createNode("fresh");
  await expect.poll(totals).toMatchObject({ power: 200, expected: 4, withPower: 2, stale: 2 });
  const history = new ClusterHistory();
  const now = systemClock.now();
  history.sample(now, totals(), cluster.table.rows());
  expect(history.read(now, milliseconds(3_600_000))).toMatchObject({ power: [null], cap: [1600] });
});
