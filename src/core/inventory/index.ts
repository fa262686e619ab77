export type { CpuEntry, Figure, GpuEntry, LoadCurve, Provenance } from "./catalogue/entry.ts";
export type { Source } from "./catalogue/sources.ts";
export { buildCatalogue, builtinCatalogue, type Catalogue, type CatalogueReading } from "./catalogue.ts";
export { byDensity, type ComputeShape, type Density, densityOf } from "./density.ts";
export { fallbackCpuWatts, fallbackGpuWatts } from "./fallback.ts";
export {
  type CpuView,
  type GpuView,
  type HardwareView,
  type HardwareViewOptions,
  hardwareView,
  type Origins,
} from "./hardware-view.ts";
export type { Origin } from "./identity.ts";
export { GENERIC_KEY, type Match } from "./match.ts";
