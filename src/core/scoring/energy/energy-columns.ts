import { growColumns, numberColumn } from "../columns.ts";
import type { EnergyNode } from "./energy-node.ts";
import { cpuLoad } from "./formula.ts";
import { type GpuMix, unusableBoards } from "./gpu-mix.ts";
import type { NodeLoad } from "./node-load.ts";

/** One typed array per value, indexed by slot. Values that depend on neither the pod nor the time are computed on events. */
export class EnergyColumns {
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
