export { ConnectionLimiter } from "./connections/connection-limiter.ts";
export { freePorts, isFree } from "./free-ports.ts";
export { closeServer, listen, serverUrl } from "./listen.ts";
export {
  DebugAccess,
  type DebugAccessOptions,
  type DebugRequest,
  isLocalRequest,
  type TokenCheck,
} from "./pages/debug-access.ts";
export type { DebugPage, StreamedPage } from "./pages/debug-page.ts";
export { type HealthCheck, type HealthChecks, healthReply } from "./pages/health.ts";
export { type Reply, send } from "./reply.ts";
export { type Served, type ServeLimits, type ServeOptions, serve } from "./server.ts";
export { type SignalledProcess, type UntilStopped, untilAborted, untilStopped } from "./shutdown.ts";
