import type { Profile, SchedulableClass } from "../api/index.ts";
import type { NodeState } from "./transitions.ts";

/** Where a node stands, and whose caps are in force there: they go down later than the profile and up together with it. */
export interface PowerState {
  readonly state: NodeState;
  readonly caps: Profile;
}

/** What a node's state looks like from outside: in NodeTwin and in the node's labels. */
export interface PublishedState {
  /** Of the spec and of the label, which knows no draining: a draining node offers eco already. */
  readonly profile: Profile;
  readonly draining: boolean;
  readonly schedulableClass: SchedulableClass;
  /** Whose caps the spec carries. */
  readonly caps: Profile;
}

const faces: Readonly<Record<NodeState, Omit<PublishedState, "caps">>> = {
  ActivePerformance: { profile: "performance", draining: false, schedulableClass: "performance" },
  DrainingPerformance: { profile: "eco", draining: true, schedulableClass: "draining" },
  ActiveEco: { profile: "eco", draining: false, schedulableClass: "eco" },
};

export const publishedStateOf = ({ state, caps }: PowerState): PublishedState => ({ ...faces[state], caps });
