export { ConnectionLimiter } from "./connection-limiter.ts";
export {
  DebugAccess,
  type DebugAccessOptions,
  type DebugPage,
  type DebugRequest,
  isLocalRequest,
  type StreamedPage,
  type TokenCheck,
} from "./debug-access.ts";
export { closeServer, freePorts, isFree, listen, serverUrl } from "./listen.ts";
export { type HealthCheck, type HealthChecks, healthReply, type Reply, sendReply } from "./reply.ts";
export { type Served, type ServeLimits, type ServeOptions, serve } from "./server.ts";
export { type SignalledProcess, type UntilStopped, untilAborted, untilStopped } from "./shutdown.ts";
