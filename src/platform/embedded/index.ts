export type { Fault, FaultRule, Faults } from "./api/faults.ts";
export type { Listening, ListenOptions } from "./api/http.ts";
export { EmbeddedApi, type EmbeddedOptions } from "./embedded-api.ts";
export { Extender, type ExtenderConfig, Scheduler, type SchedulerOptions } from "./scheduler/index.ts";
