/** JSON may contain null, and arithmetic may produce NaN and Infinity, whatever the types say. */
export const isNonNegative = <Quantity extends number>(value: Quantity | undefined): value is Quantity =>
  Number.isFinite(value) && (value as number) >= 0;

export const isPositive = <Quantity extends number>(value: Quantity | undefined): value is Quantity =>
  Number.isFinite(value) && (value as number) > 0;
