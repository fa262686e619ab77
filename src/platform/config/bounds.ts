/** The allowed numbers; `above` is exclusive, `min` and `max` are inclusive. */
export interface Bounds {
  readonly above?: number;
  readonly min?: number;
  readonly max?: number;
}

/** Continues "a number": "", " above 0", " of at least 1", " from 1 to 100", … */
export function describeBounds({ above, min, max }: Bounds): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  const parts = [];
  if (above !== undefined) parts.push(`above ${above}`);
  if (min !== undefined) parts.push(`of at least ${min}`);
  if (max !== undefined) parts.push(`at most ${max}`);
  return parts.length === 0 ? "" : ` ${parts.join(" and ")}`;
}

/** Continues `NAME="text"`; `undefined` means that the number is allowed. */
export function outOfBounds(value: number, { above, min, max }: Bounds): string | undefined {
  if (above !== undefined && value <= above) return `is not above ${above}`;
  if (min !== undefined && value < min) return `is less than ${min}`;
  if (max !== undefined && value > max) return `is more than ${max}`;
  return undefined;
}
