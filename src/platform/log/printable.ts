const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Control characters, line ends of every kind, and those that turn the direction of what follows. */
const OBEYED_BY_TERMINALS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** A text as one line that a terminal shows and does not obey: an escape sequence is read and not carried out. */
export const printable = (text: string): string =>
  text.replaceAll(
    OBEYED_BY_TERMINALS,
    (character) => short[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** The same for a line of output: the end of the line stays. */
export const printableLine = (line: string): string =>
  line.endsWith("\n") ? `${printable(line.slice(0, -1))}\n` : printable(line);

/** A text of others as words on one line: what a terminal would obey is gone. */
export const withoutControlCharacters = (text: string): string =>
  text.replaceAll(OBEYED_BY_TERMINALS, " ").replaceAll(/ {2,}/g, " ").trim();
