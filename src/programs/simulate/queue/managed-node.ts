import { labels, type Node, type NodeTwin, type NodeTwinStatus, type Profile } from "../../../core/api/index.ts";
import type { Caps } from "../../../core/physics/index.ts";
import {
  guard,
  lastTransitionTime,
  observedStateOf,
  type PolicyType,
  type ProfileCaps,
  type PublishedState,
  performanceHeldUntil,
  publishedStateOf,
  targetOf,
} from "../../../core/policy/index.ts";
import type { ScoringKernel } from "../../../core/scoring/index.ts";
import { effectiveCaps, isWorthPublishing, PowerTrend, predictTwin } from "../../../core/twin/index.ts";
import type { Instant, Watts, WattsPerMinute } from "../../../core/units/index.ts";
import { capsFor } from "./caps.ts";
import type { ClusterMachine } from "./machines.ts";
import { guardOptions, HEARTBEAT_MS, MIN_DWELL_MS } from "./settings.ts";

/** Input of an operator pass for one node. */
export interface NodeObservation {
  readonly now: Instant;
  readonly planned: Profile;
  readonly performancePods: number;
  readonly power: Watts;
  readonly supplyTotal: Watts | undefined;
}

/** A node as the operator sees it: its labels and its last published twin. */
export class SimulatedManagedNode {
  readonly machine: ClusterMachine;
  readonly #caps: ProfileCaps;
  readonly #policy: PolicyType;
  readonly #trend = new PowerTrend();
  #node: Node;
  #face: PublishedState | undefined;
  #twin: { readonly spec: NodeTwin["spec"]; readonly status: NodeTwinStatus } | undefined;
  #publishedAt = Number.NEGATIVE_INFINITY;
  #unenforced: Caps | undefined;

  constructor(machine: ClusterMachine, caps: ProfileCaps, policy: PolicyType) {
    this.machine = machine;
    this.#caps = caps;
    this.#policy = policy;
    this.#node = machine.node;
  }

  /** End of the minimum dwell time after a promotion. */
  heldUntil(now: Instant): Instant | undefined {
    return performanceHeldUntil(this.#twin, MIN_DWELL_MS, now);
  }

  /** Computes guard, target and twin, and passes the result to the scoring kernel. */
  pass({ now, planned, performancePods, power, supplyTotal }: NodeObservation, kernel: ScoringKernel): void {
    const { name, hardware, density } = this.machine;
    const seen = observedStateOf(this.#node, this.#twin, {
      caps: this.#caps,
      pin: undefined,
      powerProfileLabel: labels.powerProfile,
    });
    const face = publishedStateOf(guard(seen, { planned, performancePods }, guardOptions).next);
    const reading = { power, source: "agent", at: now } as const;
    this.#trend.add(reading, now);
    const trend = this.#trend.slope(now);
    const moved = !sameFace(face, this.#face);
    if (!moved && now - this.#publishedAt < HEARTBEAT_MS && !this.#worthPublishing(power, trend)) return;

    const spec = moved || this.#twin === undefined ? this.#target(face) : this.#twin.spec;
    const transition = lastTransitionTime(this.#twin?.status, face.schedulableClass, now);
    const status: NodeTwinStatus = {
      ...predictTwin({
        hardware,
        caps: effectiveCaps(spec, hardware),
        schedulableClass: face.schedulableClass,
        density: density.total,
        supplyTotal,
        reading,
        trend,
      }),
      ...(transition !== undefined && { lastTransitionTime: transition }),
      lastUpdated: new Date(now).toISOString(),
    };
    this.#twin = { spec, status };
    this.#publishedAt = now;
    kernel.upsertTwin(name, status);
    if (!moved) return;
    this.#face = face;
    this.#unenforced = capsFor(spec, hardware);
    this.#node = relabelled(this.#node, face);
    kernel.upsertLabels(name, this.#node.metadata.labels);
  }

  /** Returns caps that the agent has not set yet, once. */
  takeUnenforced(): Caps | undefined {
    const caps = this.#unenforced;
    this.#unenforced = undefined;
    return caps;
  }

  #target(face: PublishedState): NodeTwin["spec"] {
    return { nodeName: this.machine.name, ...targetOf(face, undefined, this.#caps, this.#policy) };
  }

  /** The operator's rule: small changes wait for the heartbeat. */
  #worthPublishing(power: Watts, trend: WattsPerMinute): boolean {
    const last = this.#twin?.status.powerMeasurement;
    return isWorthPublishing(last, last && { ...last, measuredNodePowerW: power, powerTrendWPerMin: trend });
  }
}

const sameFace = (one: PublishedState, other: PublishedState | undefined): boolean =>
  one.schedulableClass === other?.schedulableClass && one.caps === other.caps;

const relabelled = (node: Node, { profile, draining }: PublishedState): Node => ({
  ...node,
  metadata: {
    ...node.metadata,
    labels: { ...node.metadata.labels, [labels.powerProfile]: profile, [labels.draining]: String(draining) },
  },
});
