import { CodedError, type ErrorCode, errorMessageOf } from "../../../core/api/index.ts";
import { type Instant, type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { type Backoff, backoffDelay } from "../../backoff/index.ts";
import type { RandomSource } from "../../random/index.ts";
import { isRecord } from "./object.ts";
import type { ApiRequest, ApiResponse } from "./transport.ts";

/**
 * Why a call failed, as far as callers need to distinguish. The client itself creates the last four:
 * timeout, no connection, a response that is not from a Kubernetes API, and the client's own rate limit.
 */
export type ApiErrorKind =
  | "badRequest"
  | "unauthorized"
  | "forbidden"
  | "notFound"
  | "alreadyExists"
  | "conflict"
  | "gone"
  | "tooLarge"
  | "invalid"
  | "tooMany"
  | "internal"
  | "unavailable"
  | "timeout"
  | "network"
  | "garbled"
  | "busy";

const kindOfStatus: Readonly<Record<number, ApiErrorKind>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "notFound",
  409: "conflict",
  410: "gone",
  413: "tooLarge",
  422: "invalid",
  429: "tooMany",
  502: "unavailable",
  503: "unavailable",
  504: "timeout",
};

/** All other kinds are rejections by the server. */
const codeOfKind: Readonly<Partial<Record<ApiErrorKind, ErrorCode>>> = {
  unauthorized: "JOULIE_E_API_UNAUTHORIZED",
  forbidden: "JOULIE_E_API_FORBIDDEN",
  tooMany: "JOULIE_E_API_UNREACHABLE",
  unavailable: "JOULIE_E_API_UNREACHABLE",
  timeout: "JOULIE_E_API_UNREACHABLE",
  network: "JOULIE_E_API_UNREACHABLE",
  busy: "JOULIE_E_API_UNREACHABLE",
  garbled: "JOULIE_E_API_RESPONSE",
  tooLarge: "JOULIE_E_API_RESPONSE",
};

interface ApiErrorFacts {
  /** The HTTP status, or the code of a watch's ERROR event. */
  readonly status?: number;
  /** The reason in the server's Status, such as `Expired` or `AlreadyExists`. */
  readonly reason?: string;
  /** The server's Retry-After. */
  readonly retryAfter?: Milliseconds;
  /** The server did not execute the call, so a retry is safe. */
  readonly notDone?: boolean;
  readonly cause?: unknown;
}

/** A failed call. `message` names the call and quotes the server. */
export class ApiError extends CodedError {
  override readonly name = "ApiError";
  readonly kind: ApiErrorKind;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly retryAfter: Milliseconds | undefined;
  readonly notDone: boolean;

  constructor(kind: ApiErrorKind, message: string, facts: ApiErrorFacts = {}) {
    super(
      codeOfKind[kind] ?? "JOULIE_E_API_REJECTED",
      message,
      facts.cause === undefined ? undefined : { cause: facts.cause },
    );
    this.kind = kind;
    this.status = facts.status;
    this.reason = facts.reason;
    this.retryAfter = facts.retryAfter;
    this.notDone = facts.notDone ?? false;
  }
}

export function isApiError(error: unknown, ...kinds: readonly ApiErrorKind[]): error is ApiError {
  return error instanceof ApiError && (kinds.length === 0 || kinds.includes(error.kind));
}

type Call = Pick<ApiRequest, "method" | "path">;
/** Method and path of a call, without the query, which can be long. */
export const describeCall = ({ method, path }: Call): string => `${method} ${path.split("?", 1)[0] ?? path}`;

/** The error of an unsuccessful response. `text` is its body: a Status when it comes from the API server. */
export function errorFromResponse(
  call: Call,
  answer: Pick<ApiResponse, "status" | "headers">,
  text: string,
  now: Instant,
) {
  const status = parseStatus(text);
  const said = status?.message ?? (text.trim().slice(0, 500) || "no explanation");
  const asked = retryAfterOf(answer.headers["retry-after"], now) ?? status?.retryAfter;
  return new ApiError(
    kindOf(answer.status, status?.reason),
    `${describeCall(call)}: ${answer.status} ${said}`,
    facts({
      status: answer.status,
      reason: status?.reason,
      retryAfter: asked,
      // The server rejects these before executing the call.
      notDone: answer.status === 429 || answer.status === 401,
    }),
  );
}

export function errorFromStatus(call: Call, object: unknown): ApiError {
  const status = statusOf(object);
  const code = status?.code ?? 500;
  return new ApiError(
    kindOf(code, status?.reason),
    `${describeCall(call)}: the watch ended with ${code} ${status?.message ?? "no explanation"}`,
    facts({ status: code, reason: status?.reason, retryAfter: status?.retryAfter }),
  );
}

/** The error of a transport that got no response. */
export function errorFromNetwork(call: Call, cause: unknown): ApiError {
  const said = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new ApiError("network", `${describeCall(call)}: no answer: ${said}`, { cause, notDone: neverSent(cause) });
}

/** Error codes of Node and undici that mean no byte of the request was sent. */
const NO_CONNECTION = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function neverSent(cause: unknown): boolean {
  if (cause instanceof AggregateError) return cause.errors.length > 0 && cause.errors.every(neverSent);
  if (!isRecord(cause) && !(cause instanceof Error)) return false;
  const { code, cause: deeper } = cause as { code?: unknown; cause?: unknown };
  return (typeof code === "string" && NO_CONNECTION.has(code)) || (deeper !== undefined && neverSent(deeper));
}

function kindOf(status: number, reason: string | undefined): ApiErrorKind {
  if (reason === "AlreadyExists") return "alreadyExists";
  return kindOfStatus[status] ?? (status >= 500 ? "internal" : "badRequest");
}

interface ServerStatus {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly retryAfter?: Milliseconds;
}

function parseStatus(text: string): ServerStatus | undefined {
  try {
    return statusOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function statusOf(value: unknown): ServerStatus | undefined {
  if (!isRecord(value) || value.kind !== "Status") return undefined;
  const { code, reason, message, details } = value;
  const wait = isRecord(details) ? details.retryAfterSeconds : undefined;
  return {
    ...(typeof code === "number" && { code }),
    ...(typeof reason === "string" && { reason }),
    ...(typeof message === "string" && { message }),
    ...(typeof wait === "number" && wait > 0 && { retryAfter: milliseconds(wait * 1000) }),
  };
}

/** Parses `Retry-After` as seconds or as a date; ignores anything else. */
export function retryAfterOf(header: string | undefined, now: Instant): Milliseconds | undefined {
  const text = header?.trim() ?? "";
  if (text === "") return undefined;
  if (/^\d+$/.test(text)) return milliseconds(Number(text) * 1000);
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : milliseconds(Math.max(0, date - now));
}

/** Drops undefined fields. */
function facts(given: { [Fact in keyof ApiErrorFacts]: ApiErrorFacts[Fact] | undefined }): ApiErrorFacts {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

const NO_ANSWER: ReadonlySet<ApiErrorKind> = new Set(["network", "timeout", "unavailable"]);

/** Why a call failed, for a user: without the request, whose path says nothing to them. */
export function plainReason(error: unknown): string {
  const message = errorMessageOf(error);
  const { code } = error as { readonly code?: unknown };
  const isRefused = typeof code === "string" && code.startsWith("ECONN");
  if (isRefused || (error instanceof ApiError && NO_ANSWER.has(error.kind))) return "the API server does not answer";
  return message.replace(/^[A-Z]+ \/\S*: (\d{3} )?/, "");
}

const JITTER = 0.5;

/** The delay before attempt `failures + 1`; `failures` starts at 1. */
export const waitAfter = (failures: number, backoff: Backoff, random: RandomSource): Milliseconds =>
  backoffDelay(failures, { jitter: JITTER, ...backoff }, random);

/** Like `waitAfter`, but at least the server's Retry-After, which `longestAsked` limits. */
export function waitAfterError(
  error: unknown,
  failures: number,
  backoff: Backoff,
  longestAsked: Milliseconds,
  random: RandomSource,
): Milliseconds {
  const own = waitAfter(failures, backoff, random);
  return milliseconds(Math.max(own, waitAsked(error, longestAsked, random)));
}

/** The server's Retry-After, 0 if absent. Jitter is added because all rejected clients got the same value. */
export function waitAsked(error: unknown, longestAsked: Milliseconds, random: RandomSource): Milliseconds {
  const asked = error instanceof ApiError ? (error.retryAfter ?? 0) : 0;
  return milliseconds(asked > 0 ? Math.min(asked, longestAsked) * (1 + 0.1 * random.next()) : 0);
}

const TRANSIENT: ReadonlySet<ApiError["kind"]> = new Set(["network", "timeout", "unavailable", "internal", "garbled"]);

/** Whether a retry may help and is safe: a create is retried only if the server certainly did not execute it. */
export function mayRepeat(error: unknown, idempotent: boolean): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  if (error.kind === "tooMany") return true;
  return TRANSIENT.has(error.kind) && (idempotent || error.notDone);
}
