// What the server sends and the page reads. It imports nothing, so that the page's bundle contains only this file.

/** The index is the code in the column `class`. */
export const classNames = ["performance", "eco", "draining", "asleep", "unknown"] as const;
export type ClassName = (typeof classNames)[number];
/** The index is the code in the column `state`. */
export const stateNames = ["on", "stopping", "off", "waking", "failed"] as const;
/** The index is the code in the column `control`: the worse of CPU and GPU. */
export const controlNames = ["none", "applied", "blocked", "error"] as const;

/** One number or null per node and column. Times are milliseconds since 1970; null means unknown, never 0. */
export const columnNames = [
  "class",
  "power",
  "measured",
  "cap",
  "tdp",
  "cooling",
  "coolingAtCap",
  "psu",
  "slowdown",
  "cpuPct",
  "gpuPct",
  "updatedAt",
  "measuredAt",
  "changedAt",
  "pods",
  "performancePods",
  "gpus",
  "state",
  "control",
  "ready",
  "pinned",
] as const;
export type ColumnName = (typeof columnNames)[number];
export type Columns = Record<ColumnName, (number | null)[]>;

export interface Totals {
  /** Sum over the nodes with a reading; null if nodes are awake and none of those has one. A node that is off reads 0. */
  readonly power: number | null;
  /** How many nodes have a NodeTwin, so that a reading is expected. */
  readonly expected: number;
  /** How many of them have one. */
  readonly withPower: number;
  /** How many have none because the operator has not refreshed their NodeTwin. */
  readonly stale: number;
  /** What the CPUs and GPUs may draw under their caps; null if unknown for every node. */
  readonly cap: number | null;
  /** What they draw uncapped. */
  readonly capacity: number | null;
  /** A model, not a measurement: the same pods on uncapped nodes that are always on. */
  readonly counterfactual: number | null;
  readonly nodes: number;
  /** How many nodes have a reading that is measured, not estimated. */
  readonly measured: number;
  /** In the order of `classNames`. */
  readonly byClass: readonly number[];
  /** Null until the pods are read. */
  readonly pods: number | null;
  readonly pendingPods: number | null;
}

export interface ProblemEntry {
  /** Stays while its words and nodes change. */
  readonly id: string;
  readonly severity: "error" | "warning" | "info";
  readonly title: string;
  readonly meaning: string;
  readonly fix: string;
  readonly nodes: readonly string[];
}

export interface DecisionEntry {
  readonly id: number;
  readonly at: number;
  /** `class`: a node changed its class; `placement`: the extender answered kube-scheduler. */
  readonly kind: "class" | "placement";
  readonly subject: string;
  readonly node: string | null;
  readonly text: string;
  readonly reason: string;
}

/** The first answer: everything. */
export interface Snapshot {
  /** Of this start of the server: numbers of another one mean nothing. */
  readonly epoch: string;
  readonly seq: number;
  readonly at: number;
  readonly cluster: string;
  readonly version: string;
  /** Milliseconds since the API server was last heard; null before the first answer. */
  readonly silence: number | null;
  readonly syncing: readonly string[];
  /** By slot; null for a slot without a node. */
  readonly names: (string | null)[];
  readonly columns: Columns;
  readonly labelKeys: readonly string[];
  /** Increases when nodes or labels change. */
  readonly topology: number;
  readonly totals: Totals;
  readonly problems: readonly ProblemEntry[];
  readonly decisions: readonly DecisionEntry[];
  /** How far back `/api/history` reaches, in hours. */
  readonly historyHours: number;
}

/** What has changed since the message before it. */
export interface Delta {
  readonly seq: number;
  readonly at: number;
  readonly silence: number | null;
  readonly totals: Totals;
  readonly slots?: readonly number[];
  /** In the order of `slots`; null for a node that has gone. */
  readonly names?: readonly (string | null)[];
  readonly columns?: Columns;
  readonly topology?: number;
  readonly labelKeys?: readonly string[];
  readonly problems?: readonly ProblemEntry[];
  readonly decisions?: readonly DecisionEntry[];
  readonly syncing?: readonly string[];
}

/** The values of one label, by slot: `values[codes[slot]]`; -1 for a node without it. */
export interface LabelColumn {
  readonly key: string;
  readonly topology: number;
  readonly values: readonly string[];
  readonly codes: readonly number[];
}

export interface HistoryAnswer {
  readonly source: "memory" | "prometheus";
  readonly step: number;
  readonly at: readonly number[];
  readonly power: readonly (number | null)[];
  readonly cap: readonly (number | null)[];
  readonly capacity: readonly (number | null)[];
  readonly counterfactual: readonly (number | null)[];
  /** Why an answer is shorter than asked. */
  readonly note?: string;
}

export interface ReceiptEntry {
  readonly device: string;
  readonly result: string;
  readonly backend: string | null;
  readonly message: string | null;
  readonly at: number | null;
  readonly watts: number | null;
}

export interface PodEntry {
  readonly namespace: string;
  readonly name: string;
  readonly workloadClass: string;
  readonly cpus: number;
  readonly gpus: number;
  readonly phase: string;
  readonly startedAt: number | null;
}

export interface NodeAnswer {
  readonly name: string;
  readonly at: number;
  /** Label, value. */
  readonly labels: readonly (readonly [string, string])[];
  readonly hardware: readonly (readonly [string, string])[];
  readonly target: readonly (readonly [string, string])[];
  /** Why the node has its class: by the operator's plan, or in words from what the API shows. */
  readonly reason: string;
  readonly receipts: readonly ReceiptEntry[];
  /** Null until the pods are read. */
  readonly pods: readonly PodEntry[] | null;
  readonly morePods: number;
  readonly gpuResources: readonly string[];
  readonly history: {
    readonly at: readonly number[];
    readonly power: readonly (number | null)[];
    readonly cap: readonly (number | null)[];
  };
}

/** The score of one node for a pod that the reader describes. */
export interface ScoreAnswer {
  readonly node: string;
  readonly formula: "headroom" | "energy";
  readonly feasible: boolean;
  readonly score: number;
  /** The highest possible score. */
  readonly scoreMax: number;
  /** Whose settings the formula uses, in words. */
  readonly settings: string;
  /** Name and value, in `unit`. */
  readonly terms: readonly (readonly [string, number])[];
  readonly unit: "points" | "joules";
  /** The verdict in sentences. */
  readonly words: readonly string[];
  /** 1 is the best of the nodes that accept the pod; null if this one does not. */
  readonly rank: number | null;
  readonly feasibleNodes: number;
  readonly nodes: number;
}

export interface SavingsAnswer {
  /** Since when the account runs; null before the first sample. */
  readonly from: number | null;
  readonly to: number | null;
  /** At the wall, as all figures. */
  readonly usedKwh: number;
  /** The part of usedKwh that no meter and no sensor read. */
  readonly modelledKwh: number;
  /** Energy not used, by the model. */
  readonly notUsedKwh: Interval;
  readonly notUsedPct: Interval | null;
  readonly byClassKwh: readonly (readonly [string, number])[];
  readonly byCauseKwh: readonly (readonly [string, number])[];
  /** The nodes that used most: name, used, not used. */
  readonly topNodes: readonly (readonly [string, number, number])[];
  /** The share of the node time with a reading, 0 to 1. */
  readonly coverage: number | null;
  /** Null without ENERGY_PRICE. */
  readonly cost: { readonly used: number; readonly notUsed: Interval; readonly currency: string } | null;
  /** Kilograms of CO2; null without CARBON_INTENSITY. */
  readonly carbonKg: { readonly used: number; readonly notUsed: Interval } | null;
  /** The factors in words; empty without any. */
  readonly factors: string;
  readonly method: string;
  readonly bias: string;
}

export interface Interval {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
}
