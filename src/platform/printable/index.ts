const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Control characters, all kinds of line ends, and characters that change the text direction. */
const OBEYED_BY_TERMINALS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** Escapes control characters, so that the text is one line and a terminal executes nothing in it. */
export const printable = (text: string): string =>
  text.replaceAll(
    OBEYED_BY_TERMINALS,
    (character) => short[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** The same for a line of output; the line end is retained. */
export const printableLine = (line: string): string =>
  line.endsWith("\n") ? `${printable(line.slice(0, -1))}\n` : printable(line);

export const withoutControlCharacters = (text: string): string =>
  text.replaceAll(OBEYED_BY_TERMINALS, " ").replaceAll(/ {2,}/g, " ").trim();
