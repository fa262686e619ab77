import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { ApiError, type CallOptions } from "../../kube/index.ts";
import { seededRandom } from "../../random/index.ts";
import { MetricsApi } from "./metrics-api.ts";

const START = 1_700_000_000_000;

function open(answer: () => unknown) {
  const clock = new VirtualClock(instant(START));
  const paths: string[] = [];
  const client = {
    raw: async (path: string, options?: CallOptions): Promise<unknown> => {
      options?.signal?.throwIfAborted();
      paths.push(path);
      return answer();
    },
  };
  return { clock, paths, api: new MetricsApi({ client, clock, random: seededRandom(1) }) };
}

const item = (name: string, cpu: unknown, age = 10, now: number = START) => ({
  metadata: { name },
  timestamp: new Date(now - age * 1000).toISOString(),
  window: "20s",
  usage: { cpu, memory: "1Gi" },
});

describe("MetricsApi", () => {
  it("reads the cores used on every node with one list", async () => {
    const items = [item("a", "1500m"), item("b.example", "250000000n"), item("c", "0"), item("d", "3")];
    const { api, paths } = open(() => ({ kind: "NodeMetricsList", items }));
    const { usage, dropped } = await api.read();
    expect([...usage].map(([node, { cpuCores }]) => [node, cpuCores])).toEqual([
      ["a", 1.5],
      ["b.example", 0.25],
      ["c", 0],
      ["d", 3],
    ]);
    expect(usage.get("a")?.at).toBe(START - 10_000);
    expect(dropped.size).toBe(0);
    expect(paths).toEqual(["/apis/metrics.k8s.io/v1beta1/nodes"]);
  });

  it("drops and counts invalid usage", async () => {
    const items = [
      item("a", "x"),
      item("b", 5),
      item("c", "-1"),
      item("d", "1", 301),
      { ...item("e", "1"), timestamp: "?" },
      null,
      item("g", "1"),
    ];
    const { api } = open(() => ({ items }));
    const { usage, dropped } = await api.read();
    expect([...usage.keys()]).toEqual(["g"]);
    expect(Object.fromEntries(dropped)).toEqual({ garbled: 3, negative: 1, stale: 2 });
  });

  it.each([
    ["notFound", 404],
    ["unavailable", 503],
    ["forbidden", 403],
  ] as const)("looks for an API that is not there (%s) ever less often, and tells no error", async (kind, status) => {
    let there = false;
    const { api, clock, paths } = open(() => {
      if (!there) throw new ApiError(kind, `GET /apis/metrics.k8s.io: ${status}`, { status });
      return { items: [item("a", "1", 10, clock.now())] };
    });
    const pass = async () => {
      const { usage } = await api.read();
      clock.advance(milliseconds(60_000));
      return usage.size;
    };
    const passes: number[] = [];
    for (let count = 0; count < 60; count++) passes.push(await pass());
    expect(passes.every((size) => size === 0)).toBe(true);
    expect(paths.length).toBeGreaterThan(4);
    expect(paths.length).toBeLessThan(15);
    there = true;
    for (let count = 0; count < 12; count++) passes.push(await pass());
    expect(passes.at(-1)).toBe(1);
    // After it recovered, it is read in every pass.
    const before = paths.length;
    await pass();
    await pass();
    expect(paths.length).toBe(before + 2);
    // The next failure starts a new backoff.
    there = false;
    await pass();
    await pass();
    expect(paths.length).toBe(before + 4);
  });

  it("has no usage from a response that is not a list", async () => {
    const { api } = open(() => ({ kind: "Status" }));
    expect((await api.read()).usage.size).toBe(0);
  });

  it("ends with the caller's reason", async () => {
    const reason = new Error("stop");
    await expect(open(() => ({ items: [] })).api.read(AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});
