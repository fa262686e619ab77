/** How many performance nodes: at least none, at most all, always a whole number. */
export const withinCluster = (count: number, nodes: number): number => orZero(Math.floor(clamp(count, 0, nodes)));

/** Where the bounds contradict each other the upper one wins. */
export const clamp = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value));

/** A few units in the last place: 0.29 × 50 is 14.499999999999998 to a computer and 14.5 to the person who wrote 0.29. */
const slack = 4 * Number.EPSILON;

/** Halves go up. */
export const roundedShare = (nodes: number, fraction: number): number =>
  orZero(Math.floor(nodes * fraction * (1 + slack) + 0.5));

/** Whole portions needed to hold an amount; what cannot be divided needs none. */
export const portions = (amount: number, portion: number): number =>
  orZero(Math.ceil((amount / portion) * (1 - slack)));

const orZero = (value: number): number => (Number.isNaN(value) ? 0 : value);
