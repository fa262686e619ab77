// The rules of the published experiment, written for clarity and not for speed. The fast replay must give the same
// results.
import type { RandomSource } from "../../src/core/units/index.ts";
import { roundToMillicores, type Trace } from "../../src/programs/simulate/trace/trace.ts";
import type { Arm } from "./arms.ts";
import { STEP_SEC } from "./cluster.ts";
import type { PublishedShape } from "./node-shape.ts";
import { HISTORY, slope } from "./power-slopes.ts";
import type { Replay, ReplayOptions } from "./replay.ts";

interface RunningJob {
  readonly cores: number;
  readonly gpus: number;
  readonly performance: boolean;
  readonly cpuUtil: number;
  readonly gpuUtil: number;
  remainingSec: number;
}

interface ReferenceNode {
  readonly shape: PublishedShape;
  jobs: RunningJob[];
  freeCores: number;
  freeGpus: number;
  power: number;
  history: number[];
  trend: number;
}

export function referenceReplay({ trace, cluster, arm, steps, random }: ReplayOptions): Replay {
  const nodes = Array.from(cluster.shapeOf, (index): ReferenceNode => {
    const shape = cluster.shapes[index] as PublishedShape;
    return { shape, jobs: [], freeCores: shape.cores, freeGpus: shape.gpus, power: 0, history: [], trend: 0 };
  });
  const placedOn = new Int32Array(trace.length).fill(-1);
  const watts = new Float64Array(steps);
  const totals: number[] = [];
  let next = 0;
  for (let step = 0; step < steps; step++) {
    for (const node of nodes) {
      for (const job of node.jobs) job.remainingSec -= STEP_SEC;
      for (const job of node.jobs.filter(({ remainingSec }) => remainingSec <= 0)) {
        node.freeCores = roundToMillicores(node.freeCores + job.cores);
        node.freeGpus += job.gpus;
      }
      node.jobs = node.jobs.filter(({ remainingSec }) => remainingSec > 0);
      node.power = powerOf(node);
      node.history = [...node.history, node.power].slice(-HISTORY);
      node.trend = slope(node.history);
    }
    totals.push(nodes.reduce((sum, { power }) => sum + power, 0));
    const clusterTrend = slope(totals.slice(-HISTORY));
    for (; next < trace.length && (trace.submitSec[next] as number) <= step * STEP_SEC; next++) {
      const job = runningJobAt(trace, next);
      const chosen = choose(nodes, job, arm, clusterTrend, random);
      if (chosen === -1) continue;
      placedOn[next] = chosen;
      const node = nodes[chosen] as ReferenceNode;
      node.jobs.push(job);
      node.freeCores = roundToMillicores(node.freeCores - job.cores);
      node.freeGpus -= job.gpus;
      node.power = powerOf(node);
      node.history[node.history.length - 1] = node.power;
    }
    watts[step] = nodes.reduce((sum, { power }) => sum + power, 0);
  }
  return { submitted: next, placedOn, watts };
}

function runningJobAt(trace: Trace, index: number): RunningJob {
  return {
    cores: trace.cores[index] as number,
    gpus: trace.gpus[index] as number,
    performance: trace.performance[index] === 1,
    cpuUtil: trace.cpuUtil[index] as number,
    gpuUtil: trace.gpuUtil[index] as number,
    remainingSec: trace.durationSec[index] as number,
  };
}

function powerOf({ shape, jobs, freeGpus }: ReferenceNode): number {
  let cpu = shape.cpuWatts * (jobs.length === 0 ? 0.05 : 0.1);
  let gpu = 0;
  for (const job of jobs) {
    cpu += shape.cpuWatts * 0.7 * (job.cores / shape.cores) * job.cpuUtil;
    gpu += job.gpus * shape.gpuWatts * (job.performance ? 0.85 : 0.65) * job.gpuUtil;
  }
  return cpu + (gpu + 100 * freeGpus);
}

/**
 * Returns the feasible node with the highest score, the first on a tie; for `random` any feasible node. −1 = none.
 */
function choose(
  nodes: readonly ReferenceNode[],
  job: RunningJob,
  arm: Arm,
  clusterTrend: number,
  random: RandomSource,
): number {
  const feasible = [...nodes.keys()].filter((index) => {
    const node = nodes[index] as ReferenceNode;
    return node.freeCores >= job.cores && node.freeGpus >= job.gpus;
  });
  if (arm === "random") {
    return feasible.length === 0 ? -1 : (feasible[Math.floor(random.next() * feasible.length)] as number);
  }
  let best = -1;
  let bestScore = -Infinity;
  for (const index of feasible) {
    const score = scores[arm](nodes[index] as ReferenceNode, job, clusterTrend);
    if (score > bestScore) {
      best = index;
      bestScore = score;
    }
  }
  return best;
}

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

function marginalWatts({ shape }: ReferenceNode, job: RunningJob): number {
  const cpu = shape.cpuWatts * 0.7 * Math.min(1, job.cores / shape.cores);
  return shape.gpus > 0 ? cpu + job.gpus * shape.gpuWatts * (job.performance ? 0.85 : 0.65) : cpu;
}

function filledShare({ shape, freeCores, freeGpus }: ReferenceNode): number {
  const gpus = shape.gpus > 0 ? (shape.gpus - freeGpus) / shape.gpus : 0;
  return (shape.cores - freeCores) / shape.cores + gpus;
}

const headroom = ({ shape, power }: ReferenceNode, marginal: number): number =>
  0.7 * Math.max(0, ((shape.peakWatts - power - marginal) / shape.peakWatts) * 100);
const cooling = ({ shape, power }: ReferenceNode): number =>
  0.15 * (100 - Math.min(100, (power / shape.peakWatts) * 100));
const trendScale = (clusterTrend: number): number => (Math.abs(clusterTrend) > 500 ? 2 : 6);

type Score = (node: ReferenceNode, job: RunningJob, clusterTrend: number) => number;

const scores: Readonly<Record<Exclude<Arm, "random">, Score>> = {
  most: filledShare,
  least: (node) => -filledShare(node),
  shipped: (node, job, clusterTrend) =>
    clamp(
      headroom(node, marginalWatts(node, job)) + cooling(node) - clamp(node.trend / trendScale(clusterTrend), -25, 25),
      0,
      100,
    ),
  redesign: (node, job) =>
    clamp(
      headroom(node, marginalWatts(node, job)) +
        cooling(node) -
        10 * clamp(node.trend / (0.1 * node.shape.peakWatts), -1, 1),
      0,
      100,
    ),
  legacy: (node, job, clusterTrend) => {
    const { shape, power, freeGpus, trend } = node;
    const strandedGpus = job.gpus === 0 && shape.gpus > 0 ? Math.min(20, Math.min(500, 100 * freeGpus) / 10) : 0;
    return (
      0.4 * Math.max(0, (shape.peakWatts - power) / shape.peakWatts) * 100 +
      0.3 * (100 - Math.min(100, (power / 4000) * 80)) +
      0.3 * (100 - Math.min(100, (power / 50_000) * 100)) -
      Math.min(20, marginalWatts(node, job) / 20) -
      strandedGpus -
      clamp(trend / trendScale(clusterTrend), -20, 25)
    );
  },
};
