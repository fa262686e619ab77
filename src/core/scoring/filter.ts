import type { WorkloadClass } from "../demand/index.ts";
import type { KnownClass, TwinState } from "./twin-state.ts";

/**
 * Why a node is rejected: for a performance pod, or, if it is asleep, for every pod. kube-scheduler groups equal texts (`3 Joulie: …`), so no text names its node.
 * The index is the code that the columnar kernel returns; 0 means not rejected.
 */
export const rejections = [
  undefined,
  "Joulie: the node is capped to save energy (class eco); performance pods need a node of class performance",
  "Joulie: the node is on its way to eco (class draining); performance pods need a node of class performance",
  "Joulie: the node is labelled power-profile=eco and its twin says nothing else; performance pods need a performance node",
  "Joulie: the node is labelled draining=true and its twin says nothing else; performance pods need a performance node",
  "Joulie: the node is asleep (class asleep); Joulie wakes it when pods need it",
] as const;
export type Rejection = NonNullable<(typeof rejections)[number]>;
export type RejectionCode = 0 | 1 | 2 | 3 | 4 | 5;

/** The only code that also rejects standard pods. */
export const ASLEEP: RejectionCode = 5;
const codeOfClass: Readonly<Record<KnownClass, RejectionCode>> = {
  performance: 0,
  eco: 1,
  draining: 2,
  asleep: ASLEEP,
};
const LABELLED_ECO: RejectionCode = 3;
const LABELLED_DRAINING: RejectionCode = 4;

/**
 * The class is trusted at any age: an old `eco` keeps performance pods off a node that is probably still capped, which is
 * safe. The class takes precedence over the labels, which are written last. Labels count only if the twin has no class.
 */
export function rejectionCode(
  workloadClass: WorkloadClass,
  schedulableClass: KnownClass | undefined,
  profileLabel: string | undefined,
  drainingLabel: string | undefined,
): RejectionCode {
  if (schedulableClass === "asleep") return ASLEEP;
  if (workloadClass !== "performance") return 0;
  if (schedulableClass !== undefined) return codeOfClass[schedulableClass];
  if (drainingLabel === "true") return LABELLED_DRAINING;
  return profileLabel === "eco" ? LABELLED_ECO : 0;
}

/** The reason why the pod may not run on this node; undefined if it may. */
export const filterNode = (
  workloadClass: WorkloadClass,
  twin: TwinState | undefined,
  profileLabel: string | undefined,
  drainingLabel?: string,
): Rejection | undefined =>
  rejections[rejectionCode(workloadClass, twin?.schedulableClass, profileLabel, drainingLabel)];
