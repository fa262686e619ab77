export { ExtenderClient, type ExtenderClientConfig } from "./extender.ts";
export { Scheduler, type SchedulerOptions } from "./scheduler.ts";
