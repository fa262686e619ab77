export { fleetConfig } from "./config.ts";
export { SIMULATED } from "./names.ts";
export { recordWakeProofs } from "./nodes/wake-proofs.ts";
export { type RunningFleet, runFleet } from "./start.ts";
export { lastDayArrivals } from "./workload/last-day-arrivals.ts";
