import type { Profile } from "../api/index.ts";

export type NodeState = "ActivePerformance" | "DrainingPerformance" | "ActiveEco";

/** A transition of the state machine. There are no others: an eco node never starts draining. */
export interface Transition {
  readonly name: "defer" | "allow" | "still blocked" | "unblocked" | "re-plan perf" | "plan perf";
  readonly from: NodeState;
  readonly to: NodeState;
  readonly planned: Profile;
  /** Whether performance-sensitive pods are on the node; undefined if it does not matter. */
  readonly blocked?: boolean;
  readonly result: "applied" | "deferred";
}

export const transitions: readonly Transition[] = [
  {
    name: "defer",
    from: "ActivePerformance",
    to: "DrainingPerformance",
    planned: "eco",
    blocked: true,
    result: "deferred",
  },
  { name: "allow", from: "ActivePerformance", to: "ActiveEco", planned: "eco", blocked: false, result: "applied" },
  {
    name: "still blocked",
    from: "DrainingPerformance",
    to: "DrainingPerformance",
    planned: "eco",
    blocked: true,
    result: "deferred",
  },
  {
    name: "unblocked",
    from: "DrainingPerformance",
    to: "ActiveEco",
    planned: "eco",
    blocked: false,
    result: "applied",
  },
  {
    name: "re-plan perf",
    from: "DrainingPerformance",
    to: "ActivePerformance",
    planned: "performance",
    result: "applied",
  },
  { name: "plan perf", from: "ActiveEco", to: "ActivePerformance", planned: "performance", result: "applied" },
];

/** Undefined if the node already has the planned profile. */
export const transitionFrom = (state: NodeState, planned: Profile, blocked: boolean): Transition | undefined =>
  transitions.find(
    (edge) =>
      edge.from === state && edge.planned === planned && (edge.blocked === undefined || edge.blocked === blocked),
  );
