import type { Exactness, NodeHardwareStatus } from "../api/index.ts";
import type { CatalogueMatch } from "./match.ts";

/** The origin of a limit, in order of precedence. */
export type Origin = "discovered" | "catalogue" | "fallback";

export interface WithOrigin<Value> {
  readonly value: Value;
  readonly from: Origin;
}

/** The first known value, with its origin. */
export function firstKnown<Value>(
  discovered: Value | undefined,
  listed: Value | undefined,
  fallback: Value,
): WithOrigin<Value> {
  if (discovered !== undefined) return { value: discovered, from: "discovered" };
  return listed === undefined ? { value: fallback, from: "fallback" } : { value: listed, from: "catalogue" };
}

/** How a view matches the catalogue. */
export interface Resolution {
  /** As the node spells it; absent if unknown. */
  readonly model?: string;
  /** The key of the catalogue entry, or `generic`. */
  readonly key: string;
  readonly match: Exactness;
  readonly reason: string;
}

type LookUp<Entry> = (name: string) => CatalogueMatch<Entry>;

/** Looks up a node's CPU or GPU in the catalogue by all known names. */
export function resolve<Entry>(
  device: "cpu" | "gpu",
  names: readonly string[] | undefined,
  discovered: NodeHardwareStatus | undefined,
  lookUp: LookUp<Entry>,
): { readonly resolution: Resolution; readonly entry: Entry | undefined } {
  const { match: named, model } = bestOf(names ?? [], lookUp);
  const { hardwareCatalogKey, exactness } = discovered?.inventoryResolution ?? {};
  const { entry, match, key, reason } = orAgentsKey(named, hardwareCatalogKey?.[device], exactness?.[device], lookUp);
  return { resolution: { ...(model === undefined ? {} : { model }), key, match, reason }, entry };
}

const RANK: Readonly<Record<Exactness, number>> = { exact: 0, proxy: 1, generic: 2 };

/** The best match of several spellings, with the spelling that matched. */
function bestOf<Entry>(names: readonly string[], lookUp: LookUp<Entry>) {
  let best: { match: CatalogueMatch<Entry>; model?: string } = { match: lookUp("") };
  for (const model of names) {
    const match = lookUp(model);
    if (best.model === undefined || RANK[match.match] < RANK[best.match.match]) best = { match, model };
  }
  return best;
}

/** The agent may have resolved a name that this catalogue does not know. Its key and exactness are then used. */
function orAgentsKey<Entry>(
  match: CatalogueMatch<Entry>,
  key: string | undefined,
  exactness: Exactness | undefined,
  lookUp: LookUp<Entry>,
): CatalogueMatch<Entry> {
  const keyed = match.match === "generic" && key !== undefined ? lookUp(key) : undefined;
  if (keyed?.match !== "exact" || exactness === "generic") return match;
  return { ...keyed, match: exactness ?? "proxy", reason: `the agent resolved it to ${keyed.key}` };
}

/** Values above 100 kW (or 100 GHz) are errors and must not make a sum infinite. */
const MAX_PLAUSIBLE = 100_000;

/** A reported 0 W or 0 MHz means unknown. */
export const usable = <Quantity extends number>(value: Quantity | undefined): Quantity | undefined =>
  value !== undefined && value > 0 && value <= MAX_PLAUSIBLE ? value : undefined;

export interface VendorClaim<Vendor> {
  readonly vendor: Vendor;
  /** By the agent; else by a label. */
  readonly isDiscovered: boolean;
}

/** A known model determines the vendor better than PCI devices do; the agent's discovery still takes precedence. */
export const vendorOf = <Vendor>(
  claim: VendorClaim<Vendor> | undefined,
  listed: Vendor | undefined,
): Vendor | undefined => (claim?.isDiscovered === true ? claim.vendor : (listed ?? claim?.vendor));
