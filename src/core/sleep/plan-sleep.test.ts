import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { admitsNode, type NodeConstraint, type PodSummary, podRequests } from "../demand/index.ts";
import { ArrivalHistory } from "../fit/index.ts";
import { type Instant, instant, milliseconds, seconds, watts } from "../units/index.ts";
import { planSleep, type SleepInput, type SleepPlan, type SleepResult } from "./plan-sleep.ts";
import { type SleepSettings, sleepLimits } from "./settings.ts";
import { emptySleepMemory, type SleepMemory, SleepRecorder, withClockSet } from "./sleep-memory.ts";
import { type SleepNode, type SleepPermission, sleepBarrierOf } from "./sleep-node.ts";

const NOW = instant(Date.UTC(2030, 0, 2));
const MINUTE = 60_000;
const settings: SleepSettings = { mode: "on", after: milliseconds(10 * MINUTE), reserveQuantile: 0.99, zoneShare: 0.5 };

type Options = Partial<Omit<SleepNode, "name" | "fit">> & {
  readonly cores?: number;
  readonly gpus?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly { key: string; effect: string }[];
};

function node(name: string, { cores = 16, gpus = 0, labels = {}, taints = [], ...rest }: Options = {}): SleepNode {
  return {
    name,
    uid: `uid-${name}`,
    fit: {
      labels,
      taints,
      allocatable: new Map([
        ["cpu", cores],
        ["memory", cores * 4],
        ["pods", 110],
        ...(gpus > 0 ? [["nvidia.com/gpu", gpus] as const] : []),
      ]),
      gpus,
    },
    managed: true,
    family: gpus > 0 ? "gpu" : "cpu",
    zone: "",
    ready: true,
    cordoned: false,
    wanted: "on",
    state: "on",
    pods: 0,
    asked: true,
    barrier: undefined,
    cyclesToday: 0,
    idle: watts(gpus > 0 ? 1000 : 100),
    ...rest,
  };
}
const asleep = { wanted: "off", state: "off", ready: false } as const;
const many = (count: number, options: Options = {}, prefix = "n") =>
  Array.from({ length: count }, (_, index) => node(`${prefix}${String(index).padStart(3, "0")}`, options));

const wholeNode = podRequests(new Map([["cpu", 16]]));

interface PodOptions {
  readonly on?: string;
  readonly gpus?: number;
  readonly constraint?: NodeConstraint;
  readonly waited?: number;
  readonly ofNode?: true;
  readonly scheduler?: string;
}

function pod(
  cores: number,
  { on, gpus = 0, constraint = {}, waited = 0, ofNode, scheduler }: PodOptions = {},
): PodSummary {
  return {
    node: on,
    active: true,
    constraint: "general",
    workloadClass: "standard",
    performanceSensitive: false,
    demand: { cpuCores: cores, gpus: new Map() },
    requests: podRequests(new Map([["cpu", cores], ...(gpus > 0 ? [["nvidia.com/gpu", gpus] as const] : [])])),
    nodes: constraint,
    createdAt: instant(NOW - waited * 1000),
    ...(ofNode && { ofNode }),
    ...(scheduler && { scheduler }),
  };
}

/** Before its wake began. */
const onThen = (one: SleepNode): SleepNode => ({ ...one, state: "on" });

/** The memory after these nodes were observed. */
const observed = (nodes: readonly SleepNode[], now: Instant, memory = emptySleepMemory): SleepMemory =>
  new SleepRecorder(memory, nodes, true, now).memory;

/** A memory that has seen these nodes empty for a day. */
const emptyForLong = (nodes: readonly SleepNode[]): SleepMemory =>
  observed(nodes.map(onThen), instant(NOW - 24 * 60 * MINUTE));

const resultOf = (nodes: readonly SleepNode[], more: Partial<SleepInput> = {}): SleepResult =>
  planSleep({ nodes, pods: [], current: true, settings, memory: emptyForLong(nodes), now: NOW, ...more });

const plan = (nodes: readonly SleepNode[], more: Partial<SleepInput> = {}): SleepPlan => resultOf(nodes, more).plan;

/** Plans one after the other, each with the memory of the last one. */
function plansFrom(memory: SleepMemory): typeof plan {
  let last = memory;
  return (nodes, more) => {
    const result = resultOf(nodes, { memory: last, ...more });
    last = result.memory;
    return result.plan;
  };
}
const withVerdict = ({ nodes }: SleepPlan, verdict: string) =>
  Array.from(nodes.values()).flatMap((one) => (one.verdict === verdict ? [one.name] : []));
/** The nodes after the operator wrote the plan and before the power program acted. */
const published = (nodes: readonly SleepNode[], { nodes: decided }: SleepPlan): SleepNode[] =>
  nodes.map((one) => {
    const decision = decided.get(one.name);
    return decision === undefined ? one : { ...one, wanted: decision.wanted, lastReason: decision.reason };
  });

describe("which nodes may sleep", () => {
  const endpoint = { wakeProven: true, keepAwake: false, maySwitchOff: true, wakeFailed: false };
  const permitted: SleepPermission = {
    managed: true,
    maySleep: true,
    controlPlane: false,
    endpoint,
    localVolume: false,
    servesStorage: false,
  };

  it.each<[string, Partial<SleepPermission>]>([
    ["without the user's label", { maySleep: false }],
    ["unmanaged or reserved", { managed: false }],
    ["of the control plane", { controlPlane: true }],
    ["without a PowerEndpoint", { endpoint: undefined }],
    ["whose wake is not proven", { endpoint: { ...endpoint, wakeProven: false } }],
    ["whose wake failed", { endpoint: { ...endpoint, wakeFailed: true } }],
    ["that a user keeps awake", { endpoint: { ...endpoint, keepAwake: true } }],
    ["whose switch refuses to switch it off", { endpoint: { ...endpoint, maySwitchOff: false } }],
    ["with a local persistent volume", { localVolume: true }],
    ["with a storage daemon", { servesStorage: true }],
  ])("SLP-40 a node %s never sleeps", (_, differing) => {
    expect(sleepBarrierOf(permitted)).toBeUndefined();
    expect(sleepBarrierOf({ ...permitted, ...differing })).toEqual(expect.any(String));
  });

  it("SLP-27 SLP-40 tells a user's annotation from a switch that refuses", () => {
    const reason = (differing: object) => sleepBarrierOf({ ...permitted, endpoint: { ...endpoint, ...differing } });
    expect(reason({ keepAwake: true })).toBe("its PowerEndpoint has the annotation joulie.io/keep-awake");
    expect(reason({ maySwitchOff: false })).toBe("its power switch refuses to switch it off");
  });

  it("SLP-40 a node with a barrier stays on and says why, and is woken if it sleeps", () => {
    const nodes = [...many(4), node("x", { barrier: "why not" }), node("y", { ...asleep, barrier: "why not" })];
    const { nodes: decided } = plan(nodes);
    expect(decided.get("x")).toEqual({ name: "x", verdict: "needed", wanted: "on", reason: "why not" });
    expect(decided.get("y")).toEqual({ name: "y", verdict: "wake", wanted: "on", reason: "why not" });
  });

  it("SLP-41 sleeps after SLEEP_AFTER without pods, not before, and counts again after a restart", () => {
    const nodes = many(4);
    const next = plansFrom({ ...emptySleepMemory, since: instant(0) });
    const at = (minutes: number, seen: readonly SleepNode[] = nodes) =>
      withVerdict(next(seen, { now: instant(NOW + minutes * MINUTE) }), "sleep");
    expect(at(0)).toEqual([]);
    expect(at(9.9)).toEqual([]);
    const busy = nodes.map((one, index) => (index === 1 ? { ...one, pods: 1 } : one));
    expect(at(9.95, busy)).toEqual([]);
    // n001 had a pod in between, n000 is its family's.
    expect(at(10)).toEqual(["n002", "n003"]);
    expect(plan(nodes, { memory: emptySleepMemory }).nodes.get("n003")?.reason).toMatch(/empty for 10m/);
  });

  it("SLP-41 a node with a pod never sleeps, whatever the memory says; DaemonSet pods do not count", () => {
    expect(withVerdict(plan(many(4, { pods: 1 })), "sleep")).toEqual([]);
    const daemons = many(4).map(({ name }) => pod(1, { on: name, ofNode: true }));
    expect(withVerdict(plan(many(4), { pods: daemons }), "sleep")).toHaveLength(2);
  });

  it("SLP-41 a sleeping node on which a pod appears is woken", () => {
    expect(withVerdict(plan([...many(3), node("x", { ...asleep, pods: 1 })]), "wake")).toEqual(["x"]);
  });

  it("SLP-42 keeps at most half of a zone asleep, counting nodes that are down, and each zone apart", () => {
    expect(withVerdict(plan(many(9)), "sleep")).toHaveLength(4);
    const twoDown = many(2, { ready: false, asked: false }, "down");
    expect(withVerdict(plan([...many(8), ...twoDown]), "sleep")).toHaveLength(3);
    const zones = [...many(4, { zone: "a" }, "a"), ...many(4, { zone: "b" }, "b")];
    expect(withVerdict(plan(zones), "sleep")).toHaveLength(4);
    expect(withVerdict(plan([node("alone")]), "sleep")).toEqual([]);
  });

  it("SLP-42 lets another share of a zone sleep if SLEEP_ZONE_SHARE says so", () => {
    const nodes = many(20);
    const asleepWith = (zoneShare: number) =>
      withVerdict(plan(nodes, { settings: { ...settings, zoneShare } }), "sleep").length;
    expect([0.25, 0.5, 0.8].map(asleepWith)).toEqual([5, 10, 16]);
  });

  it("SLP-42 wakes what is too much when a zone has lost nodes", () => {
    expect(withVerdict(plan([...many(3), ...many(5, asleep, "s")]), "wake")).toHaveLength(1);
  });

  it("SLP-42 if half of a zone is asleep, a node that draws far more sleeps in place of one that draws little", () => {
    const small = (index: number) => node(`s${index}`, { ...asleep, idle: watts(100) });
    const large = node("g", { gpus: 8, idle: watts(1000) });
    const others = [node("d", { pods: 1 }), ...["a", "b", "c"].map((name) => node(name, { pods: 1, gpus: 8 }))];
    const nodes = [...[0, 1, 2, 3].map(small), large, ...others];
    const first = plan(nodes);
    expect(withVerdict(first, "wake")).toEqual(["s0"]);
    expect(first.nodes.get("s0")).toMatchObject({ need: "swap" });
    expect(withVerdict(first, "sleep")).toEqual([]);
    // While it boots nothing more wakes; then the large one sleeps.
    const waking = nodes.map((one) =>
      one.name === "s0" ? { ...one, wanted: "on" as const, state: "waking" as const } : one,
    );
    expect([...withVerdict(plan(waking), "wake"), ...withVerdict(plan(waking), "sleep")]).toEqual([]);
    const awake = nodes.map((one) => (one.name === "s0" ? node("s0", { idle: watts(100) }) : one));
    expect(withVerdict(plan(awake), "sleep")).toEqual(["g"]);
    const similar = nodes.map((one) => (one.name === "g" ? { ...one, idle: watts(199) } : one));
    expect(withVerdict(plan(similar), "wake")).toEqual([]);
  });

  it("SLP-43 keeps max(1, 4 %) of each family awake, and wakes one if the family has none", () => {
    const elsewhere = many(300, { family: "other", asked: false, barrier: "x" }, "o");
    const awake = (count: number) => count - withVerdict(plan([...many(count), ...elsewhere]), "sleep").length;
    expect(awake(2)).toBe(1);
    expect(awake(25)).toBe(1);
    expect(awake(26)).toBe(2);
    expect(withVerdict(plan([...many(3, asleep), ...elsewhere]), "wake")).toEqual(["n000"]);
  });

  it("SLP-43 keeps a tenth of a family empty until arrivals were observed for two hours", () => {
    const nodes = many(40, { zone: "z" });
    const others = many(60, { zone: "z", family: "other", asked: false }, "o");
    const memory = { ...emptyForLong([...nodes, ...others]), since: instant(NOW - 119 * MINUTE) };
    expect(withVerdict(plan([...nodes, ...others], { memory }), "sleep")).toHaveLength(36);
    expect(withVerdict(plan([...nodes, ...others]), "sleep")).toHaveLength(38);
  });

  it("SLP-43 counts empty nodes that never sleep among those that stay empty", () => {
    const never = many(3, { asked: false, barrier: "x" }, "o");
    const nodes = [node("x"), ...never];
    const memory = { ...emptyForLong(nodes), since: NOW };
    expect(withVerdict(plan(nodes, { memory }), "sleep")).toEqual(["x"]);
    const busy = [node("x"), ...many(3, { asked: false, barrier: "x", pods: 1 }, "o")];
    const other = { ...emptyForLong(busy), since: NOW };
    expect(withVerdict(plan(busy, { memory: other }), "sleep")).toEqual([]);
  });

  it("SLP-44 a node sleeps at most 8 times a day", () => {
    expect(withVerdict(plan([...many(3), node("x", { cyclesToday: 8 })]), "sleep")).not.toContain("x");
    expect(withVerdict(plan([...many(3), node("x", { cyclesToday: 7, idle: watts(500) })]), "sleep")).toContain("x");
  });

  it("SLP-44 at most 60 nodes go to sleep and 300 wake per minute; a decision counts once", () => {
    const nodes = many(200);
    const next = plansFrom(emptyForLong(nodes));
    const first = next(nodes);
    expect(withVerdict(first, "sleep")).toHaveLength(60);
    expect(withVerdict(next(nodes), "sleep")).toEqual(withVerdict(first, "sleep"));
    const later = next(published(nodes, first), { now: instant(NOW + 30_000) });
    expect(withVerdict(later, "sleep")).toEqual([]);
    const last = next(published(nodes, first), { now: instant(NOW + MINUTE) });
    expect(withVerdict(last, "sleep")).toHaveLength(40);
    const sleepers = [...many(500, asleep), ...many(500, { asked: false, pods: 1 }, "o")];
    const burst = Array.from({ length: 400 }, () => pod(16));
    const woken = plan(sleepers, {
      pods: [...burst, ...Array.from({ length: 500 }, (_, i) => pod(16, { on: `o${String(i).padStart(3, "0")}` }))],
    });
    expect(withVerdict(woken, "wake")).toHaveLength(300);
    expect(withVerdict(woken, "blocked")).toHaveLength(100);
  });

  it("SLP-45 nothing sleeps while pods cannot be read, and emptiness starts again afterwards", () => {
    const nodes = many(6);
    const next = plansFrom(emptyForLong(nodes));
    const blind = next(nodes, { current: false });
    expect(withVerdict(blind, "sleep")).toEqual([]);
    expect(blind.blocked).toMatch(/cannot be read/);
    expect(withVerdict(next(nodes), "sleep")).toEqual([]);
  });

  it("SLP-45 nothing sleeps while more than 45 % of managed nodes are not ready for other reasons", () => {
    const cluster = (failing: number) => [
      ...many(100 - failing, { zone: "a" }),
      ...many(failing, { ready: false, zone: "b" }, "bad"),
      ...many(100, { managed: false, asked: false, zone: "a" }, "unmanaged"),
    ];
    expect(withVerdict(plan(cluster(45)), "sleep").length).toBeGreaterThan(0);
    expect(withVerdict(plan(cluster(46)), "sleep")).toEqual([]);
    const manyAsleep = [
      ...many(40),
      ...many(60, { ...asleep, zone: "b" }, "s"),
      ...many(80, { zone: "b", asked: false, managed: false }, "u"),
    ];
    expect(plan(manyAsleep).blocked).toBeUndefined();
  });

  it("SLP-45 a failed, cordoned or unready node does not sleep, and none of them holds pods", () => {
    const bad = [
      node("f", { state: "failed", ready: false }),
      node("c", { cordoned: true }),
      node("u", { ready: false }),
    ];
    const nodes = [...many(9, { pods: 1, asked: false }), ...bad, node("s", asleep)];
    const full = many(9).map(({ name }) => pod(16, { on: name }));
    const result = plan(nodes, { pods: [...full, pod(8)] });
    expect(withVerdict(result, "sleep")).toEqual([]);
    expect(withVerdict(result, "wake")).toEqual(["s"]);
  });
});

describe("what wakes nodes", () => {
  it("SLP-46 wakes another node for a pod that would fit on a node without a PowerEndpoint", () => {
    const barrier = "it has no PowerEndpoint";
    const lost = node("a", { wanted: "on", state: "off", ready: false, barrier, lost: true });
    const busy = many(3, { pods: 1, asked: false });
    const full = busy.map(({ name }) => pod(16, { on: name }));
    const result = plan([...busy, lost, node("s", asleep)], { pods: [...full, pod(8)] });
    expect(withVerdict(result, "wake")).toEqual(["s"]);
  });

  const busy = (count: number, options: Options = {}) => ({
    nodes: many(count, { pods: 1, asked: false, ...options }, "busy"),
    pods: many(count, {}, "busy").map(({ name }) => pod(16, { on: name })),
  });

  it("SLP-46 a pending pod that fits on no awake node wakes the cheapest sleeping node that it fits on", () => {
    const { nodes, pods } = busy(5);
    const sleepers = [
      node("large", { ...asleep, cores: 64, idle: watts(300) }),
      node("small", { ...asleep, cores: 8, idle: watts(50) }),
      node("right", { ...asleep, cores: 32, idle: watts(100), wakeTime: seconds(200) }),
    ];
    const urgent = pod(20);
    const result = plan([...nodes, ...sleepers], { pods: [...pods, urgent] });
    expect(withVerdict(result, "wake")).toEqual(["right"]);
    expect(result.waits).toEqual([{ pod: urgent, node: "right", wakeTime: 200 }]);
  });

  it("X-124 a pod of another scheduler wakes a node by default, or if SLEEP_SCHEDULERS lists its scheduler", () => {
    const { nodes, pods } = busy(5);
    const wakesFor = (scheduler: string | undefined, schedulers?: readonly string[]) =>
      withVerdict(
        plan([...nodes, node("s", asleep)], {
          pods: [...pods, pod(10, scheduler === undefined ? {} : { scheduler })],
          settings: { ...settings, schedulers },
        }),
        "wake",
      ).length;
    expect([wakesFor("volcano"), wakesFor(undefined)]).toEqual([1, 1]);
    expect([wakesFor("volcano", ["volcano"]), wakesFor(undefined, ["volcano"])]).toEqual([1, 0]);
    expect([wakesFor("volcano", ["default-scheduler"]), wakesFor(undefined, ["default-scheduler"])]).toEqual([0, 1]);
  });

  it("SLP-46 wakes nothing for a pod that fits on an awake or waking node, or on none at all", () => {
    const { nodes, pods } = busy(5);
    const cluster = [...nodes, node("s", asleep), node("w", { state: "waking", ready: false })];
    const result = plan(cluster, { pods: [...pods, pod(10)] });
    expect(withVerdict(result, "wake")).toEqual([]);
    expect(result.waits.map((wait) => wait.node)).toEqual(["w"]);
    expect(withVerdict(plan(cluster, { pods: [...pods, pod(99)] }), "wake")).toEqual([]);
    expect(
      withVerdict(
        plan([...cluster, node("free", { managed: false, asked: false })], { pods: [...pods, pod(16), pod(16)] }),
        "wake",
      ),
    ).toEqual([]);
  });

  it("SLP-46 obeys selectors and taints, and wakes no GPU node for a pod without GPUs if another one fits", () => {
    const { nodes, pods } = busy(6);
    const sleepers = [
      node("gpu", { ...asleep, gpus: 8, idle: watts(10) }),
      node("ssd", { ...asleep, labels: { disk: "ssd" } }),
      node("tainted", { ...asleep, taints: [{ key: "a", effect: "NoSchedule" }], idle: watts(1) }),
    ];
    const awakeGpu = node("g", { family: "gpu", cordoned: false, pods: 1, barrier: "x", cores: 1, asked: false });
    const woken = (...pending: PodSummary[]) =>
      withVerdict(plan([...nodes, awakeGpu, ...sleepers], { pods: [...pods, ...pending] }), "wake");
    expect(woken(pod(4, { constraint: { selector: { disk: "ssd" } } }))).toEqual(["ssd"]);
    expect(woken(pod(4))).toEqual(["ssd"]);
    expect(woken(pod(4, { gpus: 1 }))).toEqual(["gpu"]);
    expect(woken(pod(4, { ofNode: true }))).toEqual([]);
  });

  it("SLP-55 a pod wakes another node if the wake that it waits for takes more than twice its usual time", () => {
    const { nodes, pods } = busy(5);
    const waking = node("w", { state: "waking", ready: false, wakeTime: seconds(200) });
    const other = node("s", { ...asleep, idle: watts(300) });
    const cluster = [...nodes, waking, other];
    const next = plansFrom(emptyForLong(cluster));
    const at = (after: number, seen = cluster) =>
      next(seen, { pods: [...pods, pod(10)], now: instant(NOW + after * 1000) });
    expect(at(0).waits.map((wait) => wait.node)).toEqual(["w"]);
    expect(withVerdict(at(490), "wake")).toEqual([]);
    const late = at(491);
    expect(withVerdict(late, "wake")).toEqual(["s"]);
    expect(late.waits.map((wait) => wait.node)).toEqual(["s"]);
    // Once it is on it is used, and a later wake has its whole time again.
    const on = [...nodes, node("w"), other];
    expect(withVerdict(at(600, on), "wake")).toEqual([]);
    expect(withVerdict(at(700), "wake")).toEqual([]);
  });

  it("SLP-56 a clock that is set forward or back makes no node empty for longer or shorter", () => {
    for (const by of [3_600_000, -3_600_000]) {
      const nodes = many(4);
      const before = { ...observed(nodes, NOW), since: instant(0) };
      const next = plansFrom(withClockSet(before, milliseconds(by)));
      const at = (minutes: number) => withVerdict(next(nodes, { now: instant(NOW + by + minutes * MINUTE) }), "sleep");
      expect(at(9.9)).toEqual([]);
      expect(at(10)).toHaveLength(2);
    }
  });

  it("SLP-46 a pod that fits on paper but stays pending gets other nodes, a bounded number of times", () => {
    const { nodes } = busy(1, { barrier: "x" });
    const cluster = [...nodes, ...many(9, { pods: 1, asked: false }, "o"), node("s", asleep)];
    const next = plansFrom(emptyForLong(cluster));
    const woken = (waited: number) =>
      withVerdict(next(cluster, { pods: [pod(1, { waited: 3600 })], now: instant(NOW + waited * 1000) }), "wake");
    // The time counts from the moment when the pod first fits on an awake node, not from its creation.
    expect(woken(0)).toEqual([]);
    expect(woken(60)).toEqual([]);
    expect(woken(400)).toEqual(["s"]);
    expect(woken(86_400)).toEqual([]);
  });

  it("SLP-47 keeps room for the pods of the quantile window, and wakes nodes for it", () => {
    const { nodes, pods } = busy(5);
    const arrivals = new ArrivalHistory(milliseconds(MINUTE));
    for (let index = 0; index < 3; index++)
      arrivals.record({ createdAt: instant(NOW - 3_600_000 + index), requests: wholeNode, nodes: {} });
    const sleepers = many(4, asleep, "s");
    const result = plan([...nodes, ...sleepers], { pods, arrivals, settings: { ...settings, reserveQuantile: 1 } });
    expect(withVerdict(result, "wake")).toHaveLength(3);
    const empty = many(4, {}, "s");
    const kept = plan([...nodes, ...empty], { pods, arrivals, settings: { ...settings, reserveQuantile: 1 } });
    expect(withVerdict(kept, "sleep")).toHaveLength(1);
    expect(
      withVerdict(
        plan([...nodes, ...empty], { pods, arrivals, settings: { ...settings, reserveQuantile: 0 } }),
        "sleep",
      ),
    ).toHaveLength(4);
  });

  it("SLP-47 says what a node that stays on is needed for, and nothing if it is on for another reason", () => {
    const needsOf = (nodes: readonly SleepNode[], input: Partial<SleepInput> = {}) =>
      Array.from(plan(nodes, input).nodes.values()).map(({ verdict, need }) => `${verdict} ${need ?? "-"}`);
    expect(needsOf(many(4)).toSorted()).toEqual(["needed family", "needed zone", "sleep -", "sleep -"]);
    expect(needsOf([node("busy", { pods: 1 }), ...many(2, { asked: false, barrier: "x" }, "o")])).toEqual(["needed -"]);
    const { nodes, pods } = busy(5);
    const arrivals = new ArrivalHistory(milliseconds(MINUTE));
    arrivals.record({ createdAt: instant(NOW - 3_600_000), requests: wholeNode, nodes: {} });
    const input = { pods, arrivals, settings: { ...settings, reserveQuantile: 1 } };
    expect(needsOf([...nodes, node("spare")], input)).toContain("needed reserve");
  });

  it("SLP-47 the reserve covers a wake: pods that arrive within a longer wake time count together", () => {
    const arrivals = new ArrivalHistory(milliseconds(MINUTE));
    const hour = Math.floor(NOW / 3_600_000) * 3_600_000 - 3_600_000;
    for (const minute of [0, 5, 10, 15])
      arrivals.record({ createdAt: instant(hour + minute * MINUTE), requests: wholeNode, nodes: {} });
    const awake = (wakeTime: number) => {
      const nodes = [...busy(9, { barrier: "x" }).nodes, ...many(8, { wakeTime: seconds(wakeTime) })];
      const result = plan(nodes, { pods: busy(9).pods, arrivals, settings: { ...settings, reserveQuantile: 1 } });
      return 8 - withVerdict(result, "sleep").length;
    };
    expect(awake(60)).toBe(1);
    expect(awake(1700)).toBeGreaterThanOrEqual(2);
  });

  it("SLP-48 limits of sleeping never delay a wake", () => {
    const { nodes, pods } = busy(1);
    const result = plan([...nodes, node("s", { ...asleep, cyclesToday: 8 }), node("d", { ready: false })], {
      pods: [...pods, pod(8)],
      current: false,
    });
    expect(withVerdict(result, "wake")).toEqual(["s"]);
  });
});

describe("any cluster", () => {
  const mostly = <Value>(usual: Value, ...others: readonly Value[]) =>
    fc.oneof({ arbitrary: fc.constant(usual), weight: 6 }, { arbitrary: fc.constantFrom(usual, ...others), weight: 1 });
  const states = mostly<SleepNode["state"]>("on", "stopping", "off", "waking", "failed");
  const anyNode = fc.record({
    cores: fc.constantFrom(8, 16, 32),
    gpus: fc.constantFrom(0, 0, 4),
    zone: fc.constantFrom("a", "b"),
    managed: mostly(true, false),
    asked: mostly(true, false),
    barred: mostly(false, true),
    ready: mostly(true, false),
    cordoned: mostly(false, true),
    wanted: fc.constantFrom("on", "on", "on", "off" as const),
    state: states,
    cyclesToday: mostly(0, 7, 8),
    idle: fc.constantFrom(50, 100, 100, 1000),
    disk: fc.constantFrom("ssd", "hdd"),
    emptyMinutes: mostly(20, 0, 5),
  });
  const anyPod = fc.record({
    cores: fc.constantFrom(1, 4, 16),
    gpus: fc.constantFrom(0, 0, 1, 4),
    on: fc.option(fc.nat(30), { nil: undefined }),
    ssd: fc.boolean(),
    waited: fc.constantFrom(0, 0, 400, 4000),
    ofNode: fc.constantFrom(false, false, true),
  });
  const cluster = fc
    .record({
      drawn: fc.array(anyNode, { minLength: 1, maxLength: 30 }),
      drawnPods: fc.array(anyPod, { maxLength: 40 }),
      arrivals: fc.array(fc.record({ cores: fc.constantFrom(2, 16), ago: fc.nat(80_000) }), { maxLength: 20 }),
      current: fc.constantFrom(true, true, false),
    })
    .map(({ drawn, drawnPods, arrivals, current }) => {
      const pods = drawnPods.map(({ cores, gpus, on, ssd, waited, ofNode }) =>
        pod(cores, {
          gpus,
          waited,
          constraint: ssd ? { selector: { disk: "ssd" } } : {},
          ...(on !== undefined && on < drawn.length && { on: `n${String(on).padStart(3, "0")}` }),
          ...(ofNode && { ofNode }),
        }),
      );
      const nodes = drawn.map(({ barred, idle, disk, ...rest }, index) => {
        const name = `n${String(index).padStart(3, "0")}`;
        const barrier = barred || !rest.asked || !rest.managed ? "barred" : undefined;
        const there = pods.filter((one) => one.node === name && one.ofNode !== true).length;
        return node(name, { ...rest, barrier, pods: there, labels: { disk }, idle: watts(idle) });
      });
      const history = new ArrivalHistory(milliseconds(MINUTE));
      for (const { cores, ago } of arrivals)
        history.record({
          createdAt: instant(NOW - ago * 1000),
          requests: podRequests(new Map([["cpu", cores]])),
          nodes: {},
        });
      let seenEmpty = emptySleepMemory;
      for (const minutes of [20, 5, 0]) {
        const seen = nodes.filter((_, index) => (drawn[index]?.emptyMinutes ?? 0) >= minutes);
        const gone = nodes.filter((one) => !seen.includes(one)).map((one) => ({ ...one, pods: 1 }));
        seenEmpty = observed([...seen, ...gone].map(onThen), instant(NOW - minutes * MINUTE), seenEmpty);
      }
      const memory: SleepMemory = { ...seenEmpty, since: instant(NOW - 24 * 60 * MINUTE) };
      const emptyFor = new Map(nodes.map(({ name }, index) => [name, drawn[index]?.emptyMinutes ?? 0]));
      return { nodes, pods, arrivals: history, current, memory, emptyFor };
    });
  type Cluster = typeof cluster extends fc.Arbitrary<infer Value> ? Value : never;
  const planned = ({ nodes, pods, arrivals, current, memory }: Cluster, now: Instant = NOW) =>
    planSleep({ nodes, pods, arrivals, current, settings, memory, now });
  // The 63rd cluster of this seed is one of few for which a plan changes if it is made again once it is published.
  const RUNS = { numRuns: 300, seed: 2108147756 };

  it("SLP-49 switches a node off only if every rule allows it", () => {
    fc.assert(
      fc.property(cluster, (drawn) => {
        const { plan: result } = planned(drawn);
        const managed = drawn.nodes.filter((one) => one.managed);
        const failing = managed.filter(
          ({ ready, wanted, state }) => !ready && wanted === "on" && (state === "on" || state === "failed"),
        );
        for (const name of withVerdict(result, "sleep")) {
          const found = drawn.nodes.find((one) => one.name === name);
          expect(found).toMatchObject({ pods: 0, barrier: undefined, asked: true, managed: true, ready: true });
          expect(found).toMatchObject({ wanted: "on", state: "on", cordoned: false });
          expect(found?.cyclesToday).toBeLessThan(8);
          expect(drawn.emptyFor.get(name)).toBeGreaterThanOrEqual(10);
          expect(drawn.current).toBe(true);
          expect(failing.length).toBeLessThanOrEqual(managed.length * sleepLimits.notReady);
          expect(result.nodes.get(name)?.wanted).toBe("off");
        }
      }),
      RUNS,
    );
  });

  it("SLP-42 never puts more than half of a zone to sleep, and SLP-43 leaves every family a node that is awake", () => {
    fc.assert(
      fc.property(cluster, (drawn) => {
        const { plan: result } = planned(drawn);
        const after = published(drawn.nodes, result);
        const slept = new Set(withVerdict(result, "sleep"));
        for (const zone of ["a", "b"]) {
          const members = after.filter((one) => one.zone === zone);
          if (!members.some(({ name }) => slept.has(name))) continue;
          const off = members.filter(({ wanted, state, ready }) => wanted === "off" || state !== "on" || !ready);
          expect(off.length).toBeLessThanOrEqual(members.length / 2);
        }
        for (const family of ["cpu", "gpu"]) {
          const members = after.filter((one) => one.family === family && one.managed);
          if (!members.some(({ name }) => slept.has(name))) continue;
          expect(
            members.some(
              ({ wanted, state, ready, cordoned }) => wanted === "on" && state === "on" && ready && !cordoned,
            ),
          ).toBe(true);
        }
      }),
      RUNS,
    );
  });

  it("SLP-50 is stable: once a plan is published, another pass changes nothing", () => {
    fc.assert(
      fc.property(cluster, (any) => {
        // A node that is called back before it was switched off is free at once, and another one may sleep instead.
        const begun = any.nodes.map((one) =>
          one.wanted === "off" && one.state === "on" ? { ...one, state: "stopping" as const } : one,
        );
        const drawn = { ...any, nodes: begun };
        const first = planned(drawn);
        const nodes = published(drawn.nodes, first.plan);
        const { plan: again, memory } = planned({ ...drawn, nodes, memory: first.memory });
        expect(withVerdict(again, "sleep")).toEqual([]);
        expect(withVerdict(again, "wake")).toEqual([]);
        const waking = nodes.map((one) =>
          one.wanted === "on" && one.state === "off" ? { ...one, state: "waking" as const } : one,
        );
        const { plan: later } = planned({ ...drawn, nodes: waking, memory });
        expect([...withVerdict(later, "sleep"), ...withVerdict(later, "wake")]).toEqual([]);
      }),
      RUNS,
    );
  });

  it("SLP-50 does not depend on the order of nodes or pods", () => {
    fc.assert(
      fc.property(cluster, (drawn) => {
        const decided = ({ plan: { nodes } }: SleepResult) => Array.from(nodes.values());
        const reversed = { ...drawn, nodes: drawn.nodes.toReversed(), pods: drawn.pods.toReversed() };
        expect(decided(planned(reversed))).toEqual(decided(planned(drawn)));
      }),
      RUNS,
    );
  });

  it("SLP-46 a single pending pod that fits on an empty sleeping node gets a node that is awake, waking or woken", () => {
    fc.assert(
      fc.property(cluster, (drawn) => {
        const single = drawn.pods.find(({ node: on, ofNode }) => on === undefined && ofNode !== true);
        if (single === undefined) return;
        const pods = [...drawn.pods.filter(({ node: on }) => on !== undefined), single];
        const { plan: result } = planned({ ...drawn, pods });
        const fits = ({ name, fit }: SleepNode) =>
          admitsNode(single.nodes ?? {}, { name, labels: fit.labels, taints: fit.taints }) &&
          Array.from(single.requests?.amounts ?? []).every(([what, amount]) => {
            const taken = pods.map((one) => (one.node === name ? (one.requests?.amounts.get(what) ?? 0) : 0));
            return (fit.allocatable.get(what) ?? 0) - taken.reduce((sum, part) => sum + part, 0) >= amount;
          });
        const isAwake = ({ wanted, state, ready }: SleepNode) => wanted === "on" && state === "on" && ready;
        const canWake = ({ state, ready }: SleepNode) => state !== "failed" && (state !== "on" || ready);
        const open = drawn.nodes.filter((one) => !one.cordoned && fits(one));
        const waits = result.waits.map(({ node: name }) => name);
        const [first = ""] = waits;
        expect(waits).toHaveLength(!open.some(isAwake) && open.some(canWake) ? 1 : 0);
        const wanted = result.nodes.get(first)?.wanted ?? drawn.nodes.find(({ name }) => name === first)?.wanted;
        expect(wanted ?? "on").toBe("on");
      }),
      RUNS,
    );
  });

  it("SLP-49 counts rate limits over any sequence of passes", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(90), { minLength: 1, maxLength: 12 }), (gaps) => {
        let nodes: readonly SleepNode[] = many(400);
        const next = plansFrom(emptyForLong(nodes));
        let now: Instant = NOW;
        const slept: number[] = [];
        for (const gap of gaps) {
          now = instant(now + gap * 1000);
          const result = next(nodes, { now });
          for (const _ of withVerdict(result, "sleep")) slept.push(now);
          nodes = published(nodes, result);
          for (const at of slept)
            expect(slept.filter((other) => other >= at && other < at + MINUTE).length).toBeLessThanOrEqual(60);
        }
      }),
      { numRuns: 30 },
    );
  });
});
