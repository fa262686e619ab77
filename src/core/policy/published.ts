import type { NodeTwinSpec, Profile, SchedulableClass } from "../api/index.ts";
import type { CapIntents } from "./caps.ts";
import { type GuardMemory, initialMemory } from "./guard.ts";
import type { NodeState } from "./transitions.ts";

/** What a node's state looks like from outside: in NodeTwin and in the node's labels. */
export interface Published {
  /** Of the spec and of the label, which knows no draining: a draining node offers eco already. */
  readonly profile: Profile;
  readonly draining: boolean;
  readonly schedulableClass: SchedulableClass;
  /** Whose caps the spec carries. */
  readonly caps: Profile;
}

const faces: Readonly<Record<NodeState, Omit<Published, "caps">>> = {
  ActivePerformance: { profile: "performance", draining: false, schedulableClass: "performance" },
  DrainingPerformance: { profile: "eco", draining: true, schedulableClass: "draining" },
  ActiveEco: { profile: "eco", draining: false, schedulableClass: "eco" },
};

export const published = ({ state, caps }: GuardMemory): Published => ({ ...faces[state], caps });

/**
 * What the guard must have remembered when this spec was written: after a restart the cluster is the memory.
 *
 * On an eco node caps that are not the performance intent are eco's, even if they were written under other settings: raising
 * them is for a performance plan to do. A performance node has performance caps by definition.
 */
export function memoryFromTwin(spec: NodeTwinSpec | undefined, performanceIntent: CapIntents): GuardMemory {
  if (spec === undefined || spec.profile === "performance") return initialMemory;
  const state = spec.scheduling?.draining === true ? "DrainingPerformance" : "ActiveEco";
  return { state, caps: sameCaps(spec, performanceIntent) ? "performance" : "eco" };
}

function sameCaps(one: CapIntents, other: CapIntents): boolean {
  return (
    one.cpu?.packagePowerCapWatts === other.cpu?.packagePowerCapWatts &&
    one.cpu?.packagePowerCapPctOfMax === other.cpu?.packagePowerCapPctOfMax &&
    one.gpu?.powerCap?.capWattsPerGpu === other.gpu?.powerCap?.capWattsPerGpu &&
    one.gpu?.powerCap?.capPctOfMax === other.gpu?.powerCap?.capPctOfMax
  );
}
