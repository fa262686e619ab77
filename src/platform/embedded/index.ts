export type { ListeningServer, ListenOptions } from "./api/http.ts";
export { EmbeddedApi, type EmbeddedOptions } from "./embedded-api.ts";
export { ExtenderClient, type ExtenderClientConfig } from "./scheduler/extender.ts";
export { Scheduler, type SchedulerOptions } from "./scheduler/scheduler.ts";
