export { ConnectionLimiter } from "./connection-limiter.ts";
export { DebugAccess, type DebugRequest, isLocalRequest, type StreamedPage, type TokenCheck } from "./debug-access.ts";
export { closeServer, freePorts, listen, serverUrl } from "./listen.ts";
export { type HealthChecks, healthReply, type Reply, sendReply } from "./reply.ts";
export { type Served, type ServeOptions, serve } from "./server.ts";
export { type SignalledProcess, untilAborted, untilStopped } from "./shutdown.ts";
