export { Extender, type ExtenderConfig } from "./extender.ts";
export { Scheduler, type SchedulerOptions } from "./scheduler.ts";
