export { powerConfig } from "./config.ts";
export { phaseOf } from "./phase.ts";
export { listed, nodesNotOn, releaseFromWake, testWake, wake } from "./requests.ts";
export type { PowerTimes } from "./settings.ts";
export { runPower } from "./start.ts";
