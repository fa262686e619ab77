export { simulatorConfig } from "./config.ts";
export { SIMULATED } from "./names.ts";
export { type RunningSimulator, runSimulator } from "./start.ts";
