import { type AwaitedPod, isAwake, labels, type NodeTwinStatus } from "../api/index.ts";
import {
  ambientOf,
  estimatedPue,
  expectedSlowdown,
  type PowerReading,
  predictTwin,
  roundForPublication,
  slopeOf,
  supplyTotals,
  type TwinOutput,
  withSample,
} from "../twin/index.ts";
import { type Celsius, type Instant, isoTime, type Watts, type WattsPerMinute } from "../units/index.ts";
import type { SnapshotNode } from "./cluster-snapshot.ts";
import type { AssignedProfiles, ManagedNode, NodePlan, NodeTarget } from "./node-plan.ts";
import type { PlanningInput, Telemetry } from "./planning-input.ts";
import type { PowerHistory, RecentPower } from "./planning-memory.ts";
import { powerReadingOf } from "./power-reading.ts";

/** Ambient temperature and cooling overhead at a node's location. */
interface ZoneConditions {
  readonly ambient: Celsius;
  readonly pue: number;
}

/** The input of a node's status besides its target. */
interface NodeReadings {
  readonly conditions: ZoneConditions;
  readonly reading: PowerReading | undefined;
  readonly trend: WattsPerMinute;
  readonly supplyTotal: Watts | undefined;
}

interface TwinStatuses {
  readonly plans: ReadonlyMap<string, NodePlan>;
  readonly power: PowerHistory;
}

/** Adds the predicted status to every target. All readings come first, because a rack's supply is the sum of its nodes. */
export function withTwinStatus(
  targets: readonly NodeTarget[],
  { byName }: AssignedProfiles,
  input: PlanningInput,
): TwinStatuses {
  const { memory, telemetry, now } = input;
  const readings = targets.map((target) => powerReadingOf(target, input));
  const racked = targets.map(({ managed, budget: capEstimate }, index) => {
    return { rack: rackOf(managed), measured: readings[index]?.power, capEstimate };
  });
  const totalOf = supplyTotals(racked, telemetry.facility.racks);
  const zones = new Map<string, ZoneConditions>();
  const plans = new Map<string, NodePlan>();
  const power = new Map<string, RecentPower>();
  targets.forEach((target, index) => {
    const { node } = target.managed;
    const zone = node.metadata.labels?.[labels.coolingZone] ?? "";
    let conditions = zones.get(zone);
    if (conditions === undefined) zones.set(zone, (conditions = conditionsIn(zone, telemetry)));
    const reading = readings[index];
    const recent = recentPower(node, memory.power, reading, now);
    power.set(target.name, recent);
    const trend = slopeOf(recent.window, now);
    const supplyTotal = totalOf(rackOf(target.managed));
    const predicted = predictedStatus(target, { conditions, reading, trend, supplyTotal }, input);
    const awaitedBy = byName.get(target.name)?.awaitedBy;
    const status = awaitedBy === undefined ? predicted : { ...predicted, awaitedBy: published(awaitedBy) };
    plans.set(target.name, { ...target, status });
  });
  return { plans, power };
}

/** The recent readings of the node, with this one. */
function recentPower(
  { metadata: { name, uid } }: SnapshotNode,
  history: PowerHistory,
  reading: PowerReading | undefined,
  now: Instant,
): RecentPower {
  const last = history.get(name);
  const window = last !== undefined && last.uid === uid ? last.window : [];
  return { uid, window: reading === undefined ? window : withSample(window, reading, now) };
}

const rackOf = ({ node }: ManagedNode): string | undefined => node.metadata.labels?.[labels.rack];

function conditionsIn(zone: string, { facility: { site, zones } }: Telemetry): ZoneConditions {
  const local = zones.get(zone);
  return { ambient: ambientOf(local?.ambient, site.ambient), pue: estimatedPue(local, site) };
}

function predictedStatus(
  target: NodeTarget,
  { conditions, reading, trend, supplyTotal }: NodeReadings,
  { settings }: PlanningInput,
): TwinOutput {
  const { caps, managed } = target;
  const { hardware, density } = managed.shape;
  // A node that should sleep takes no more pods, even before the power program has seen the target.
  const sleeps = target.spec.power?.state === "off" || !isAwake(target.twin?.status);
  const schedulableClass = sleeps ? "asleep" : target.schedulableClass;
  const predicted = predictTwin(
    {
      hardware,
      caps,
      schedulableClass,
      density: density.total,
      slowdown: expectedSlowdown(hardware, caps),
      ambient: conditions.ambient,
      supplyTotal,
      pue: conditions.pue,
      reading,
      trend,
    },
    settings.twin,
  );
  return roundForPublication(predicted);
}

const published = ({ pod, uid, priority, since, until, spare }: AwaitedPod): NodeTwinStatus["awaitedBy"] => ({
  pod,
  uid,
  ...(priority !== undefined && { priority }),
  since: isoTime(since),
  until: isoTime(until),
  ...(spare && { spare: { cpu: spare.cpu, memory: spare.memory } }),
});
