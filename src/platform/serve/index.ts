export type { Check, Checks } from "./health.ts";
export type { Page } from "./page.ts";
export { type Served, type ServeLimits, type ServeOptions, serve } from "./server.ts";
export { type SignalledProcess, type UntilStopped, untilStopped } from "./stop.ts";
