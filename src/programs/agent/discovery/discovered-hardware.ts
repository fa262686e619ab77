import type { Watts } from "../../../core/units/index.ts";
import type { BackendView, BoardPower, HostFacts } from "../../../platform/hardware/index.ts";

/** What one backend showed. */
export interface BackendFinding {
  readonly name: string;
  readonly view: BackendView;
  /** The limits in force, and the power drawn, of the boards that say so. */
  readonly limits: ReadonlyMap<string, Watts>;
  readonly powers: readonly BoardPower[];
}

/** All that was found on a machine, before the catalogue is asked what it means. */
export interface Findings {
  readonly facts: HostFacts;
  readonly cpu: readonly BackendFinding[];
  /** Why frequencies cannot be throttled; undefined where they can. */
  readonly noThrottle: string | undefined;
  /** Why energy cannot be read; undefined where it can. */
  readonly noEnergy: string | undefined;
  readonly gpu: readonly BackendFinding[];
}

/** As many and as long as the API takes. */
const MOST_WARNINGS = 64;
const LONGEST_WARNING = 1024;

/** Warnings fit to be published: none empty, none twice, none too long. */
export const worded = (warnings: readonly (string | undefined)[]): string[] =>
  [...new Set(warnings.filter((warning) => warning !== undefined && warning !== ""))]
    .map((warning) => String(warning).slice(0, LONGEST_WARNING))
    .slice(0, MOST_WARNINGS);

/** A name as long as the API takes. */
export const named = (text: string, longest = 253): string => text.slice(0, longest);
