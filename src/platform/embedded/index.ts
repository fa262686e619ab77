export type { ListeningServer } from "./api/http.ts";
export { EmbeddedApi } from "./embedded-api.ts";
export { ExtenderClient } from "./scheduler/extender.ts";
export { Scheduler, type SchedulerOptions } from "./scheduler/scheduler.ts";
