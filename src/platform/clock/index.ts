export type { Clock, Timer, TimerOptions } from "./clock.ts";
export { systemClock } from "./system.ts";
export { VirtualClock } from "./virtual.ts";
