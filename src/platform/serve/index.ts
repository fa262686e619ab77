export { ConnectionLimiter } from "./connection-limiter.ts";
export { DebugAccess, type DebugAccessOptions, type TokenCheck } from "./debug-access.ts";
export { type Check, type Checks, healthReply } from "./health.ts";
export { listen } from "./listen.ts";
export type { Page } from "./page.ts";
export { type Reply, send } from "./reply.ts";
export { type Served, type ServeLimits, type ServeOptions, serve } from "./server.ts";
export { type SignalledProcess, type UntilStopped, untilStopped } from "./stop.ts";
