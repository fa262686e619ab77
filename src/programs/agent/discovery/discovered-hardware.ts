import type { Watts } from "../../../core/units/index.ts";
import type { BackendView, BoardPower, HostFacts } from "../../../platform/hardware/index.ts";

/** What one backend showed. */
export interface DiscoveredBackend {
  readonly name: string;
  readonly view: BackendView;
  /** The limits in force, and the power drawn, of the boards that say so. */
  readonly limits: ReadonlyMap<string, Watts>;
  readonly powers: readonly BoardPower[];
}

/** All that was found on a machine, before the catalogue is asked what it means. */
export interface DiscoveredHardware {
  readonly facts: HostFacts;
  readonly cpu: readonly DiscoveredBackend[];
  /** Why frequencies cannot be throttled; undefined where they can. */
  readonly noThrottle: string | undefined;
  /** Why energy cannot be read; undefined where it can. */
  readonly noEnergy: string | undefined;
  readonly gpu: readonly DiscoveredBackend[];
}

/** As many and as long as the API takes. */
const MOST_WARNINGS = 64;
const LONGEST_WARNING = 1024;

/** Warnings fit to be published: none empty, none twice, none too long. */
export const publishableWarnings = (warnings: readonly (string | undefined)[]): string[] =>
  [...new Set(warnings.filter((warning) => warning !== undefined && warning !== ""))]
    .map((warning) => String(warning).slice(0, LONGEST_WARNING))
    .slice(0, MOST_WARNINGS);

/** A name as long as the API takes. */
export const truncated = (text: string, longest = 253): string => text.slice(0, longest);
