import type { ClockModel } from "./device.ts";
import { clampedLoad, type LoadPoints, type LoadShape, loadShape } from "./load-shape.ts";
import { type Figure, MODEL_SOURCES, type Provenance, type Source, sourcedFigure } from "./sources.ts";

/** Devices with the same power behaviour. The watts come from the catalogue entry of each model. */
export interface DeviceClass {
  readonly name: string;
  /** Matches the catalogue keys of this class; absent for the fallback class. */
  readonly covers?: RegExp | undefined;
  readonly figures: { readonly [Name in keyof ClockModel]: Figure };
  readonly load: { readonly kind: "points" | "line"; readonly provenance: Provenance; readonly source: Source };
  readonly clock: ClockModel;
  readonly shape: LoadShape;
}

type Origin = readonly [Provenance, Source];

export interface ClassRow {
  readonly name: string;
  readonly covers?: RegExp;
  /** Static share, slowest clock, voltage floor, clock at which the floor is reached. */
  readonly clock: readonly [staticShare: number, slowest: number, voltageFloor: number, floorClock: number];
  /** Sources of the values; others are assumed. */
  readonly from?: { readonly [Name in keyof ClockModel]?: Origin };
  readonly load?: readonly [LoadPoints, Origin];
}

const { clockRange, voltageTables, estimate } = MODEL_SOURCES;
const ASSUMED: { readonly [Name in keyof ClockModel]: Origin } = {
  staticShare: ["assumed", estimate],
  slowest: ["assumed", clockRange],
  voltageFloor: ["assumed", voltageTables],
  floorClock: ["assumed", voltageTables],
};

/** Builds a class from a table row. Load shapes are built once and shared by all nodes of the class. */
export function deviceClass({ name, covers, clock, from, load }: ClassRow): DeviceClass {
  const [staticShare, slowest, voltageFloor, floorClock] = clock;
  const model: ClockModel = { staticShare, slowest, voltageFloor, floorClock };
  const figureOf = (field: keyof ClockModel): Figure =>
    sourcedFigure(model[field], ...(from?.[field] ?? ASSUMED[field]));
  const [provenance, source] = load?.[1] ?? ASSUMED.staticShare;
  return {
    name,
    covers,
    figures: {
      staticShare: figureOf("staticShare"),
      slowest: figureOf("slowest"),
      voltageFloor: figureOf("voltageFloor"),
      floorClock: figureOf("floorClock"),
    },
    load: { kind: load ? "points" : "line", provenance, source },
    clock: model,
    shape: load ? loadShape(load[0]) : clampedLoad,
  };
}
