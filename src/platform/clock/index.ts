export type { Clock, Timer } from "./clock.ts";
export { clockWithCalendar } from "./clock.ts";
export { Deadline, endsWithin, withDeadline, withTimeLimit } from "./deadline.ts";
export { type EventLoopDelay, type EventLoopDelayStats, eventLoopDelay } from "./event-loop.ts";
export { repeatEvery, waitUntil } from "./repeat.ts";
export { ScaledClock } from "./scaled.ts";
export { systemClock } from "./system.ts";
