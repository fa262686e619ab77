import { errorMessageOf } from "../../../core/api/index.ts";
import type { ApiResponse } from "../../kube/index.ts";
import type { JsonObject } from "../storage/json.ts";
import { badRequest, StatusError } from "./status.ts";

const JSON_TYPE = "application/json";

async function* chunks(texts: Iterable<string>): AsyncGenerator<Uint8Array, void, undefined> {
  for (const text of texts) yield Buffer.from(text);
}

/** A response whose text is generated in chunks. */
export const partsReply = (
  status: number,
  texts: Iterable<string>,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse => ({
  status,
  headers: { "content-type": JSON_TYPE, ...headers },
  body: chunks(texts),
});

export const textResponse = (
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse => partsReply(status, [text], headers);

export const jsonReply = (
  status: number,
  value: JsonObject,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse => textResponse(status, JSON.stringify(value), headers);

export const streamReply = (body: AsyncIterable<Uint8Array>): ApiResponse => ({
  status: 200,
  headers: { "content-type": JSON_TYPE },
  body,
});

export function errorReply(error: unknown): ApiResponse {
  const status = error instanceof StatusError ? error : unexpected(error);
  const seconds = status.details?.retryAfterSeconds;
  return jsonReply(status.code, status.status, seconds === undefined ? {} : { "retry-after": String(seconds) });
}

function unexpected(error: unknown): StatusError {
  // Only an object of thousands of levels exhausts the stack.
  if (error instanceof RangeError) return badRequest("the object has too many levels");
  const message = errorMessageOf(error);
  return new StatusError(500, "InternalError", `Internal error occurred: ${message}`);
}
