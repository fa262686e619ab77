import type { Node, NodePowerProfileSpec, NodeTwin, NodeTwinSpec, Profile } from "../api/index.ts";
import type { CapIntents, ProfileCaps } from "./caps.ts";
import type { PowerState } from "./published-state.ts";
import { capsUnder } from "./target.ts";

declare const readBack: unique symbol;

/**
 * A node's state as the cluster shows it. Only `seenOn` makes one, from objects that were read: what was decided but not
 * written, or written and refused, has not happened. So the guard needs no memory, and a restart loses none.
 */
export interface ObservedState extends PowerState {
  /** Whether whoever places pods is told eco: the class for the extender, the label for selectors and affinities. */
  readonly showsEco: boolean;
  readonly [readBack]: true;
}

export interface ObservationSettings {
  readonly caps: ProfileCaps;
  readonly pin: NodePowerProfileSpec | undefined;
  /** POWER_PROFILE_LABEL. */
  readonly powerProfileLabel: string;
}

/**
 * The objects are to be the newest known, be it from a watch or from the answer to a write: from older ones the guard would
 * learn of an eco that is already withdrawn.
 */
export function observedStateOf(
  node: Node,
  twin: Pick<NodeTwin, "spec" | "status"> | undefined,
  { caps, pin, powerProfileLabel }: ObservationSettings,
): ObservedState {
  const showsEco = twin?.status?.schedulableClass === "eco" && node.metadata.labels?.[powerProfileLabel] === "eco";
  return { ...powerStateOf(twin?.spec, capsUnder(pin, caps)), showsEco } as ObservedState;
}

/**
 * A node may be deleted and made anew under its name before its twin is collected. What the twin of the former one says, eco
 * caps included, says nothing of the new one. A twin that belongs to no Node is anybody's word for the name.
 */
export function isTwinOf(node: Pick<Node, "metadata">, { metadata }: Pick<NodeTwin, "metadata">): boolean {
  let ownedByNode = false;
  for (const { kind, uid } of metadata.ownerReferences ?? []) {
    if (kind !== "Node") continue;
    if (uid === node.metadata.uid) return true;
    ownedByNode = true;
  }
  return !ownedByNode;
}

/** Where every node starts. */
const initial: PowerState = { state: "ActivePerformance", caps: "performance" };

/** A performance node has performance caps by definition. */
function powerStateOf(spec: NodeTwinSpec | undefined, caps: ProfileCaps): PowerState {
  if (spec === undefined || spec.profile === "performance") return initial;
  return { state: spec.scheduling?.draining === true ? "DrainingPerformance" : "ActiveEco", caps: whose(spec, caps) };
}

/**
 * Settings and hardware may have changed since the caps were written, so that they equal neither profile's of today. They are
 * eco's only if eco's caps of today would lower nothing; of all else the safe side is performance.
 */
function whose(spec: CapIntents, { performance, eco }: ProfileCaps): Profile {
  const [cpu, gpu] = [cpuOf(spec), gpuOf(spec)];
  if (equals(cpu, cpuOf(performance)) && equals(gpu, gpuOf(performance))) return "performance";
  return isWithin(cpu, cpuOf(eco)) && isWithin(gpu, gpuOf(eco)) ? "eco" : "performance";
}

interface Cap {
  readonly watts: number | undefined;
  readonly percent: number | undefined;
}

const cpuOf = ({ cpu }: CapIntents): Cap => ({
  watts: cpu?.packagePowerCapWatts,
  percent: cpu?.packagePowerCapPctOfMax,
});
const gpuOf = ({ gpu }: CapIntents): Cap => ({
  watts: gpu?.powerCap?.capWattsPerGpu,
  percent: gpu?.powerCap?.capPctOfMax,
});

const equals = (one: Cap, other: Cap): boolean => one.watts === other.watts && one.percent === other.percent;

/** Everything is within no cap. Watts compare with watts and percent with percent; what only one side has proves nothing. */
const isWithin = (cap: Cap, most: Cap): boolean =>
  equals(most, uncapped) || (isAtMost(cap.watts, most.watts) && isAtMost(cap.percent, most.percent));

const uncapped: Cap = { watts: undefined, percent: undefined };

const isAtMost = (figure: number | undefined, limit: number | undefined): boolean =>
  figure === limit || (figure ?? Number.NaN) <= (limit ?? Number.NaN);
