import { labels } from "../../core/api/index.ts";
import { publishedStateOf } from "../../core/policy/index.ts";
import {
  ambientOf,
  estimatedPue,
  type PowerReading,
  predictTwin,
  roundForPublication,
  supplyTotals,
} from "../../core/twin/index.ts";
import type { ManagedNode } from "./managed-node.ts";
import type { NodePlan, Surroundings, TwinFigures, Twinned } from "./node-plan.ts";
import type { PassInput, Telemetry } from "./pass-input.ts";
import { readingOf } from "./readings.ts";
import type { Target } from "./target.ts";

/** Every target with its twin. In two rounds, because the supply of a rack is the sum of its nodes. */
export function withTwins(targets: readonly Target[], input: PassInput): Map<string, NodePlan> {
  const { memory, telemetry, now } = input;
  const readings = targets.map((target) => readingOf(target, input));
  const drawn = targets.map(({ name, managed, budget: capEstimate }, index) => {
    return { name, rack: rackOf(managed), measured: readings[index]?.power, capEstimate };
  });
  const totalOf = supplyTotals(drawn, telemetry.facility.racks);
  const surroundings = new Map<string, Surroundings>();
  const plans = new Map<string, NodePlan>();
  targets.forEach((target, index) => {
    const { name, managed } = target;
    const known = memory.of(name);
    const reading = readings[index];
    if (reading !== undefined) known.trend.add(reading, now);
    const zone = managed.node.metadata.labels?.[labels.coolingZone] ?? "";
    let around = surroundings.get(zone);
    if (around === undefined) surroundings.set(zone, (around = surroundingsOf(zone, telemetry)));
    const { ambient, pue } = around;
    const trend = known.trend.slope(now);
    const supplyTotal = totalOf(rackOf(managed));
    const before = known.twinned;
    const isSame =
      before !== undefined &&
      before.target === target &&
      before.figures.ambient === ambient &&
      before.figures.pue === pue &&
      before.figures.trend === trend &&
      before.figures.supplyTotal === supplyTotal &&
      saysTheSame(before.figures.reading, reading);
    if (!isSame) known.twinned = twinned(target, { ambient, pue, trend, supplyTotal, reading }, input);
    if (known.twinned !== undefined) plans.set(name, known.twinned.plan);
  });
  return plans;
}

const rackOf = ({ node }: ManagedNode): string | undefined => node.metadata.labels?.[labels.rack];

function twinned(target: Target, figures: TwinFigures, { settings }: PassInput): Twinned {
  const { managed, caps, next } = target;
  const { shape } = managed;
  const status = roundForPublication(
    predictTwin(
      {
        hardware: shape.view,
        caps,
        schedulableClass: publishedStateOf(next).schedulableClass,
        density: shape.density.total,
        ...figures,
      },
      settings.twin,
    ),
  );
  return { plan: { ...target, status }, target, figures };
}

function surroundingsOf(zone: string, { facility: { site, zones } }: Telemetry): Surroundings {
  const own = zones.get(zone);
  return { ambient: ambientOf(own?.ambient, site.ambient), pue: estimatedPue(own, site) };
}

/** An estimate from the pods that are there has no age of its own: it is as of whenever it is told (see `asOf` of node-plan.ts). */
const saysTheSame = (one: PowerReading | undefined, other: PowerReading | undefined): boolean =>
  one?.power === other?.power && one?.source === other?.source && (one?.at === other?.at || one?.source === "static");
