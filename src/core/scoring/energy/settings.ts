import { POWER_STATES } from "../../power/index.ts";
import { type Seconds, seconds, type Watts } from "../../units/index.ts";

/** Weights of the terms of a pod's marginal joules. 0 turns a term off. */
interface EnergyWeights {
  /**
   * Idle power of a node that the pod keeps awake longer than the pods that run there. It counts only where nodes are put to
   * sleep; otherwise an idle node draws the same power with and without the pod.
   */
  readonly awake: number;
  /** Idle power of GPU boards that become unusable for the GPU pods of this cluster. */
  readonly fragmentation: number;
  /** Idle power of a GPU node on which a pod without GPUs leaves too few cores for the free boards. */
  readonly starvation: number;
  /**
   * Idle power of the share of a GPU node's CPUs that a pod without GPUs takes: it keeps the node from sleeping, and its CPUs
   * from GPU pods. The larger one of this term and `starvation` counts.
   */
  readonly guests: number;
  /**
   * Idle power of the share of the CPUs that stays free: prefers full nodes, so that large pods find room. With 0.1 instead of
   * 1 a nearly idle cluster saves half a percent more, and a nearly full one makes large pods wait half as long again.
   */
  readonly spare: number;
  /**
   * Idle power of the share of the boards that stays free: prefers full GPU nodes, so that others can sleep. It counts on GPU
   * nodes instead of `spare`; if it is 0, free CPUs count there as well.
   */
  readonly spareBoards: number;
}

export interface EnergySettings {
  /** The expected life of a pod that declares none. */
  readonly duration: Seconds;
  /** The share of its requested CPUs that a pod is expected to use. */
  readonly cpuUtilisation: number;
  /** The load of a requested GPU board. */
  readonly gpuUtilisation: number;
  /** Cores that a free GPU board needs for its next pod. */
  readonly coresPerFreeBoard: number;
  /** Whether a GPU pod is expected to take longer on a slower board, in proportion to the boards' FP16 throughput. */
  readonly boardSpeeds: boolean;
  /** The power of a sleeping node. */
  readonly offWatts: { readonly withoutGpus: Watts; readonly withGpus: Watts };
  readonly weights: EnergyWeights;
}

/** Durations and utilisation are fixed: in simulations, learning them gained less than half a percent of the energy. */
export const defaultEnergySettings: EnergySettings = {
  duration: seconds(30 * 60),
  cpuUtilisation: 0.6,
  gpuUtilisation: 0.7,
  coresPerFreeBoard: 16,
  boardSpeeds: true,
  offWatts: { withoutGpus: POWER_STATES.offWithoutGpus, withGpus: POWER_STATES.offWithGpus },
  weights: { awake: 0, fragmentation: 1, starvation: 1, guests: 0, spare: 1, spareBoards: 0 },
};

/** An idle GPU node draws about as much as fourteen idle nodes without GPUs, so even small pods are better off elsewhere. */
const GUESTS_WHERE_NODES_SLEEP = 4;

/** If nodes sleep, a pod that keeps one awake costs the idle power of that node, and full GPU nodes let others sleep. */
export const energySettings = ({ sleeps = false }: { readonly sleeps?: boolean | undefined } = {}): EnergySettings =>
  sleeps
    ? {
        ...defaultEnergySettings,
        weights: { ...defaultEnergySettings.weights, awake: 1, guests: GUESTS_WHERE_NODES_SLEEP, spareBoards: 1 },
      }
    : defaultEnergySettings;
