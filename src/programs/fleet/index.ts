export { fleetConfig } from "./config.ts";
export { SIMULATED } from "./names.ts";
export { type RunningFleet as RunningSimulator, runFleet as runSimulator } from "./start.ts";
