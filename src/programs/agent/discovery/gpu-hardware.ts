import type { GpuHardware } from "../../../core/api/index.ts";
import { isNonNegative, isPositive, type Watts, watts } from "../../../core/units/index.ts";
import type { CapBoard, GpuCapBoard } from "../../../platform/hardware/index.ts";
import { type DiscoveredBackend, publishableWarnings, truncated } from "./discovered-hardware.ts";

/** GPU boards may report more than capping needs. */
type DiscoveredGpu = CapBoard & Partial<Pick<GpuCapBoard, "vendor" | "defaultLimit" | "slicing">>;

/** The discovered GPUs in the form of the API. Ranges fit every board that answers. */
export function gpuHardware(backends: readonly DiscoveredBackend[]): GpuHardware {
  const boards: readonly DiscoveredGpu[] = backends.flatMap(({ view }) => view.boards ?? []);
  const absent = backends.flatMap(({ view }) => view.absent ?? []);
  if (boards.length === 0) {
    return {
      present: false,
      controlAvailable: false,
      telemetryAvailable: false,
      quality: "unavailable",
      warnings: publishableWarnings(absent),
    };
  }
  const answering = boards.filter(({ lost }) => lost === undefined);
  const model = mostFrequent(boards.map((board) => board.model));
  const vendor = mostFrequent(boards.map((board) => board.vendor));
  const modes = [...new Set(boards.flatMap(({ slicing = [] }) => slicing))];
  const range = capRange(answering);
  const current = lowest(backends.flatMap(({ limits }) => [...limits.values()]));
  const powers = backends.flatMap((backend) => backend.powers);
  return {
    present: true,
    ...(model === undefined ? {} : { rawModel: truncated(model) }),
    ...(vendor === undefined ? {} : { vendor }),
    count: boards.length,
    ...(range === undefined ? {} : { capRangePerGpu: range }),
    ...(current === undefined ? {} : { currentCapWatts: current }),
    ...(modes.length === 0
      ? {}
      : { slicing: { supported: true, modes: modes.slice(0, 16).map((mode) => truncated(mode, 63)) } }),
    controlAvailable: answering.some(({ locked }) => locked === undefined),
    telemetryAvailable: powers.some(({ power }) => isNonNegative(power)),
    quality: model === undefined || answering.length === 0 ? "heuristic" : "exact",
    warnings: publishableWarnings([
      ...mixture(boards),
      ...boards.flatMap(aboutBoard),
      ...powers.map(({ missing }) => missing),
    ]),
  };
}

function capRange(boards: readonly DiscoveredGpu[]): GpuHardware["capRangePerGpu"] | undefined {
  const max = lowest(boards.map(({ device }) => device.max));
  const minima = boards.map(({ device }) => device.min).filter(isPositive);
  const min = minima.length === 0 ? undefined : watts(Math.max(...minima));
  const normal = lowest(boards.map(({ defaultLimit }) => defaultLimit));
  const range = {
    ...(min === undefined || (max !== undefined && min > max) ? {} : { minWatts: min }),
    ...(max === undefined ? {} : { maxWatts: max }),
    ...(normal === undefined ? {} : { defaultWatts: normal }),
  };
  return Object.keys(range).length === 0 ? undefined : range;
}

function lowest(values: readonly (Watts | undefined)[]): Watts | undefined {
  const known = values.filter(isPositive);
  return known.length === 0 ? undefined : watts(Math.min(...known));
}

function mostFrequent<Name extends string>(names: readonly (Name | undefined)[]): Name | undefined {
  const counts = Map.groupBy(
    names.filter((name) => name !== undefined),
    (name) => name,
  );
  return [...counts].toSorted(([, a], [, b]) => b.length - a.length)[0]?.[0];
}

function mixture(boards: readonly DiscoveredGpu[]): readonly string[] {
  const models = Map.groupBy(boards, ({ model }) => model ?? "unknown");
  if (models.size < 2) return [];
  const counts = [...models].map(([model, members]) => `${members.length} × ${model}`).join(", ");
  return [`boards of several models: ${counts}; the published range fits all of them`];
}

const aboutBoard = ({ id, lost, locked, warnings = [] }: DiscoveredGpu): readonly string[] =>
  [lost, locked, ...warnings]
    .filter((words) => words !== undefined)
    .map((words) => (words.startsWith(id) ? words : `GPU ${id}: ${words}`));
