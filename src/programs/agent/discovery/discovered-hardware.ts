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
  /** Why frequencies cannot be throttled; undefined if they can. */
  readonly noThrottle: string | undefined;
  /** Why energy cannot be read; undefined if it can. */
  readonly noEnergy: string | undefined;
  readonly gpu: readonly DiscoveredBackend[];
}

/** Limits of the CRD schema. */
const MAX_WARNINGS = 64;
const MAX_WARNING_LENGTH = 1024;

/** Warnings for the API: without empty, repeated or too long ones. */
export const publishableWarnings = (warnings: readonly (string | undefined)[]): string[] =>
  [...new Set(warnings.filter((warning) => warning !== undefined && warning !== ""))]
    .map((warning) => String(warning).slice(0, MAX_WARNING_LENGTH))
    .slice(0, MAX_WARNINGS);

/** A name cut to the length that the CRD schema allows. */
export const truncated = (text: string, maxLength = 253): string => text.slice(0, maxLength);
