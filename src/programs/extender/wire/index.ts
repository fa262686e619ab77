export type { Candidates } from "./candidates.ts";
export { KnownNodes } from "./known-nodes.ts";
export { filterReply, prioritizeReply } from "./replies.ts";
export { type ExtenderRequest, readRequest } from "./request.ts";
export { AmbiguousKeyError, RequestError } from "./request-error.ts";
export { RequestWorker } from "./request-worker.ts";
export { createCandidateTables, type LabelKeys, labelBytes } from "./scan.ts";
