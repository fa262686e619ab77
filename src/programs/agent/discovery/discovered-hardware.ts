import type { Watts } from "../../../core/units/index.ts";
import type { BackendView, BoardPower, HostFacts } from "../../../platform/hardware/index.ts";

export interface DiscoveredBackend {
  readonly name: string;
  readonly view: BackendView;
  /** Limits in force, and power, of the boards that report them. */
  readonly limits: ReadonlyMap<string, Watts>;
  readonly powers: readonly BoardPower[];
}

export interface DiscoveredHardware {
  readonly facts: HostFacts;
  readonly cpu: readonly DiscoveredBackend[];
  readonly noThrottle: string | undefined;
  readonly noEnergy: string | undefined;
  readonly gpu: readonly DiscoveredBackend[];
}

/** Limits of the CRD schema. */
const MAX_WARNINGS = 64;
const MAX_WARNING_LENGTH = 1024;

export const publishableWarnings = (warnings: readonly (string | undefined)[]): string[] =>
  [...new Set(warnings.filter((warning) => warning !== undefined && warning !== ""))]
    .map((warning) => String(warning).slice(0, MAX_WARNING_LENGTH))
    .slice(0, MAX_WARNINGS);

export const truncated = (text: string, maxLength = 253): string => text.slice(0, maxLength);
