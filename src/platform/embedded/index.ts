export { EmbeddedApi, type EmbeddedOptions } from "./embedded-api.ts";
export type { Fault, FaultRule, Faults } from "./faults.ts";
export type { Listening, ListenOptions } from "./http.ts";
export { Extender, type ExtenderConfig, Scheduler, type SchedulerOptions } from "./scheduler/index.ts";
