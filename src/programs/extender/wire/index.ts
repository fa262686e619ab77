export type { Candidates } from "./candidates.ts";
export { KnownNodes } from "./known-nodes.ts";
export { filterReply, prioritizeReply } from "./replies.ts";
export { type ExtenderRequest, readRequest } from "./request.ts";
export { RequestWorker } from "./request-worker.ts";
export { type LabelKeys, labelBytes, rowsOfRequests } from "./scan.ts";
export { Surprise, WireError } from "./wire-error.ts";
