export * from "./backend.ts";
export * from "./cap-resolution.ts";
export * from "./dvfs.ts";
export * from "./effectiveness.ts";
export * from "./energy.ts";
export * from "./gpu.ts";
export * from "./sharding.ts";
export * from "./throttle-spread.ts";
