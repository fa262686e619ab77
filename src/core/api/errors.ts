import { type ErrorCode, errorCodes } from "./error-codes.ts";

const knownCodes: ReadonlySet<string> = new Set(errorCodes);

/** An error with a code. A program that ends with it logs it. */
export class CodedError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An error that the command line prints as one line, for example a wrong configuration. */
export class JoulieError extends CodedError {
  override readonly name = "JoulieError";
}

/** Codes of the operating system and of undici for a connection that failed. */
const CONNECTION_FAILURE =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|UND_ERR_\w+)$/;

/** The code of any error; unexpected errors have the code for bugs. */
export function errorCodeOf(error: unknown): ErrorCode {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  if (typeof code !== "string") return "JOULIE_E_INTERNAL";
  if (knownCodes.has(code)) return code as ErrorCode;
  return CONNECTION_FAILURE.test(code) ? "JOULIE_E_CONNECTION" : "JOULIE_E_INTERNAL";
}

export const errorMessageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
