export type { Candidates } from "./candidates.ts";
export { RequestError } from "./json-bytes.ts";
export { LastNames } from "./known-nodes.ts";
export { filterReply, prioritizeReply } from "./replies.ts";
export { type ExtenderRequest, RequestReader } from "./request.ts";
