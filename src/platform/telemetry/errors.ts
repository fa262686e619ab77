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

/** A call to a source of readings that failed: `message` names the call and holds nothing of an answer's body. */
export class TelemetryError extends Error {
  override readonly name = "TelemetryError";
  readonly kind: TelemetryErrorKind;
  /** The HTTP status, where there was an answer. */
  readonly status: number | undefined;

  constructor(
    kind: TelemetryErrorKind,
    message: string,
    { status, cause }: { readonly status?: number; readonly cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.status = status;
  }
}

/** What an error says, of whatever kind it is. */
export const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);
