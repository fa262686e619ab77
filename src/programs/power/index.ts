export { type PowerTimes, powerConfig } from "./config.ts";
export { listed, nodesNotOn, releaseFromWake, testWake, wake } from "./requests.ts";
export { runPower } from "./start.ts";
export { phaseOf } from "./steps/endpoint-status.ts";
