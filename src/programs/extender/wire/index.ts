export type { Candidates } from "./candidates.ts";
export { LastNames } from "./last-names.ts";
export { filterReply, prioritizeReply } from "./replies.ts";
export { type ExtenderRequest, RequestReader } from "./request.ts";
export { RequestError } from "./request-error.ts";
