import type { CpuHardware } from "../../../core/api/index.ts";
import { isPositive, watts } from "../../../core/units/index.ts";
import type { CapBoard, HostFacts } from "../../../platform/hardware/index.ts";
import {
  type DiscoveredBackend,
  type DiscoveredHardware,
  publishableWarnings,
  truncated,
} from "./discovered-hardware.ts";

const DRIVERS: Readonly<Record<string, string>> = { rapl: "intel_rapl", hsmp: "amd_hsmp" };

export function cpuHardware({ facts, cpu: backends, noThrottle, noEnergy }: DiscoveredHardware): CpuHardware {
  const { cpu } = facts;
  const capping = backends.find(({ view }) => view.boards?.some(isUsable));
  const driver = capping === undefined ? driverOf(cpu.driver) : DRIVERS[capping.name];
  const coresPerSocket = (cpu.totalCores ?? Number.NaN) / (cpu.sockets ?? Number.NaN);
  const landmarks = landmarksOf(facts);
  const range = capping && capRange(capping.view.boards ?? []);
  return {
    ...(cpu.model === undefined ? {} : { rawModel: truncated(cpu.model) }),
    ...(cpu.vendor === undefined ? {} : { vendor: truncated(cpu.vendor, 63) }),
    ...(cpu.sockets === undefined ? {} : { sockets: cpu.sockets }),
    ...(Number.isInteger(coresPerSocket) ? { coresPerSocket } : {}),
    ...(cpu.totalCores === undefined ? {} : { totalCores: cpu.totalCores }),
    ...(driver === undefined ? {} : { driverFamily: truncated(driver, 63) }),
    ...(range === undefined ? {} : { capRange: range }),
    ...(Object.keys(landmarks).length === 0 ? {} : { landmarks }),
    controlAvailable: capping !== undefined || noThrottle === undefined,
    telemetryAvailable: noEnergy === undefined,
    quality: qualityOf(facts),
    warnings: publishableWarnings([
      ...cpu.warnings,
      ...controlWarnings(backends, capping, noThrottle),
      noEnergy && `power: ${noEnergy}`,
    ]),
  };
}

const isUsable = ({ lost, locked }: CapBoard): boolean => lost === undefined && locked === undefined;

/** amd-pstate-epp and amd-pstate are one driver family. */
const driverOf = (driver: string | undefined): string | undefined =>
  driver?.startsWith("amd-pstate") ? "amd_pstate" : driver?.replaceAll("-", "_");

function landmarksOf({ cpu: { landmarks } }: HostFacts): NonNullable<CpuHardware["landmarks"]> {
  const { min, nominal, maxBoost, lowestNonlinear } = landmarks;
  return {
    ...(min === undefined ? {} : { minFreqMHz: min }),
    ...(nominal === undefined ? {} : { nominalFreqMHz: nominal }),
    ...(maxBoost === undefined ? {} : { maxBoostMHz: maxBoost }),
    ...(lowestNonlinear === undefined ? {} : { lowestNonlinearFreqMHz: lowestNonlinear }),
  };
}

function capRange(boards: readonly CapBoard[]): CpuHardware["capRange"] | undefined {
  const usable = boards.filter(isUsable);
  const maxima = usable.map(({ device }) => device.max).filter(isPositive);
  const minima = usable.map(({ device }) => device.min).filter(isPositive);
  if (maxima.length === 0) return undefined;
  return {
    type: "package",
    maxWattsPerSocket: watts(Math.min(...maxima)),
    ...(minima.length === 0 ? {} : { minWattsPerSocket: watts(Math.min(...maxima, Math.max(...minima))) }),
  };
}

function qualityOf({ cpu: { model, sockets, isVirtual } }: HostFacts): NonNullable<CpuHardware["quality"]> {
  if (model === undefined && sockets === undefined) return "unavailable";
  return model === undefined || sockets === undefined || isVirtual ? "heuristic" : "exact";
}

function controlWarnings(
  backends: readonly DiscoveredBackend[],
  capping: DiscoveredBackend | undefined,
  noThrottle: string | undefined,
): readonly string[] {
  const boards = backends.flatMap(({ view }) => view.boards ?? []);
  const ofBoards = boards.flatMap(({ id, lost, locked, warnings = [] }) =>
    [lost, locked, ...warnings].filter((words) => words !== undefined).map((words) => aboutBoard(id, words)),
  );
  if (capping !== undefined) return ofBoards;
  const absent = backends.flatMap(({ name, view }) => (view.absent === undefined ? [] : [`${name}: ${view.absent}`]));
  const instead =
    noThrottle === undefined ? ["no power limit can be set: CPUs are throttled instead"] : [`dvfs: ${noThrottle}`];
  return [...ofBoards, ...absent, ...instead];
}

const aboutBoard = (id: string, words: string): string => (words.startsWith(id) ? words : `${id}: ${words}`);
