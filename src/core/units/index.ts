export type { Quantified } from "./brand.ts";
export * from "./percent.ts";
export * from "./power.ts";
export * from "./result.ts";
export * from "./temperature.ts";
export * from "./time.ts";
