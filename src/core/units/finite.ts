/** Types promise numbers, but JSON holds null and arithmetic makes NaN and Infinity: none of them is a figure to reckon with. */
export const isNonNegative = <Quantity extends number>(value: Quantity | undefined): value is Quantity =>
  Number.isFinite(value) && (value as number) >= 0;

export const isPositive = <Quantity extends number>(value: Quantity | undefined): value is Quantity =>
  Number.isFinite(value) && (value as number) > 0;
