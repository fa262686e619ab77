import { parse as parseYaml } from "yaml";
import type { ApiRequest } from "../../kube/index.ts";
import {
  everyNumberIsFinite,
  isDeeperThan,
  isJsonObject,
  type JsonObject,
  MAX_DEPTH,
  mayOverflow,
} from "../storage/json.ts";
import type { ApiWriteOptions } from "../write/admission.ts";
import { badRequest, tooLarge, unsupportedMediaType } from "./status.ts";

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

/** Converts YAML through JSON, which rejects alias loops and non-finite numbers and copies shared values. */
const parsedYaml = (text: string): unknown =>
  JSON.parse(
    JSON.stringify(parseYaml(text), (_key, value: unknown) => {
      if (typeof value === "number" && !Number.isFinite(value)) throw new RangeError("a number is out of range");
      return value;
    }),
  );

function parsed(text: string, yaml: boolean): unknown {
  let value: unknown;
  try {
    value = yaml && !text.trimStart().startsWith("{") ? parsedYaml(text) : JSON.parse(text);
  } catch (error) {
    throw badRequest(`couldn't read the body: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (isDeeperThan(MAX_DEPTH, value)) throw badRequest(`couldn't read the body: exceeded max depth of ${MAX_DEPTH}`);
  if (mayOverflow(text) && !everyNumberIsFinite(value))
    throw badRequest("couldn't read the body: a number is out of range");
  return value;
}

/** The body of a patch request, parsed by its media type. */
export const patchBody = (asked: ParsedRequest): unknown => parsed(asked.body, mediaTypeOf(asked).endsWith("+yaml"));

export function objectBody(asked: ParsedRequest): JsonObject {
  const mediaType = mediaTypeOf(asked);
  if (!["application/json", "application/yaml"].includes(mediaType)) {
    throw unsupportedMediaType(["application/json", "application/yaml"]);
  }
  const value = parsed(asked.body, mediaType === "application/yaml");
  if (!isJsonObject(value)) throw badRequest("the request body is not an object");
  return value;
}

/** Like objectBody, but an empty body is allowed. */
export const optionalBody = (asked: ParsedRequest): JsonObject => (asked.body.trim() === "" ? {} : objectBody(asked));

export function isDryRun(query: URLSearchParams): boolean {
  const values = query.getAll("dryRun").filter((value) => value !== "");
  const odd = values.find((value) => value !== "All");
  if (odd !== undefined) throw badRequest(`dryRun: Unsupported value: ${JSON.stringify(odd)}: supported values: "All"`);
  return values.length > 0;
}

const levels = ["Strict", "Warn", "Ignore"] as const;

/** The field manager is the one in the query, else the program in the User-Agent. An apply must name one. */
export function writeOptionsOf(
  { query, headers }: ParsedRequest,
  subresource: string | undefined,
  apply: boolean,
): ApiWriteOptions {
  const agent = (headers["user-agent"] ?? "").split("/")[0] || "unknown";
  const level = query.get("fieldValidation") ?? "Warn";
  return {
    manager: query.get("fieldManager") ?? (apply ? "" : agent),
    dryRun: isDryRun(query),
    fieldValidation: levels.find((one) => one === level) ?? "Warn",
    ...(subresource === "status" ? { subresource } : {}),
  };
}
