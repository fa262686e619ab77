import type { Labels } from "../../api/index.ts";
import type { WorkloadClass } from "../../demand/index.ts";
import type { HardwareView } from "../../inventory/index.ts";
import type { Seconds, Watts } from "../../units/index.ts";
import { isFreshAt } from "../batch.ts";
import { growColumns, numberColumn } from "../columns.ts";
import type { ScoringSettings } from "../formula.ts";
import { ScoringKernel } from "../kernel.ts";
import { cpusOn, type EnergyNode, energyNodeOf, type NodeLoad, nodeLoadOf } from "./energy-node.ts";
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
import { type GpuMix, GpuMixCounter, unusableBoards } from "./gpu-mix.ts";
import type { EnergySettings } from "./settings.ts";

/** How a request was scored. */
export interface EnergyOutcome {
  /** Candidates with unknown hardware: they have the `headroom` score. */
  readonly unknown: number;
  /** Candidates whose cap the pod would exceed: they have score 0. */
  readonly overCap: number;
  /** Infinite if no candidate has comparable joules. */
  readonly least: number;
  readonly most: number;
}

const noLoad: NodeLoad = {
  usedCpus: 0,
  usedBoards: 0,
  openEnded: false,
  firstEnd: Number.NaN,
  lastEnd: Number.NaN,
  gpuJobs: [],
};

/**
 * Computes the joules of the oracle with typed arrays, beside the `headroom` scores of its base class. Pods are added to nodes
 * by name, before or after the node itself is known. An event of a pod recomputes the sums of its node, so that rounding
 * errors do not add up; a request reads the columns. Every floating-point step is the same as in the oracle.
 */
export class EnergyKernel extends ScoringKernel {
  readonly #settings: EnergySettings;
  readonly #scoring: ScoringSettings;
  readonly #energy = new EnergyColumns();
  readonly #nodes: (EnergyNode | undefined)[] = [];
  readonly #loads: (NodeLoad | undefined)[] = [];
  readonly #podsByNode = new Map<string, Map<string, RunningPod>>();
  readonly #nodeOfPod = new Map<string, string>();
  readonly #gpuMix = new GpuMixCounter();
  #joules = new Float64Array(64);
  /** The mix for which the column `unusable` is valid. */
  #countedMix: GpuMix | undefined;

  constructor(scoring: ScoringSettings, settings: EnergySettings) {
    super(scoring);
    this.#scoring = scoring;
    this.#settings = settings;
  }

  get podCount(): number {
    return this.#nodeOfPod.size;
  }

  /** The GPU pods that run now. The returned object never changes. */
  get gpuMix(): GpuMix {
    return this.#gpuMix.mix;
  }

  /** What the pods of a slot add up to; with it the oracle can explain a score. Undefined if the hardware is unknown. */
  loadAt(slot: number): NodeLoad | undefined {
    return this.#loads[slot];
  }

  nodeOfPod(key: string): string | undefined {
    return this.#nodeOfPod.get(key);
  }

  /** Adds a pod to a node, changes it, or moves it there from another node. `key` identifies the pod, for example its UID. */
  addPod(key: string, node: string, pod: RunningPod): void {
    const before = this.#nodeOfPod.get(key);
    if (before !== undefined && before !== node) this.removePod(key);
    let pods = this.#podsByNode.get(node);
    if (pods === undefined) this.#podsByNode.set(node, (pods = new Map()));
    pods.set(key, pod);
    this.#nodeOfPod.set(key, node);
    this.#sumPods(this.slotOf(node), pods);
  }

  removePod(key: string): void {
    const node = this.#nodeOfPod.get(key);
    if (node === undefined) return;
    this.#nodeOfPod.delete(key);
    const pods = this.#podsByNode.get(node);
    pods?.delete(key);
    if (pods?.size === 0) this.#podsByNode.delete(node);
    this.#sumPods(this.slotOf(node), pods);
  }

  /**
   * Writes the marginal joules of the pod on each slot to the same index of `out`: NaN if the node's hardware is unknown,
   * `OVER_CAP` if the node's cap would be exceeded. Uses the time of the current batch.
   */
  joulesMany(slots: Int32Array, pod: PlacedPod, out: Float64Array): void {
    const { cpus, cpuRange, boards, wattsPerBoard, cpusPerFreeBoard, slowdown, idle, saved, restSlope } = this.#energy;
    const { usedCpus, usedBoards, cpuWatts, openEnded, firstEnd, lastEnd, unusable } = this.#energy;
    const { updatedAt, budget, drawn, pue } = this.columns;
    const { stalenessThreshold } = this.#scoring;
    const { weights, cpuUtilisation, duration: standard } = this.#settings;
    const { now } = this.batch;
    const { demand } = pod;
    const mix = this.#gpuMix.mix;
    if (this.#countedMix !== mix) this.#countUnusable(mix);
    const duration = pod.duration ?? standard;
    const withGpus = demand.gpus.size > 0;
    const { units, boardsPerUnit } = this.boardsOf(slots, demand.gpus);

    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i] as number;
      const node = slot < 0 ? undefined : this.#nodes[slot];
      if (node === undefined) {
        out[i] = Number.NaN;
        continue;
      }
      const size = cpus[slot] as number;
      const boardCount = boards[slot] as number;
      const used = usedCpus[slot] as number;
      const usedBefore = usedBoards[slot] as number;
      const asked = cpusOn(size, demand.cpuCores);
      const askedBoards = withGpus ? Math.min(units * (boardsPerUnit[slot] as number), boardCount) : 0;
      const time = (duration * (withGpus ? (slowdown[slot] as number) : 1)) as Seconds;
      const idleWatts = idle[slot] as Watts;

      const cpuAfter = (cpuRange[slot] as number) * node.cpuShape(cpuLoad(used + asked, size, cpuUtilisation));
      const added = addedWatts(cpuWatts[slot] as number, cpuAfter, askedBoards, wattsPerBoard[slot] as number);
      const cap = budget[slot] as number;
      if (
        cap > 0 &&
        (drawn[slot] as number) + added > cap &&
        isFreshAt(now - (updatedAt[slot] as number), stalenessThreshold)
      ) {
        out[i] = OVER_CAP;
        continue;
      }
      const freeCpus = Math.max(0, size - (used + asked));
      const running = runningJoules(added, restSlope[slot] as number, time);
      let awake = 0;
      if (weights.awake !== 0) {
        const remaining = remainingSeconds(
          openEnded[slot] === 1,
          firstEnd[slot] as number,
          lastEnd[slot] as number,
          now,
          standard,
        );
        awake = weights.awake * awakeJoules(saved[slot] as Watts, time, remaining);
      }
      let fragmentation = 0;
      let starvation = 0;
      let spare = 0;
      if (weights.spareBoards === 0 || boardCount === 0)
        spare = weights.spare * spareJoules(freeCpus, size, idleWatts, time);
      if (boardCount > 0) {
        const freeBoards = Math.max(0, boardCount - (usedBefore + askedBoards));
        fragmentation =
          weights.fragmentation *
          fragmentationJoules(
            unusable[slot] as number,
            unusableBoards(freeBoards, freeCpus, mix),
            boardCount,
            idleWatts,
            time,
          );
        if (weights.spareBoards !== 0)
          spare = weights.spareBoards * spareJoules(freeBoards, boardCount, idleWatts, time);
        if (!withGpus) {
          const needed = cpusPerFreeBoard[slot] as number;
          starvation = Math.max(
            weights.starvation * starvationJoules(freeCpus, freeBoards, needed, idleWatts, time),
            weights.guests * guestJoules(asked, size, idleWatts, time),
          );
        }
      }
      out[i] = (running + awake + fragmentation + starvation + spare) * pueFactor(pue[slot] as number);
    }
  }

  /** Writes the score of each slot to the same index of `out`; slot -1 is an unknown node. */
  scoreEnergy(slots: Int32Array, pod: PlacedPod, workloadClass: WorkloadClass, out: Int16Array): EnergyOutcome {
    if (this.#joules.length < slots.length) this.#joules = new Float64Array(slots.length * 2);
    const found = this.#joules;
    this.joulesMany(slots, pod, found);
    let least = Infinity;
    let most = -Infinity;
    let unknown = 0;
    let overCap = 0;
    for (let i = 0; i < slots.length; i++) {
      const cost = found[i] as number;
      if (Number.isNaN(cost)) unknown++;
      else if (cost === OVER_CAP) overCap++;
      else {
        if (cost < least) least = cost;
        if (cost > most) most = cost;
      }
    }
    if (unknown > 0) this.scoreMany(slots, pod.demand, workloadClass, out);
    const { scoreMax } = this.#scoring;
    for (let i = 0; i < slots.length; i++) {
      const cost = found[i] as number;
      if (!Number.isNaN(cost)) out[i] = energyScore(cost, least, most, scoreMax);
    }
    return { unknown, overCap, least, most };
  }

  protected override hardwareChanged(
    slot: number,
    name: string | undefined,
    hardware: HardwareView | undefined,
    labels: Labels | undefined,
  ): void {
    this.#energy.reserve(slot);
    const node = energyNodeOf(hardware, labels, this.#settings);
    this.#nodes[slot] = node;
    this.#energy.writeNode(slot, node);
    this.#sumPods(slot, name === undefined ? undefined : this.#podsByNode.get(name));
  }

  #sumPods(slot: number, pods: ReadonlyMap<string, RunningPod> | undefined): void {
    if (slot < 0) return;
    const before = this.#loads[slot];
    if (before !== undefined) this.#gpuMix.count(before.gpuJobs, -1);
    const node = this.#nodes[slot];
    if (node === undefined) {
      this.#loads[slot] = undefined;
      return;
    }
    const load = pods === undefined ? noLoad : nodeLoadOf(node, pods.values());
    this.#loads[slot] = load;
    this.#gpuMix.count(load.gpuJobs, 1);
    this.#energy.writeLoad(slot, node, load, this.#settings.cpuUtilisation);
    if (this.#countedMix !== undefined) this.#energy.writeUnusable(slot, this.#countedMix);
  }

  /** The boards that are unusable now depend on the pods of the whole cluster. */
  #countUnusable(mix: GpuMix): void {
    for (let slot = 0; slot < this.end; slot++)
      if (this.#nodes[slot] !== undefined) this.#energy.writeUnusable(slot, mix);
    this.#countedMix = mix;
  }
}

/** One typed array per value, indexed by slot. Values that depend on neither the pod nor the time are computed on events. */
class EnergyColumns {
  /** 0 if the power of the node is unknown. */
  cpus = numberColumn();
  cpuRange = numberColumn();
  boards = numberColumn();
  wattsPerBoard = numberColumn();
  cpusPerFreeBoard = numberColumn();
  slowdown = numberColumn();
  idle = numberColumn();
  saved = numberColumn();
  restSlope = numberColumn();
  usedCpus = numberColumn();
  usedBoards = numberColumn();
  /** CPU power above idle with the pods that run there. */
  cpuWatts = numberColumn();
  /** Free boards that the GPU pods of the cluster cannot use. */
  unusable = numberColumn();
  openEnded = numberColumn();
  firstEnd = numberColumn();
  lastEnd = numberColumn();

  /** Makes room for this slot. */
  reserve(slot: number): void {
    while (slot >= this.cpus.length) growColumns(this);
  }

  writeNode(slot: number, node: EnergyNode | undefined): void {
    this.cpus[slot] = node?.cpus ?? 0;
    this.cpuRange[slot] = node?.cpuRange ?? 0;
    this.boards[slot] = node?.boards ?? 0;
    this.wattsPerBoard[slot] = node?.wattsPerBoard ?? 0;
    this.cpusPerFreeBoard[slot] = node?.cpusPerFreeBoard ?? 0;
    this.slowdown[slot] = node?.slowdown ?? 1;
    this.idle[slot] = node?.idle ?? 0;
    this.saved[slot] = node?.saved ?? 0;
    this.restSlope[slot] = node?.restSlope ?? 0;
  }

  writeLoad(slot: number, { cpus, cpuRange, cpuShape }: EnergyNode, load: NodeLoad, cpuUtilisation: number): void {
    this.usedCpus[slot] = load.usedCpus;
    this.usedBoards[slot] = load.usedBoards;
    this.cpuWatts[slot] = cpuRange * cpuShape(cpuLoad(load.usedCpus, cpus, cpuUtilisation));
    this.openEnded[slot] = Number(load.openEnded);
    this.firstEnd[slot] = load.firstEnd;
    this.lastEnd[slot] = load.lastEnd;
  }

  writeUnusable(slot: number, mix: GpuMix): void {
    const freeBoards = Math.max(0, (this.boards[slot] as number) - (this.usedBoards[slot] as number));
    const freeCpus = Math.max(0, (this.cpus[slot] as number) - (this.usedCpus[slot] as number));
    this.unusable[slot] = freeBoards > 0 ? unusableBoards(freeBoards, freeCpus, mix) : 0;
  }
}
