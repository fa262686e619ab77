/** A value, or why there is none. Parsing returns it, so that bad text is a value to report and never an exception to forget. */
export type Result<Value, Failure> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: Failure };

export const ok = <Value>(value: Value): Result<Value, never> => ({ ok: true, value });
export const fail = <Failure>(error: Failure): Result<never, Failure> => ({ ok: false, error });

/** Text that could not be read: the text itself, what was expected of it, and in `message` both in one sentence. */
export interface BadText {
  readonly text: string;
  readonly expected: string;
  readonly message: string;
}

/** The start of a text, for messages: the text may be as long as whoever sent it liked. */
export const abridged = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);

export function badText(text: string, expected: string): Result<never, BadText> {
  return fail({ text, expected, message: `${JSON.stringify(abridged(text))} is not ${expected}` });
}
