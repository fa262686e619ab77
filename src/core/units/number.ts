/** A value or an error. Parsers return it instead of throwing, so that callers must handle bad input. */
export type Result<Value, Failure> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: Failure };

export const ok = <Value>(value: Value): Result<Value, never> => ({ ok: true, value });
export const fail = <Failure>(error: Failure): Result<never, Failure> => ({ ok: false, error });

/** Text that could not be parsed: the text, what was expected, and `message` with both in one sentence. */
export interface BadText {
  readonly text: string;
  readonly expected: string;
  readonly message: string;
}

/** The beginning of a text for messages: the input may have any length. */
export const abridged = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);

export function badText(text: string, expected: string): Result<never, BadText> {
  return fail({ text, expected, message: `${JSON.stringify(abridged(text))} is not ${expected}` });
}

const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Stricter than `Number()`, which reads "" and " " as 0, "0x10" as 16 and "1e999" as Infinity. */
export function parseNumber(text: string): Result<number, BadText> {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) return badText(text, "a decimal number such as 3, 0.5 or 1e3");
  return ok(value === 0 ? 0 : value);
}

/** JSON may contain null, and arithmetic may produce NaN and Infinity, whatever the types say. */
export const isNonNegative = <Quantity extends number>(value: Quantity | undefined): value is Quantity =>
  Number.isFinite(value) && (value as number) >= 0;

export const isPositive = <Quantity extends number>(value: Quantity | undefined): value is Quantity =>
  Number.isFinite(value) && (value as number) > 0;

/** A source of random numbers. Core code never creates its own; it is passed in, so that a seed reproduces a run. */
export interface RandomSource {
  /** A number in [0, 1). */
  next(): number;
}
