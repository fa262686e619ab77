export { ConnectionLimiter } from "./connections/connection-limiter.ts";
export { DebugAccess, type DebugAccessOptions, type TokenCheck } from "./pages/debug-access.ts";
export { type Check, type Checks, healthReply } from "./pages/health.ts";
export { listen } from "./listen.ts";
export type { Page } from "./pages/debug-page.ts";
export { type Reply, send } from "./reply.ts";
export { type Served, type ServeLimits, type ServeOptions, serve } from "./server.ts";
export { type SignalledProcess, type UntilStopped, untilStopped } from "./shutdown.ts";
