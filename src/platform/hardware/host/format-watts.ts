/** Watts as people write them: no more than three decimals, no trailing zeros. */
export const formatWatts = (value: number): string => `${Number(value.toFixed(3))} W`;
