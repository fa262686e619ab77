import type { Profile, SchedulableClass } from "../api/index.ts";
import type { NodeState } from "./transitions.ts";

/** The state of a node and the profile of the caps in force. Caps are lowered after the profile and raised with it. */
export interface PowerState {
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

export const publishedStateOf = ({ state }: PowerState): PublishedState => publishedStates[state];

/** What schedulers see of a promoted node whose caps are not raised yet: the class that it has, draining or eco. */
export const shownUntilConfirmed = (current: SchedulableClass | undefined): PublishedState =>
  publishedStates[current === "draining" ? "DrainingPerformance" : "ActiveEco"];
