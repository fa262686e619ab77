export { fleetConfig } from "./config.ts";
export { lastDayArrivals } from "./last-day-arrivals.ts";
export { SIMULATED } from "./names.ts";
export { type RunningFleet, runFleet } from "./start.ts";
export { recordWakeProofs } from "./wake-proofs.ts";
