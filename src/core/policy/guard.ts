import type { Profile } from "../api/index.ts";
import { isNonNegative } from "../units/index.ts";
import type { ObservedState } from "./observed-state.ts";
import { type NodeState, type ProfileState, type Transition, transitionFrom } from "./transitions.ts";

export interface GuardInput {
  readonly planned: Profile;
  /** Active performance-sensitive pods on the node; undefined if the pods could not be read. */
  readonly performancePods: number | undefined;
}

export interface GuardOptions {
  /** DRAINING_CAPS: the caps of a draining node while performance pods remain on it. */
  readonly drainingCaps: Profile;
}

export interface GuardDecision {
  readonly next: ProfileState;
  /** Eco caps in the spec stay as they are: a performance pod is on the node, or may be. */
  readonly keepsEcoCaps?: true;
  /** The transition to `next`. It takes effect when the spec is written; until then every pass returns it again. */
  readonly transition?: Transition;
  /** Performance pods that started on a node published as eco. They are reported; the node stays eco. */
  readonly intruders?: number;
}

/**
 * Lets a node change to eco only after its last performance-sensitive pod has left.
 *
 * It fails closed: while pods cannot be read, no node is downgraded and nothing else changes. Eco caps are set or changed only on
 * a node that already publishes eco and still has no such pod, because a pod may be bound between the first count and the
 * publication. Otherwise eco caps stay as they are until performance is planned.
 */
export function guard(
  { state, caps, showsEco }: ObservedState,
  { planned, performancePods }: GuardInput,
  { drainingCaps }: GuardOptions,
): GuardDecision {
  if (planned === "performance") return moved(state, planned, false, "performance");
  if (!isNonNegative(performancePods)) return { next: { state, caps }, keepsEcoCaps: true };

  const blocked = performancePods > 0;
  if (state === "ActiveEco") {
    if (blocked) return { next: { state, caps }, keepsEcoCaps: true, intruders: performancePods };
    return showsEco ? { next: { state, caps: "eco" } } : { next: { state, caps }, keepsEcoCaps: true };
  }
  if (blocked) return moved(state, planned, blocked, drainingCaps);
  return { ...moved(state, planned, blocked, caps), keepsEcoCaps: true };
}

function moved(state: NodeState, planned: Profile, blocked: boolean, caps: Profile): GuardDecision {
  const edge = transitionFrom(state, planned, blocked);
  const next = { state: edge?.to ?? state, caps };
  // `still blocked` leads back to the same state. Returning it each pass would count one downgrade many times.
  return edge === undefined || edge.from === edge.to ? { next } : { next, transition: edge };
}
