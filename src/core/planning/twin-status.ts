import { type AwaitedPod, isAwake, isSameSpare, labels, type NodeTwinStatus } from "../api/index.ts";
import {
  ambientOf,
  estimatedPue,
  expectedSlowdown,
  type PowerReading,
  predictTwin,
  roundForPublication,
  supplyTotals,
} from "../twin/index.ts";
import { isoTime } from "../units/index.ts";
import type { AssignedProfiles, ManagedNode, NodePlan, NodeTarget, PlanReadings, ZoneConditions } from "./node-plan.ts";
import type { PlanningInput, Telemetry } from "./planning-input.ts";
import { powerReadingOf } from "./power-reading.ts";

/** Adds the predicted status to every target. All readings come first, because a rack's supply is the sum of its nodes. */
export function withTwinStatus(
  targets: readonly NodeTarget[],
  { byName }: AssignedProfiles,
  input: PlanningInput,
): Map<string, NodePlan> {
  const { trends, telemetry, now } = input;
  const readings = targets.map((target) => powerReadingOf(target, input));
  const racked = targets.map(({ managed, budget: capEstimate }, index) => {
    return { rack: rackOf(managed), measured: readings[index]?.power, capEstimate };
  });
  const totalOf = supplyTotals(racked, telemetry.facility.racks);
  const zones = new Map<string, ZoneConditions>();
  const plans = new Map<string, NodePlan>();
  targets.forEach((target, index) => {
    const { node } = target.managed;
    const zone = node.metadata.labels?.[labels.coolingZone] ?? "";
    let conditions = zones.get(zone);
    if (conditions === undefined) zones.set(zone, (conditions = conditionsIn(zone, telemetry)));
    const { ambient, pue } = conditions;
    const reading = readings[index];
    const trend = trends.slopeWith(node, reading, now);
    const supplyTotal = totalOf(rackOf(target.managed));
    const awaitedBy = byName.get(target.name)?.awaitedBy;
    plans.set(target.name, planOf(target, { ambient, pue, reading, trend, supplyTotal, awaitedBy }, input));
  });
  return plans;
}

const rackOf = ({ node }: ManagedNode): string | undefined => node.metadata.labels?.[labels.rack];

function conditionsIn(zone: string, { facility: { site, zones } }: Telemetry): ZoneConditions {
  const local = zones.get(zone);
  return { ambient: ambientOf(local?.ambient, site.ambient), pue: estimatedPue(local, site) };
}

function planOf(target: NodeTarget, readings: PlanReadings, { settings, cache }: PlanningInput): NodePlan {
  const results = cache.of(target.name);
  const last = results.plan;
  if (last?.target === target && areSame(last.readings, readings)) return last.plan;
  const { caps, managed } = target;
  const { awaitedBy } = readings;
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
      ...readings,
    },
    settings.twin,
  );
  const status = roundForPublication(predicted);
  const plan = { ...target, status: awaitedBy === undefined ? status : { ...status, awaitedBy: published(awaitedBy) } };
  results.plan = { target, readings, plan };
  return plan;
}

const published = ({ pod, uid, priority, since, until, spare }: AwaitedPod): NodeTwinStatus["awaitedBy"] => ({
  pod,
  uid,
  ...(priority !== undefined && { priority }),
  since: isoTime(since),
  until: isoTime(until),
  ...(spare && { spare: { cpu: spare.cpu, memory: spare.memory } }),
});

const areSame = (one: PlanReadings, other: PlanReadings): boolean =>
  one.trend === other.trend &&
  one.supplyTotal === other.supplyTotal &&
  one.ambient === other.ambient &&
  one.pue === other.pue &&
  one.awaitedBy?.uid === other.awaitedBy?.uid &&
  one.awaitedBy?.until === other.awaitedBy?.until &&
  isSameSpare(one.awaitedBy?.spare, other.awaitedBy?.spare) &&
  isSameReading(one.reading, other.reading);

/** A static estimate has no time of its own: `statusAt` sets it. */
const isSameReading = (one: PowerReading | undefined, other: PowerReading | undefined): boolean =>
  one?.power === other?.power && one?.source === other?.source && (one?.at === other?.at || one?.source === "static");
