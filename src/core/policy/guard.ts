import type { Profile } from "../api/index.ts";
import { type NodeState, type Transition, transitionFrom } from "./transitions.ts";

/** What the guard remembers of a node from one pass to the next. */
export interface GuardMemory {
  readonly state: NodeState;
  /** Whose caps are in force. They go down later than the profile and up together with it. */
  readonly caps: Profile;
}

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
  readonly memory: GuardMemory;
  /** Only in the pass in which it happens. */
  readonly transition?: Transition;
  /** Performance pods that landed on a node published as eco. They are reported; the node stays eco. */
  readonly intruders?: number;
}

/** Where every node starts. */
export const initialMemory: GuardMemory = { state: "ActivePerformance", caps: "performance" };

/**
 * Lets a node go to eco only once no performance-sensitive pod is left on it.
 *
 * It fails closed: while pods cannot be read no node goes down and nothing else about it changes. Eco caps follow in a later
 * pass than the one that published eco, if that pass counts no pod either: between count and publication one may have been
 * bound. Once in force they stay until performance is planned.
 */
export function guard(
  memory: GuardMemory = initialMemory,
  { planned, performancePods }: GuardInput,
  { drainingCaps }: GuardOptions,
): GuardDecision {
  if (planned === "performance") return moved(memory, planned, false, "performance");
  if (performancePods === undefined || !(performancePods >= 0)) return { memory };

  const blocked = performancePods > 0;
  if (memory.state === "ActiveEco") {
    if (blocked) return { memory, intruders: performancePods };
    return { memory: memory.caps === "eco" ? memory : { state: "ActiveEco", caps: "eco" } };
  }
  return moved(memory, planned, blocked, blocked ? drainingCaps : memory.caps);
}

function moved(memory: GuardMemory, planned: Profile, blocked: boolean, caps: Profile): GuardDecision {
  const edge = transitionFrom(memory.state, planned, blocked);
  const state = edge?.to ?? memory.state;
  const next = state === memory.state && caps === memory.caps ? memory : { state, caps };
  // `still blocked` leads back to where it came from: counting it each pass would count one downgrade many times.
  return edge === undefined || edge.from === edge.to ? { memory: next } : { memory: next, transition: edge };
}
