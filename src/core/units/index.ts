export * from "./duration.ts";
export { memoize } from "./memoize.ts";
export type { RandomSource } from "./number.ts";
export * from "./number.ts";
export * from "./physical-units.ts";
export * from "./quantity.ts";
export * from "./slot-table.ts";
export * from "./text-table.ts";
