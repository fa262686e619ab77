/** Who said so. The first four are the order in which a node's identity is believed, field by field. */
export type Origin = "discovered" | "declared" | "nfd" | "allocatable" | "catalogue" | "fallback";

export interface WithOrigin<Value> {
  readonly value: Value;
  readonly from: Origin;
}

/** Claims are joined by `??`: the first origin that says anything counts, and what is missing erases nothing. */
export const claim = <Value>(value: Value | undefined, from: Origin): WithOrigin<Value> | undefined =>
  value === undefined ? undefined : { value, from };
