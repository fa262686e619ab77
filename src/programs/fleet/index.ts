export { type ArrivalOptions, jobArrivals } from "./arrivals.ts";
export { fleetConfig } from "./config.ts";
export { SIMULATED } from "./names.ts";
export { type RunningFleet, runFleet } from "./start.ts";
