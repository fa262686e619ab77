import { errorMessageOf } from "../../../core/api/index.ts";
import type { ApiRequest } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../storage/json.ts";
import type { ApiWriteOptions } from "../write/admission.ts";
import { badRequest, tooLarge } from "./status.ts";

/** Kubernetes' limit for a request body. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024;

export interface ParsedRequest {
  readonly method: ApiRequest["method"];
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function parseRequest({ method, path, headers = {}, body = "" }: ApiRequest): ParsedRequest {
  const mark = path.indexOf("?");
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  if (Buffer.byteLength(body) > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
  return {
    method,
    path: mark === -1 ? path : path.slice(0, mark),
    query: new URLSearchParams(mark === -1 ? "" : path.slice(mark + 1)),
    headers: lower,
    body,
  };
}

export const mediaTypeOf = ({ headers }: ParsedRequest): string =>
  (headers["content-type"] ?? "application/json").split(";")[0]?.trim().toLowerCase() ?? "";

/** The body as an object; an empty body is an empty object. */
export function objectBody({ body }: ParsedRequest): JsonObject {
  if (body.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    throw badRequest(`couldn't read the body: ${errorMessageOf(error)}`);
  }
  if (!isJsonObject(value)) throw badRequest("the request body is not an object");
  return value;
}

/** The DeleteOptions of a request. What would do more than asked for is rejected. */
export function deleteOptions(request: ParsedRequest): JsonObject {
  const options = objectBody(request);
  if (Array.isArray(options.dryRun) && options.dryRun.length > 0) throw noDryRun();
  const policy = request.query.get("propagationPolicy") ?? options.propagationPolicy;
  if (policy === "Orphan")
    throw badRequest("this API deletes dependants: it does not know the propagation policy Orphan");
  return options;
}

/** Rejects a request that must change nothing: this API would carry it out. */
export function expectNoDryRun({ method, query }: ParsedRequest): void {
  if (method !== "GET" && (query.get("dryRun") ?? "") !== "") throw noDryRun();
}

const noDryRun = () => badRequest("this API has no dry runs, and would really change the object");

/** The field manager is the one in the query, else the program in the User-Agent. An apply must name one. */
export function writeOptionsOf(
  { query, headers }: ParsedRequest,
  subresource: string | undefined,
  apply: boolean,
): ApiWriteOptions {
  const agent = (headers["user-agent"] ?? "").split("/")[0] || "unknown";
  return {
    manager: query.get("fieldManager") ?? (apply ? "" : agent),
    strict: query.get("fieldValidation") === "Strict",
    ...(subresource === "status" ? { subresource } : {}),
  };
}
