export type { ListeningServer, ListenOptions } from "./api/http.ts";
export { EmbeddedApi, type EmbeddedOptions } from "./embedded-api.ts";
export { ExtenderClient, type ExtenderClientConfig, Scheduler, type SchedulerOptions } from "./scheduler/index.ts";
