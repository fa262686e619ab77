import { type AwaitedPod, awaitedPodOf, isAwake, type NodeTwinStatus, type SchedulableClass } from "../api/index.ts";
import {
  type Instant,
  type Percent,
  parseInstant,
  percent,
  type Watts,
  type WattsPerMinute,
  watts,
  wattsPerMinute,
} from "../units/index.ts";

/** A class other than `unknown`. */
export type KnownClass = Exclude<SchedulableClass, "unknown">;

/** A measurement usable for scoring: power, power budget and trend. */
interface MeasuredPower {
  readonly drawn: Watts;
  readonly budget: Watts;
  /** 0 if no trend is known. */
  readonly trend: WattsPerMinute;
}

/** The values of a twin that scoring reads, validated once: every value is usable or undefined, never NaN or a placeholder 0. */
export interface TwinState {
  readonly schedulableClass: KnownClass | undefined;
  readonly updatedAt: Instant | undefined;
  readonly power: MeasuredPower | undefined;
  readonly predictedHeadroom: Percent | undefined;
  readonly coolingStress: Percent | undefined;
  readonly pue: number | undefined;
  /** The pod that the node is kept free for, or was. */
  readonly awaitedBy?: AwaitedPod | undefined;
}

const knownClasses: ReadonlySet<unknown> = new Set<KnownClass>(["performance", "eco", "draining", "asleep"]);

export function twinStateOf(status: NodeTwinStatus): TwinState {
  return {
    schedulableClass: classOf(status),
    updatedAt: parseInstant(status.lastUpdated),
    power: measuredPower(status.powerMeasurement),
    predictedHeadroom: share(status.predictedPowerHeadroomScore),
    coolingStress: share(status.predictedCoolingStressScore),
    pue: finite(status.estimatedPUE),
    ...(status.awaitedBy && { awaitedBy: awaitedPodOf(status) }),
  };
}

/**
 * The power program's word counts before the class, which the operator publishes a little later. While the stop switch is set, or
 * without an operator, the class does not follow at all: then a node that has woken since its class was published is not asleep.
 */
function classOf(status: NodeTwinStatus): KnownClass | undefined {
  if (!isAwake(status)) return "asleep";
  if (status.schedulableClass === "asleep" && hasWokenSince(status)) return undefined;
  return knownClasses.has(status.schedulableClass) ? (status.schedulableClass as KnownClass) : undefined;
}

const hasWokenSince = ({ power, lastUpdated }: NodeTwinStatus): boolean =>
  Date.parse(power?.since ?? "") > Date.parse(lastUpdated ?? "");

/** Without a positive budget or a reading the node is not measured, and its trend is ignored too. */
function measuredPower(block: NodeTwinStatus["powerMeasurement"]): MeasuredPower | undefined {
  const drawn = finite(block?.measuredNodePowerW);
  const budget = finite(block?.nodeCappedPowerW);
  if (drawn === undefined || drawn < 0 || budget === undefined || budget <= 0) return undefined;
  return { drawn: watts(drawn), budget: watts(budget), trend: wattsPerMinute(finite(block?.powerTrendWPerMin) ?? 0) };
}

/** JSON may contain null, and arithmetic may produce NaN, whatever the types say. */
const finite = (value: unknown): number | undefined => (Number.isFinite(value) ? (value as number) : undefined);

function share(value: unknown): Percent | undefined {
  const known = finite(value);
  return known === undefined || known < 0 || known > 100 ? undefined : percent(known);
}
