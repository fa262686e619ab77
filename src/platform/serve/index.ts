export { ConnectionLimiter } from "./connections/connection-limiter.ts";
export { closeServer, freePorts, isFree, listen, serverUrl } from "./listen.ts";
export {
  DebugAccess,
  type DebugAccessOptions,
  type DebugPage,
  type DebugRequest,
  isLocalRequest,
  type StreamedPage,
  type TokenCheck,
} from "./pages/debug-access.ts";
export { type HealthCheck, type HealthChecks, healthReply } from "./pages/health.ts";
export { type Reply, sendReply } from "./reply.ts";
export { type Served, type ServeLimits, type ServeOptions, serve } from "./server.ts";
export { type SignalledProcess, type UntilStopped, untilAborted, untilStopped } from "./shutdown.ts";
