import { CodedError, type ErrorCode } from "../../core/api/index.ts";

/** Why a source gave nothing, as far as somebody may want to count or act on it. Also the value of the metric's `reason`. */
export type TelemetryErrorKind =
  | "timeout"
  | "network"
  | "status"
  | "redirect"
  | "too_large"
  | "garbled"
  /** The token or the certificates cannot be read. */
  | "credentials"
  /** A name that makes no URL. */
  | "bad_url"
  /** An endpoint that no variable allows. */
  | "not_allowed";

const codeOfKind: Readonly<Partial<Record<TelemetryErrorKind, ErrorCode>>> = {
  credentials: "JOULIE_E_TELEMETRY_CREDENTIALS",
  bad_url: "JOULIE_E_TELEMETRY_CREDENTIALS",
  not_allowed: "JOULIE_E_ENDPOINT_BLOCKED",
};

/** A call to a source of readings that failed: `message` names the call and holds nothing of an answer's body. */
export class TelemetryError extends CodedError {
  override readonly name = "TelemetryError";
  readonly kind: TelemetryErrorKind;
  /** The HTTP status, where there was an answer. */
  readonly status: number | undefined;

  constructor(
    kind: TelemetryErrorKind,
    message: string,
    { status, cause }: { readonly status?: number; readonly cause?: unknown } = {},
  ) {
    super(codeOfKind[kind] ?? "JOULIE_E_TELEMETRY", message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.status = status;
  }
}

/** What an error says, of whatever kind it is. */
export const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);
