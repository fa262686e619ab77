import type { Profile, SchedulableClass } from "../api/index.ts";

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

/** The state of a node and the profile of the caps in force. Caps are lowered after the profile and raised with it. */
export interface ProfileState {
  readonly state: NodeState;
  readonly caps: Profile;
}

/** How a node's state is published in NodeTwin and in the node labels. */
export interface PublishedState {
  /** The profile in the spec and in the label. A draining node already publishes eco. */
  readonly profile: Profile;
  readonly draining: boolean;
  readonly schedulableClass: SchedulableClass;
}

const publishedStates: Readonly<Record<NodeState, PublishedState>> = {
  ActivePerformance: { profile: "performance", draining: false, schedulableClass: "performance" },
  DrainingPerformance: { profile: "eco", draining: true, schedulableClass: "draining" },
  ActiveEco: { profile: "eco", draining: false, schedulableClass: "eco" },
};

export const publishedStateOf = ({ state }: ProfileState): PublishedState => publishedStates[state];

/** What schedulers see of a promoted node whose caps are not raised yet: the class that it has, draining or eco. */
export const shownUntilConfirmed = (current: SchedulableClass | undefined): PublishedState =>
  publishedStates[current === "draining" ? "DrainingPerformance" : "ActiveEco"];
