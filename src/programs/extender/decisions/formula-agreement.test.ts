import { Agent, request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  labels as labelNames,
  type Node,
  type NodeHardwareStatus,
  type NodeTwinStatus,
} from "../../../core/api/index.ts";
import { demandOf, workloadClassOf } from "../../../core/demand/index.ts";
import { hardwareView } from "../../../core/inventory/index.ts";
import {
  batchOf,
  defaultScoringSettings,
  filterNode,
  type ScoringSettings,
  scoreNode,
  twinStateOf,
} from "../../../core/scoring/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import type { Transport } from "../../../platform/kube/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import {
  answerTo,
  ExtenderHarness,
  type FilterResult,
  type HostScores,
  type RunningExtender,
} from "../testing/extender-harness.ts";

// Hundreds of random clusters: a running extender receives each through its watches, and its answers over HTTP must equal the
// literal formula.

const CLUSTERS = 600;
const SIZE = 6;
const random = seededRandom(20_300_101);
const next = () => random.next();
const below = (limit: number) => Math.floor(next() * limit);
const pick = <Item>(...items: readonly Item[]): Item => items[below(items.length)] as Item;

interface Known {
  readonly node: Node;
  readonly status: NodeTwinStatus | undefined;
  readonly hardware: NodeHardwareStatus | undefined;
}

/** Powers of two as budgets and quarters of watts: sums over nodes are then exact in any order. */
function randomNode(name: string, now: number): Known {
  const budget = pick(256, 512, 1024, 2048);
  const status = {
    schedulableClass: pick("performance", "performance", "eco", "eco", "draining", "unknown", undefined),
    lastUpdated: pick(
      ...[0, 0, 0, 60_000, 300_000, 300_001].map((age) => new Date(now - age).toISOString()),
      undefined,
    ),
    predictedPowerHeadroomScore: pick(below(101), undefined),
    predictedCoolingStressScore: pick(below(101), below(101), undefined),
    estimatedPUE: pick(1, 1.25, 2, undefined),
    powerMeasurement: pick(
      { measuredNodePowerW: below(4 * budget) / 4, nodeCappedPowerW: budget, powerTrendWPerMin: below(401) - 200 },
      { measuredNodePowerW: below(5 * budget) / 4, nodeCappedPowerW: budget },
      { measuredNodePowerW: below(100), nodeCappedPowerW: 0 },
      undefined,
    ),
  };
  const cores = 8 * (1 + below(16));
  const gpu = {
    present: true,
    vendor: "nvidia",
    count: pick(1, 4, 8),
    capRangePerGpu: { minWatts: 100, maxWatts: 400 },
  };
  return {
    node: {
      metadata: {
        name,
        labels: { ...pick({}, { [labelNames.powerProfile]: pick("eco", "performance") }) },
      },
      status: { capacity: { cpu: String(2 * cores) } },
    },
    status: pick(status, status, status, undefined) as unknown as NodeTwinStatus | undefined,
    hardware: pick(
      { cpu: { totalCores: cores, sockets: 2 }, gpu },
      { cpu: { totalCores: cores } },
      undefined,
    ) as unknown as NodeHardwareStatus | undefined,
  };
}

const randomPod = () => ({
  metadata: { name: "p", annotations: pick({}, { "joulie.io/workload-class": pick("performance", "standard", "?") }) },
  spec: {
    containers: [
      {
        resources: pick(
          { requests: { cpu: `${below(64_000)}m` } },
          { limits: { cpu: "2", "nvidia.com/gpu": below(9) } },
        ),
      },
      pick({ resources: { limits: { "nvidia.com/gpu": "1" } } }, {}),
    ],
  },
});

/** An API with empty lists whose watches send the events of the test. */
class ToldApi {
  readonly #tell = new Map<string, (lines: string) => void>();
  #version = 1;
  readonly transport: Transport = {
    request: async ({ path, signal }) => {
      const kind = /\/(\w+)\?/.exec(path)?.[1] ?? "";
      const answer = (body: AsyncIterable<Uint8Array>) => ({ status: 200, headers: {}, body });
      if (!path.includes("watch=")) return answer(once('{"metadata":{"resourceVersion":"1"},"items":[]}'));
      return answer(this.#watch(kind, signal));
    },
    close: async () => undefined,
  };

  get watched(): number {
    return this.#tell.size;
  }

  tell(kind: string, events: readonly (readonly [type: string, name: string, rest: object])[]): void {
    const lines = events.map(([type, name, rest]) => {
      const metadata = { name, uid: `${kind}-${name}`, resourceVersion: String(++this.#version) };
      const object = { ...rest, metadata: { ...(rest as { metadata?: object }).metadata, ...metadata } };
      return `${JSON.stringify({ type, object })}\n`;
    });
    if (lines.length > 0) this.#tell.get(kind)?.(lines.join(""));
  }

  async *#watch(kind: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    const waiting: string[] = [];
    let wake = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => wake.reject(signal.reason), { once: true });
    this.#tell.set(kind, (lines) => {
      waiting.push(lines);
      wake.resolve();
    });
    for (;;) {
      await wake.promise;
      wake = Promise.withResolvers<void>();
      for (const lines of waiting.splice(0)) yield Buffer.from(lines);
    }
  }
}

async function* once(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text);
}

describe.each([
  ["as it is", {}, defaultScoringSettings],
  [
    "with facility metrics, to 10 points",
    { ENABLE_FACILITY_METRICS: "true", SCORE_MAX: "10" },
    { ...defaultScoringSettings, facilityMetrics: true, scoreMax: 10 },
  ],
] as const)("over HTTP, %s", (_, variables, settings: ScoringSettings) => {
  const harness = new ExtenderHarness();
  const api = new ToldApi();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let extender: RunningExtender;

  beforeAll(async () => {
    extender = await harness.start(variables, { transport: api.transport });
    await harness.until(() => api.watched === 3);
  });
  afterAll(async () => {
    agent.destroy();
    await harness.end();
  });

  async function ask<Body>(path: string, body: unknown): Promise<Body> {
    const { hostname, port } = new URL(String(extender.url));
    const asked = request({ host: hostname, port, path, method: "POST", agent });
    asked.end(JSON.stringify(body));
    return (await answerTo<Body>(asked)).body;
  }

  it("SCH-02 SCH-29 SCH-33 SCH-36 X-20 scores of hundreds of random clusters equal the literal formula", async () => {
    const cluster = new Map<string, Known>();
    let asked = 0;
    for (let round = 0; round < CLUSTERS / 2; round++) {
      const now = harness.clock.now();
      // Some nodes are deleted, some are added, all others change.
      const leaving = [...cluster.keys()].filter(() => next() < 0.2);
      for (const name of leaving) cluster.delete(name);
      const joining = Array.from({ length: SIZE }, () => `n${below(2 * SIZE)}`);
      for (const name of new Set([...joining, ...cluster.keys()])) cluster.set(name, randomNode(name, now));
      api.tell("nodes", [
        ...leaving.map((name) => ["DELETED", name, {}] as const),
        ...Array.from(cluster, ([name, { node }]) => ["MODIFIED", name, node] as const),
      ]);
      api.tell(
        "nodetwins",
        objectsOf(cluster, ({ status }) => status),
      );
      api.tell(
        "nodehardwares",
        objectsOf(cluster, ({ hardware }) => hardware),
      );
      const pod = randomPod();
      const candidates = [...cluster.keys(), "absent"].filter(() => next() < 0.8).toSorted(() => next() - 0.5);
      const oracle = oracleOf(cluster, pod, now, settings);

      const scores = await ask<HostScores>("/prioritize", { Pod: pod, Nodes: null, NodeNames: candidates });
      const expected = candidates.map((name) => ({ Host: name, Score: oracle.score(name) }));
      const filtered = await ask<FilterResult>("/filter", { Pod: pod, Nodes: null, NodeNames: candidates });
      const rejected = candidates.flatMap((name) => {
        const reason = oracle.rejection(name);
        return reason === undefined ? [] : [[name, reason] as const];
      });
      const left = candidates.filter((name) => oracle.rejection(name) === undefined);
      const given = { scores, left: filtered.NodeNames, rejected: Object.entries(filtered.FailedAndUnresolvableNodes) };
      const items = candidates.map((name) => cluster.get(name)?.node ?? { metadata: { name } });
      const Nodes = { metadata: {}, items };
      const wholeScores = await ask<HostScores>("/prioritize", { Pod: pod, Nodes, NodeNames: null });
      const whole = await ask<FilterResult>("/filter", { Pod: pod, Nodes, NodeNames: null });
      const keptItems = items.filter(({ metadata: { name } }) => oracle.rejection(name) === undefined);
      const givenWhole = {
        scores: wholeScores,
        left: whole.Nodes?.items,
        rejected: Object.entries(whole.FailedAndUnresolvableNodes),
      };
      expect(JSON.stringify(givenWhole)).toBe(JSON.stringify({ scores: expected, left: keptItems, rejected }));
      // Compared as text, which is faster than comparing each field.
      expect(JSON.stringify(given)).toBe(JSON.stringify({ scores: expected, left, rejected }));
      asked += candidates.length;
    }
    expect(asked).toBeGreaterThan(CLUSTERS);
  });
});

const objectsOf = (cluster: ReadonlyMap<string, Known>, statusOf: (known: Known) => object | undefined) =>
  Array.from(cluster, ([name, known]) => {
    const status = statusOf(known);
    return [status ? "MODIFIED" : "DELETED", name, { spec: { nodeName: name }, status }] as const;
  });

function oracleOf(cluster: ReadonlyMap<string, Known>, pod: object, now: Instant, settings: ScoringSettings) {
  const { workloadClass } = workloadClassOf(pod as never);
  const asked = { workloadClass, demand: demandOf(pod as never) };
  const twins = new Map(Array.from(cluster, ([name, { status }]) => [name, status && twinStateOf(status)]));
  const batch = batchOf(twins.values(), now, settings);
  return {
    score: (name: string) => {
      const known = cluster.get(name);
      const hardware = known && hardwareView(known.node, known.hardware);
      return scoreNode(asked, { twin: twins.get(name), hardware, labels: known?.node.metadata.labels }, batch, settings)
        .score;
    },
    rejection: (name: string) =>
      filterNode(workloadClass, twins.get(name), cluster.get(name)?.node.metadata.labels?.[labelNames.powerProfile]),
  };
}
