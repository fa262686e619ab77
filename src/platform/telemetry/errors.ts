import { CodedError, type ErrorCode } from "../../core/api/index.ts";

/** Why a source returned no data. Also a value of the metric label `reason`. */
export type TelemetryErrorKind =
  | "timeout"
  | "network"
  | "status"
  | "redirect"
  | "too_large"
  | "garbled"
  /** The token or the certificates cannot be read. */
  | "credentials"
  /** The name does not form a valid URL. */
  | "bad_url"
  /** No variable allows the endpoint. */
  | "not_allowed";

const codeOfKind: Readonly<Partial<Record<TelemetryErrorKind, ErrorCode>>> = {
  credentials: "JOULIE_E_TELEMETRY_CREDENTIALS",
  bad_url: "JOULIE_E_TELEMETRY_CREDENTIALS",
  not_allowed: "JOULIE_E_ENDPOINT_BLOCKED",
};

/** A failed call to a telemetry source. The `message` names the call and contains nothing of the response body. */
export class TelemetryError extends CodedError {
  override readonly name = "TelemetryError";
  readonly kind: TelemetryErrorKind;
  /** The HTTP status, if there was a response. */
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

/** The message of any thrown value. */
export const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);
