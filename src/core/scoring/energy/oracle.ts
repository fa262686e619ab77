import type { Labels } from "../../api/index.ts";
import { gpuBoardsOn } from "../../demand/index.ts";
import type { HardwareView } from "../../inventory/index.ts";
import { type Instant, type Joules, joules, type Milliseconds, seconds, type Watts } from "../../units/index.ts";
import { isFresh } from "../batch.ts";
import type { TwinState } from "../twin-state.ts";
import { cpusOn, energyNodeOf, type NodeLoad, nodeLoadOf } from "./energy-node.ts";
import type { PlacedPod, RunningPod } from "./energy-pod.ts";
import {
  addedWatts,
  awakeJoules,
  cpuLoad,
  energyScore,
  fragmentationJoules,
  guestJoules,
  OVER_CAP,
  pueFactor,
  remainingSeconds,
  runningJoules,
  spareJoules,
  starvationJoules,
} from "./formula.ts";
import { type GpuMix, unusableBoards } from "./gpu-mix.ts";
import type { EnergySettings } from "./settings.ts";

/** A candidate node and its pods. */
export interface EnergyCandidate {
  readonly hardware?: HardwareView | undefined;
  readonly labels?: Labels | undefined;
  /** For the cap; the joules do not depend on it, except on its PUE. */
  readonly twin?: TwinState | undefined;
  /** The pods, or what they add up to. */
  readonly pods: Iterable<RunningPod> | NodeLoad;
}

/** The same for all candidates of one request. */
export interface EnergyContext {
  readonly now: Instant;
  readonly mix: GpuMix;
  readonly stalenessThreshold: Milliseconds;
  readonly facilityMetrics: boolean;
}

/** The node's power is unknown, so it gets the `headroom` score. */
interface UnknownEnergy {
  readonly fallback: "unknown hardware";
}

/** The terms are weighted and add up to `joules`. */
export interface MarginalJoules {
  readonly fallback?: undefined;
  readonly addedWatts: Watts;
  readonly durationSeconds: number;
  readonly running: Joules;
  readonly awake: Joules;
  readonly fragmentation: Joules;
  readonly starvation: Joules;
  readonly spare: Joules;
  /** Multiplied with the PUE if that is enabled. */
  readonly joules: Joules;
  /** The measured power and the pod's watts exceed the node's cap; unknown without a fresh measurement. */
  readonly exceedsCap: boolean | undefined;
}

export type EnergyBreakdown = UnknownEnergy | MarginalJoules;

const isLoad = (pods: EnergyCandidate["pods"]): pods is NodeLoad => "usedCpus" in pods;

/** The reference implementation for one pod and one node. `kernel.ts` is the fast one; this one explains a score. */
export function marginalJoules(
  pod: PlacedPod,
  { hardware, labels, twin, pods }: EnergyCandidate,
  { now, mix, stalenessThreshold, facilityMetrics }: EnergyContext,
  settings: EnergySettings,
): EnergyBreakdown {
  const node = energyNodeOf(hardware, labels, settings);
  if (node === undefined) return { fallback: "unknown hardware" };
  const { weights, cpuUtilisation } = settings;
  const load = isLoad(pods) ? pods : nodeLoadOf(node, pods);
  const { usedCpus, usedBoards, openEnded, firstEnd, lastEnd } = load;
  const cpus = cpusOn(node.cpus, pod.demand.cpuCores);
  const boards = gpuBoardsOn(pod.demand.gpus, node.gpuNode);
  const withGpus = pod.demand.gpus.size > 0;
  const time = seconds((pod.duration ?? settings.duration) * (withGpus ? node.slowdown : 1));

  const cpuWatts = (used: number): number => node.cpuRange * node.cpuShape(cpuLoad(used, node.cpus, cpuUtilisation));
  const added = addedWatts(cpuWatts(usedCpus), cpuWatts(usedCpus + cpus), boards, node.wattsPerBoard);
  const freeCpusBefore = Math.max(0, node.cpus - usedCpus);
  const freeCpus = Math.max(0, node.cpus - (usedCpus + cpus));
  const freeBoardsBefore = Math.max(0, node.boards - usedBoards);
  const freeBoards = Math.max(0, node.boards - (usedBoards + boards));

  const remaining = remainingSeconds(openEnded, firstEnd, lastEnd, now, settings.duration);
  const running = runningJoules(added, node.restSlope, time);
  const awake = joules(weights.awake * awakeJoules(node.saved, time, remaining));
  const fragmentation = joules(
    node.boards > 0
      ? weights.fragmentation *
          fragmentationJoules(
            unusableBoards(freeBoardsBefore, freeCpusBefore, mix),
            unusableBoards(freeBoards, freeCpus, mix),
            node.boards,
            node.idle,
            time,
          )
      : 0,
  );
  const starvation = joules(
    withGpus || node.boards === 0
      ? 0
      : Math.max(
          weights.starvation * starvationJoules(freeCpus, freeBoards, node.cpusPerFreeBoard, node.idle, time),
          weights.guests * guestJoules(cpus, node.cpus, node.idle, time),
        ),
  );
  const spare = joules(
    weights.spareBoards !== 0 && node.boards > 0
      ? weights.spareBoards * spareJoules(freeBoards, node.boards, node.idle, time)
      : weights.spare * spareJoules(freeCpus, node.cpus, node.idle, time),
  );
  const pue = facilityMetrics ? pueFactor(Math.max(1, twin?.pue ?? 1)) : 1;
  return {
    addedWatts: added,
    durationSeconds: time,
    running,
    awake,
    fragmentation,
    starvation,
    spare,
    joules: joules((running + awake + fragmentation + starvation + spare) * pue),
    exceedsCap:
      twin?.power === undefined || !isFresh(twin, now, stalenessThreshold)
        ? undefined
        : twin.power.drawn + added > twin.power.budget,
  };
}

/** The scores of all candidates of a request. `headroom` are their scores by the `headroom` formula. */
export function energyScores(
  candidates: readonly EnergyBreakdown[],
  headroom: readonly number[],
  scoreMax: number,
): number[] {
  const costs = candidates.map((found) => {
    if (found.fallback !== undefined) return Number.NaN;
    return found.exceedsCap === true ? OVER_CAP : found.joules;
  });
  const comparable = costs.filter((cost) => Number.isFinite(cost));
  const least = Math.min(...comparable);
  const most = Math.max(...comparable);
  return costs.map((cost, at) =>
    Number.isNaN(cost) ? (headroom[at] as number) : energyScore(cost, least, most, scoreMax),
  );
}
