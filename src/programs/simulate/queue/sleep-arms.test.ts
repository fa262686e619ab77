import { afterEach, describe, expect, it, vi } from "vitest";
import { ArrivalHistory } from "../../../core/policy/index.ts";
import { milliseconds, seconds } from "../../../core/units/index.ts";
import { type Contender, contenderName, parseContender } from "../contenders.ts";
import type { SleepOptions } from "../experiment.ts";
import { type Trace, TraceBuilder } from "../trace/trace.ts";
import { queueExperiment } from "./experiment.ts";
import { type ClusterMachine, machinesOf } from "./machines.ts";
import { type QueueRunRecord, queueRunFigures } from "./queue-figures.ts";
import { simulateQueue } from "./run.ts";
import { SimulatedCluster } from "./simulated-cluster.ts";
import { SimulatedPods } from "./simulated-pods.ts";
import { SimulatedPowerProgram } from "./simulated-power.ts";
import { SimulatedSnapshot } from "./simulated-snapshot.ts";

afterEach(() => vi.restoreAllMocks());

const HOURS = 8;
const NODES = 25;
/** Seconds. By then the nodes have rested since their last wake. */
const LONG_AFTER_WAKE = 1000;

interface Switched {
  readonly node: number;
  readonly how: string;
  readonly at: number;
}

interface Watched {
  readonly record: QueueRunRecord;
  readonly switched: readonly Switched[];
  readonly machines: readonly ClusterMachine[];
}

function run(name: string, sleep: SleepOptions = {}, load = 0.3): Watched {
  const experiment = queueExperiment("exp04", { nodes: NODES, hours: HOURS, load });
  return runTrace(name, sleep, experiment.traceOf(1), NODES);
}

function runTrace(name: string, sleep: SleepOptions, trace: Trace, nodes: number): Watched {
  const contender = parseContender(name) as Contender;
  const machines = machinesOf("exp04", nodes, sleep);
  const spy = vi.spyOn(SimulatedCluster.prototype, "switchPower");
  const setup = {
    trace,
    machines,
    seed: 1,
    atWall: true,
    window: [7200, HOURS * 3600],
    sleep,
  } as const;
  const record = simulateQueue(setup, contender);
  const switched = spy.mock.calls.map(([node, how, at]) => ({ node, how, at }));
  spy.mockRestore();
  return { record, switched, machines };
}

const energyOf = ({ record }: Watched): number => record.energy.total;

describe("arms with sleep", () => {
  it.each(["energy+sleep", "least+sleep", "kube+sleep"])(
    "SLP-73 %s does all jobs with less energy than without",
    (name) => {
      const plain = run(name.replace("+sleep", ""));
      const sleeping = run(name);
      expect(plain.switched).toEqual([]);
      expect(sleeping.record.energy.offSeconds).toBeGreaterThan(0);
      expect(sleeping.record.endedAt.some(Number.isNaN)).toBe(false);
      expect(energyOf(sleeping)).toBeLessThan(energyOf(plain));
    },
  );

  it("SLP-73 the energy of all states is the total", () => {
    const { total, byState } = run("energy+sleep", { failedBoots: 0.3 }).record.energy;
    const sum = Object.values(byState).reduce((all, joules) => all + joules, 0);
    expect(sum / total).toBeCloseTo(1, 12);
    for (const state of ["empty", "off", "stopping", "waking", "failed"] as const)
      expect(byState[state]).toBeGreaterThan(0);
  });

  it("SLP-73 accounts for the power of empty nodes by what keeps them on", () => {
    const { figures } = queueRunFigures(run("energy+sleep").record);
    const parts = ["Reserve", "Family", "Zone", "Other"].map((part) => figures[`empty${part}Pct`] as number);
    // Of all energy the rest is that of empty nodes; the parts are samples of it.
    const { fullSpeedPct = 0, cappedPct = 0, offPct = 0, transitionPct = 0 } = figures;
    const empty = 100 - fullSpeedPct - cappedPct - offPct - transitionPct;
    expect(empty).toBeGreaterThan(1);
    expect(Math.abs(parts.reduce((sum, part) => sum + part, 0) - empty)).toBeLessThan(empty / 10);
    expect(Math.min(...parts)).toBeGreaterThanOrEqual(0);
    expect(figures["emptyReservePct"]).toBeGreaterThan(0);
    expect(figures["emptyOtherPct"]).toBeGreaterThan(0);
    expect(figures["freeBoards"]).toBeGreaterThan(0);
    expect(figures["freeBoards"]).toBeLessThan(40);
    expect(queueRunFigures(run("energy").record).figures).not.toHaveProperty("emptyZonePct");
  });

  it("SLP-73 with the whole cluster idle, half of the zone keeps the others on", () => {
    const trace = new TraceBuilder();
    for (const submitSec of [0, HOURS * 3600 - 1])
      trace.add({ submitSec, cores: 1, gpus: 0, performance: false, cpuUtil: 1, gpuUtil: 0, durationSec: 60 });
    const { figures } = queueRunFigures(runTrace("energy+sleep", {}, trace.build(), NODES).record);
    expect(figures["asleepMean"]).toBeGreaterThan(11);
    expect(figures["emptyZonePct"]).toBeGreaterThan(4 * (figures["emptyReservePct"] as number));
  });

  it("SLP-71 starts no job on a node that is not on, and takes no power from a node with jobs", () => {
    const site = new SimulatedCluster(machinesOf("exp04", 5), true, true);
    const job = { id: "0", index: 0, cores: 1, gpus: 0, performance: false, cpuUtil: 1, cpuShare: 1, work: seconds(9) };
    site.switchPower(0, "shutDown", 0);
    expect(() => site.start(0, job, 1)).toThrow("stopping");
    site.start(1, job, 1);
    expect(() => site.switchPower(1, "shutDown", 2)).toThrow("1 jobs");
  });

  it("SLP-74 at most half of the nodes are down at any time", () => {
    const { switched, machines } = run("energy+sleep", { after: milliseconds(1), reserveQuantile: 0 }, 0.1);
    let down = 0;
    let most = 0;
    const changes = switched.flatMap(({ node, how, at }) =>
      how === "shutDown"
        ? [{ at, by: 1 }]
        : [{ at: at + (machines[node] as ClusterMachine).model.states.bootTime, by: -1 }],
    );
    for (const { by } of changes.toSorted((a, b) => a.at - b.at || a.by - b.by)) most = Math.max(most, (down += by));
    expect(most).toBe(Math.floor(NODES / 2));
  });

  it("SLP-74 no node sleeps more than 8 times a day", () => {
    // Every half hour for a day all CPU nodes are needed for a minute. Nodes boot and fall asleep at once.
    const often = {
      after: milliseconds(1),
      reserveQuantile: 0,
      failedBoots: 0,
      bootCpu: seconds(1),
      bootGpu: seconds(1),
    };
    const builder = new TraceBuilder();
    for (let round = 0; round < 47; round++)
      for (let job = 0; job < 4; job++)
        builder.add({
          submitSec: 600 + round * 1800,
          cores: 96,
          gpus: 0,
          performance: false,
          cpuUtil: 1,
          gpuUtil: 0,
          durationSec: 60,
        });
    const { switched, record } = runTrace("least+sleep", often, builder.build(), 5);
    expect(record.endedAt.some(Number.isNaN)).toBe(false);
    const sleeps = Map.groupBy(
      switched.filter(({ how }) => how === "shutDown"),
      ({ node }) => node,
    );
    expect(Math.max(...Array.from(sleeps.values(), ({ length }) => length))).toBe(8);
  });

  it("SLP-75 a job that fits on no awake node wakes one within two seconds", () => {
    const { record, switched } = run("energy+sleep", { reserveQuantile: 0, failedBoots: 0 });
    const { wakes } = record.sleep ?? {};
    expect(wakes?.pending).toBeGreaterThan(0);
    const { submitSec } = record.trace;
    // Of the jobs that had to wait, at least one had a node switched on for it right after it arrived.
    const waited = Array.from(submitSec).filter((at, job) => (record.startedAt[job] as number) - at > 200);
    expect(waited.length).toBeGreaterThan(0);
    const delays = waited.map((at) =>
      Math.min(...switched.flatMap((one) => (one.how === "switchOn" && one.at >= at ? one.at - at : []))),
    );
    expect(Math.min(...delays)).toBeLessThanOrEqual(2);
  });

  it("SLP-76 boots that fail are repeated once; the second failure takes the node out until it is repaired", () => {
    const { record, switched } = run("energy+sleep", { failedBoots: 1 });
    const failed = switched.filter(({ how }) => how === "failToSwitchOn");
    expect(record.sleep?.failedBoots).toBeGreaterThan(1);
    const byNode = Map.groupBy(failed, ({ node }) => node);
    for (const [node, boots] of byNode) {
      expect(boots.length).toBeLessThanOrEqual(2);
      const [first, second] = boots;
      if (first === undefined || second === undefined) continue;
      expect(second.at - first.at).toBe(910);
      const later = switched.filter((one) => one.node === node && one.at > second.at);
      expect(later.every(({ at }) => at - second.at > 86_400)).toBe(true);
    }
    expect(record.endedAt.some(Number.isNaN)).toBe(false);
  });

  it("SLP-71 a node that is called back during its shutdown keeps its taint until it has booted again", () => {
    const machines = machinesOf("exp04", 5);
    const site = new SimulatedCluster(machines, true, true);
    const snapshot = new SimulatedSnapshot(machines, new SimulatedPods([], machines, new ArrivalHistory()));
    const program = new SimulatedPowerProgram(machines, site, snapshot, {
      seed: 1,
      failedBoots: 0,
      onChange: () => {},
    });
    const states: string[] = [];
    const until = (end: number): void => {
      for (; now < end; now++) {
        for (let event = site.nextAt <= now ? site.processNextEvent() : undefined; event; event = undefined)
          if (event.switched !== undefined) program.switched(event.node, event.switched, now);
        program.advance(now);
        const state = `${site.powerOf(0)}${site.tainted?.[0] === 1 ? " tainted" : ""}`;
        if (states.at(-1) !== state) states.push(state);
      }
    };
    let now = LONG_AFTER_WAKE;
    program.want("node-00000", "off", now);
    until(LONG_AFTER_WAKE + 5);
    program.want("node-00000", "on", now);
    until(LONG_AFTER_WAKE + 10);
    expect(states.splice(0)).toEqual(["on", "on tainted", "on"]);
    program.want("node-00000", "off", now);
    until(LONG_AFTER_WAKE + 40);
    program.want("node-00000", "on", now);
    until(LONG_AFTER_WAKE + 500);
    expect(states).toEqual([
      "on",
      "on tainted",
      "stopping tainted",
      "off tainted",
      "waking tainted",
      "on tainted",
      "on",
    ]);
  });

  it("SLP-72 whether the n-th boot of a node fails depends on the seed alone", () => {
    const outcomes = (seed: number, order: readonly number[]): string[] => {
      const machines = machinesOf("exp04", 5);
      const site = new SimulatedCluster(machines, true, true);
      const snapshot = new SimulatedSnapshot(machines, new SimulatedPods([], machines, new ArrivalHistory()));
      const program = new SimulatedPowerProgram(machines, site, snapshot, {
        seed,
        failedBoots: 0.5,
        onChange: () => {},
      });
      const results = new Map<number, string>();
      const off = new Set<number>();
      const powers = vi.spyOn(site, "powerOf").mockImplementation((node) => (off.has(node) ? "off" : "on"));
      const switches = vi.spyOn(site, "switchPower").mockImplementation((node, how) => {
        if (how === "shutDown") {
          off.add(node);
          program.switched(node, "off", now);
        } else results.set(node, how);
      });
      let now = LONG_AFTER_WAKE;
      for (const node of order) {
        program.want((machines[node] as ClusterMachine).name, "off", now);
        for (let step = 0; step < 100; step++) program.advance(++now);
        program.want((machines[node] as ClusterMachine).name, "on", now);
        for (let step = 0; step < 5; step++) program.advance(++now);
      }
      powers.mockRestore();
      switches.mockRestore();
      return [...results].toSorted(([a], [b]) => a - b).map(([, how]) => how);
    };
    expect(outcomes(7, [0, 1, 2, 3, 4])).toEqual(outcomes(7, [4, 2, 0, 3, 1]));
    const different = new Set([1, 2, 3, 4, 5, 6].map((seed) => outcomes(seed, [0, 1, 2, 3, 4]).join()));
    expect(different.size).toBeGreaterThan(1);
  });
});

describe("options of sleep", () => {
  const plain = energyOf(run("energy+sleep"));

  it.each<SleepOptions>([
    { bootCpu: seconds(900) },
    { bootGpu: seconds(1800) },
    { failedBoots: 0.5 },
    { reserveQuantile: 0 },
    { zoneShare: 0.2 },
    { after: milliseconds(3_600_000) },
  ])("change the result: %j", (option) => {
    expect(energyOf(run("energy+sleep", option))).not.toBe(plain);
  });
});

it.each([
  ["energy-sleep", { arm: "energy", policy: "fit_aware_v1", sleep: true }],
  ["energy", { arm: "energy", policy: "fit_aware_v1" }],
  ["partition", { arm: "joulie", policy: "static_partition" }],
  ["least+sleep", { arm: "least", policy: "none", sleep: true }],
  ["kube+sleep:fit_aware_v1", { arm: "kube", policy: "fit_aware_v1", sleep: true }],
] as const)("reads %s and names it so", (text, contender) => {
  const read = parseContender(text);
  expect(read).toEqual(contender);
  expect(contenderName(read as Contender)).toBe(text);
});

it("reads an arm and its policy that a preset has, and names the preset", () => {
  expect(contenderName(parseContender("energy+sleep") as Contender)).toBe("energy-sleep");
  expect(contenderName(parseContender("joulie:static_partition") as Contender)).toBe("partition");
});

it.each(["+sleep", "sleep", "observe", "energy+", "energy+sleep+sleep", "energy:none+sleep"])("rejects %s", (text) => {
  expect(parseContender(text)).toBeUndefined();
});
