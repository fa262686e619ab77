/** The origin of a value. The first four are in order of precedence, field by field. */
export type Origin = "discovered" | "declared" | "nfd" | "allocatable" | "catalogue" | "fallback";

export interface WithOrigin<Value> {
  readonly value: Value;
  readonly from: Origin;
}

/** Joined by `??`: the first origin with a value wins. */
export const claim = <Value>(value: Value | undefined, from: Origin): WithOrigin<Value> | undefined =>
  value === undefined ? undefined : { value, from };
