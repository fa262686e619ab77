export type { Candidates } from "./candidates.ts";
export { NameIndex } from "./name-index.ts";
export { filterReply, prioritizeReply } from "./replies.ts";
export type { ExtenderRequest } from "./request.ts";
export { RequestError } from "./request-error.ts";
export { RequestReader } from "./request-reader.ts";
