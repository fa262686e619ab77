/** Watts with at most three decimals and no trailing zeros. */
export const formatWatts = (value: number): string => `${Number(value.toFixed(3))} W`;
