import type { Profile } from "../api/index.ts";
import { isNonNegative } from "../units/index.ts";
import type { PowerState } from "./published-state.ts";
import type { ObservedState } from "./observed-state.ts";
import { type NodeState, type Transition, transitionFrom } from "./transitions.ts";

export interface GuardInput {
  readonly planned: Profile;
  /** Active performance-sensitive pods on the node; undefined where pods could not be read. */
  readonly performancePods: number | undefined;
}

export interface GuardOptions {
  /** DRAINING_CAPS: the caps while performance pods remain on a draining node. */
  readonly drainingCaps: Profile;
}

export interface GuardDecision {
  readonly next: PowerState;
  /** The edge to `next`. It is taken once the spec says so: until that write succeeds, every pass names it again. */
  readonly transition?: Transition;
  /** Performance pods that landed on a node published as eco. They are reported; the node stays eco. */
  readonly intruders?: number;
}

/**
 * Lets a node go to eco only once no performance-sensitive pod is left on it.
 *
 * It fails closed: while pods cannot be read no node goes down and nothing else about it changes. Eco caps come only to a node
 * that is seen to show eco already, if again no pod is counted: between the first count and the publication one may have been
 * bound. Once in force they stay until performance is planned.
 */
export function guard(
  { state, caps, showsEco }: ObservedState,
  { planned, performancePods }: GuardInput,
  { drainingCaps }: GuardOptions,
): GuardDecision {
  if (planned === "performance") return moved(state, planned, false, "performance");
  if (!isNonNegative(performancePods)) return { next: { state, caps } };

  const blocked = performancePods > 0;
  if (state === "ActiveEco") {
    return blocked
      ? { next: { state, caps }, intruders: performancePods }
      : { next: { state, caps: showsEco ? "eco" : caps } };
  }
  return moved(state, planned, blocked, blocked ? drainingCaps : caps);
}

function moved(state: NodeState, planned: Profile, blocked: boolean, caps: Profile): GuardDecision {
  const edge = transitionFrom(state, planned, blocked);
  const next = { state: edge?.to ?? state, caps };
  // `still blocked` leads back to where it came from: naming it each pass would count one downgrade many times.
  return edge === undefined || edge.from === edge.to ? { next } : { next, transition: edge };
}
