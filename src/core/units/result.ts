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
