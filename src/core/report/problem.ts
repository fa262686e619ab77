import type { Milliseconds } from "../units/index.ts";

export const severities = ["critical", "warning", "notice"] as const;
export type Severity = (typeof severities)[number];

/** One thing that is wrong or needs attention, in words. Nodes with the same problem share one. */
export interface ClusterProblem {
  /** Stable, for programs: `twin-stale`. */
  readonly id: string;
  readonly severity: Severity;
  /** `3 nodes`, `node worker-1`, `installation`. */
  readonly subject: string;
  /** The affected nodes, all of them. */
  readonly nodes: readonly string[];
  /** What happened. */
  readonly what: string;
  readonly meaning: string;
  readonly command: string;
}

const order: Readonly<Record<Severity, number>> = { critical: 0, warning: 1, notice: 2 };

/** What these say changes the meaning of all other problems. */
const first: readonly string[] = ["stopped", "observe-only"];
const isFirst = ({ id }: ClusterProblem): number => Number(first.includes(id));

/** A stopped or observing installation first, then the worst; of equal ones, those with more nodes. */
export const byUrgency = (one: ClusterProblem, other: ClusterProblem): number =>
  isFirst(other) - isFirst(one) ||
  order[one.severity] - order[other.severity] ||
  other.nodes.length - one.nodes.length ||
  (one.id < other.id ? -1 : 1);

/** `node a`, `nodes a and b`, `3 nodes (a, b, …)`. */
export function subjectOf(nodes: readonly string[]): string {
  if (nodes.length === 1) return `node ${nodes[0]}`;
  const shown = nodes.slice(0, 3).join(", ");
  return `${nodes.length} nodes (${shown}${nodes.length > 3 ? ", …" : ""})`;
}

/** `1 node`, `3 nodes`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** `45s`, `12m`, `3h`, `2d`: the largest unit alone, as kubectl shows ages. */
export function ageText(age: Milliseconds | undefined): string {
  if (age === undefined || Number.isNaN(age)) return "unknown";
  const seconds = Math.max(0, Math.floor(age / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
