import type { Node, NodeTwin, Pod } from "../../api/index.ts";
import { hardwareView } from "../../inventory/index.ts";
import { nodeModelOf, type SimulatedJob, SimulatedNode, WORK_KINDS, type WorkKind } from "../../physics/index.ts";
import { cappedPower, effectiveCaps, powerMeasurement } from "../../twin/index.ts";
import {
  instant,
  isoTime,
  type Joules,
  joules,
  percent,
  type RandomSource,
  seconds,
  watts,
  wattsPerMinute,
} from "../../units/index.ts";
import { defaultReportSettings } from "../cluster-objects.ts";
import { EnergyAccount, type JoulesInterval } from "../energy-account.ts";
import { energySampleOf } from "../energy-sample.ts";

/** What the estimator says about a simulated run, and what is true, at the wall. */
export interface SavingsTruth {
  readonly used: Joules;
  /** `used` as the account counts it. */
  readonly accounted: Joules;
  /** The energy of the same jobs on the same nodes without caps. */
  readonly counterfactual: Joules;
  readonly saved: Joules;
  readonly estimated: JoulesInterval;
}

const HOUR = 3600;
const HORIZON = 8 * HOUR;
/** Jobs start in the first half, so that all of them end in both runs. */
const LAST_START = 4 * HOUR;
const SAMPLE = 30;

/** Nodes of the kinds that the guides use, with the caps of an eco node. */
const SHAPES = [
  { cpu: "EPYC 9654", sockets: 2, threads: 384, capPct: 60, kinds: ["compute", "analytics", "service"] },
  { cpu: "Xeon Platinum 8480+", sockets: 2, threads: 224, capPct: 55, kinds: ["compute", "analytics", "service"] },
  { cpu: "EPYC 9454", sockets: 1, threads: 96, capPct: 70, kinds: ["compute", "service"] },
  {
    cpu: "Xeon Platinum 8480+",
    sockets: 2,
    threads: 224,
    capPct: 60,
    gpu: "H100 SXM",
    gpus: 8,
    kinds: ["training", "dense", "decode"],
  },
] as const;

interface TimedJob extends SimulatedJob {
  readonly startsAt: number;
  /** A service ends at this time, however fast it runs. */
  readonly endsAt: number | undefined;
}

interface RunNode {
  readonly object: Node;
  readonly capPct: number;
  readonly jobs: readonly TimedJob[];
}

/**
 * Runs jobs on capped nodes, lets the estimator watch what a cluster publishes about them (twins, pods), and runs the same jobs
 * uncapped. `load` is the share of the CPUs or boards that jobs request, 0 to 1.
 */
export function savingsTruth(random: RandomSource, load: number, nodeCount = 12): SavingsTruth {
  const nodes = Array.from({ length: nodeCount }, (_, index) => randomNode(random, load, index));
  const account = new EnergyAccount();
  const capped = simulate(nodes, true, account);
  const uncapped = simulate(nodes, false);
  return {
    used: capped,
    accounted: account.totals.used,
    counterfactual: uncapped,
    saved: joules(uncapped - capped),
    estimated: account.totals.notUsed,
  };
}

function randomNode(random: RandomSource, load: number, index: number): RunNode {
  const shape = SHAPES[index % SHAPES.length] as (typeof SHAPES)[number];
  const gpus = "gpus" in shape ? shape.gpus : 0;
  const labels: Record<string, string> = {
    "joulie.io/managed": "true",
    "joulie.io/hw.cpu-model": shape.cpu,
    "joulie.io/hw.cpu-sockets": String(shape.sockets),
  };
  if ("gpu" in shape) {
    labels["joulie.io/hw.gpu-model"] = shape.gpu;
    labels["joulie.io/hw.gpu-count"] = String(gpus);
  }
  const allocatable = { cpu: String(shape.threads), ...(gpus > 0 && { "nvidia.com/gpu": String(gpus) }) };
  const object: Node = { metadata: { name: `node-${index}`, uid: `u${index}`, labels }, status: { allocatable } };
  const jobs: TimedJob[] = [];
  const units = gpus > 0 ? gpus : shape.threads / 2;
  // Each lane holds one job after the other; lanes fill the wanted share of the node.
  for (let used = 0; used < units * load; ) {
    const size = gpus > 0 ? 1 + Math.floor(random.next() * 2) : Math.ceil((units / 8) * (0.5 + random.next()));
    for (let at = (random.next() * HOUR) / 4; at < LAST_START; ) {
      const length = 1800 + random.next() * 3600;
      const kind = WORK_KINDS[shape.kinds[Math.floor(random.next() * shape.kinds.length)] as keyof typeof WORK_KINDS];
      const job = jobOf(kind, `${index}-${jobs.length}`, at, size, gpus > 0, length);
      jobs.push(job);
      // Jobs start at the same times in both runs, even if a capped one before them has not ended.
      at += 1.7 * length;
    }
    used += size;
  }
  return { object, capPct: shape.capPct, jobs };
}

function jobOf(kind: WorkKind, id: string, startsAt: number, size: number, onGpus: boolean, length: number): TimedJob {
  const isService = kind === WORK_KINDS.service;
  return {
    id,
    startsAt,
    endsAt: isService ? startsAt + length : undefined,
    cores: onGpus ? size * 8 : size,
    cpuUtil: kind.cpuUtil,
    cpuShare: kind.cpuShare,
    ...(onGpus && { gpus: size, gpuUtil: kind.gpuUtil, gpuShare: kind.gpuShare }),
    work: seconds(isService ? Infinity : length),
  };
}

/** The energy of all nodes until the horizon. `account` watches samples of capped nodes. */
function simulate(nodes: readonly RunNode[], isCapped: boolean, account?: EnergyAccount): Joules {
  const machines = nodes.map(({ object, capPct, jobs }) => {
    const hardware = hardwareView(object, undefined);
    const machine = new SimulatedNode<TimedJob>(nodeModelOf(hardware));
    const spec = {
      cpu: { packagePowerCapPctOfMax: percent(capPct) },
      ...(hardware.gpu && { gpu: { powerCap: { capPctOfMax: percent(capPct) } } }),
    };
    const caps = effectiveCaps(spec, hardware);
    if (isCapped) {
      const limit = cappedPower(hardware, caps);
      machine.setCaps({
        cpuWattsPerPackage: watts((limit?.cpu ?? 0) / hardware.cpu.sockets),
        ...(hardware.gpu && { gpuWattsPerBoard: watts((limit?.gpu ?? 0) / hardware.gpu.count) }),
      });
    }
    return { object, hardware, caps, spec, machine, waiting: jobs.toSorted((a, b) => a.startsAt - b.startsAt) };
  });
  const running = machines.map((): Map<string, TimedJob> => new Map());
  for (let time = 0; time <= HORIZON; time += SAMPLE) {
    machines.forEach(({ machine, waiting }, index) => {
      const active = running[index] as Map<string, TimedJob>;
      for (let event = machine.advance(seconds(time)); event !== undefined; event = machine.advance(seconds(time)))
        if (event.kind === "finished") active.delete(event.job.id);
      for (const job of active.values())
        if (job.endsAt !== undefined && job.endsAt <= time) {
          machine.stop(job.id);
          active.delete(job.id);
        }
      for (let job = waiting[0]; job !== undefined && job.startsAt <= time; job = waiting[0]) {
        waiting.shift();
        machine.start(job);
        active.set(job.id, job);
      }
    });
    if (account === undefined) continue;
    const twins = new Map(machines.map((one) => [one.object.metadata.name, twinOf(one, time)]));
    const pods = running.flatMap((jobs, index) => Array.from(jobs.values(), (job) => podOf(job, `node-${index}`)));
    account.add(
      energySampleOf(
        {
          now: instant(time * 1000),
          nodes: nodes.map(({ object }) => object),
          twins,
          hardware: new Map(),
          profiles: new Map(),
          endpoints: new Map(),
          pods,
        },
        defaultReportSettings,
      ),
    );
  }
  return joules(machines.reduce((sum, { machine }) => sum + machine.wallJoules, 0));
}

interface SimulatedMachine {
  readonly object: Node;
  readonly hardware: ReturnType<typeof hardwareView>;
  readonly caps: ReturnType<typeof effectiveCaps>;
  readonly spec: Pick<NodeTwin["spec"], "cpu" | "gpu">;
  readonly machine: SimulatedNode<TimedJob>;
}

/** What operator and agent publish about the node. */
function twinOf({ object, hardware, caps, spec, machine }: SimulatedMachine, time: number): NodeTwin {
  const { name } = object.metadata;
  const reading = { power: machine.watts, at: instant(time * 1000), source: "agent" } as const;
  const measured = powerMeasurement(hardware, caps, reading, wattsPerMinute(0));
  const { cpuWatts, gpuWatts } = machine.operation;
  return {
    metadata: { name },
    spec: { nodeName: name, profile: "eco", ...spec },
    status: {
      lastUpdated: isoTime(reading.at),
      ...(measured && { powerMeasurement: measured }),
      controlStatus: {
        cpu: { observedPowerWatts: cpuWatts, updatedAt: isoTime(reading.at) },
        ...(hardware.gpu && { gpu: { observedPowerWatts: gpuWatts, updatedAt: isoTime(reading.at) } }),
      },
    },
  };
}

/** A job requests the threads of its cores. */
const podOf = ({ id, cores, gpus = 0 }: TimedJob, nodeName: string): Pod => ({
  metadata: { name: id, uid: id },
  spec: {
    nodeName,
    containers: [
      { resources: { requests: { cpu: String(cores * 2), ...(gpus > 0 && { "nvidia.com/gpu": String(gpus) }) } } },
    ],
  },
});
