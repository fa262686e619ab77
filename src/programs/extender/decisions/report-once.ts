/** As many as a person would read. */
const MOST_TOLD = 100;
/** The beginning says which it is. */
const LONGEST = 63;

/** Tells each text once, up to a number of them: texts come from pods, which anybody may write. */
export function reportOnce(tell: (text: string) => void): (given: unknown) => void {
  const told = new Set<string>();
  return (given) => {
    if (told.size >= MOST_TOLD) return;
    // JSON may hold anything in its place, also objects that say no text of themselves.
    const text = typeof given === "string" ? given : `(${typeof given})`;
    // A copy, since a slice would keep the whole text.
    const shown = text.length <= LONGEST ? text : Buffer.from(`${text.slice(0, LONGEST)}…`).toString();
    if (told.has(shown)) return;
    told.add(shown);
    tell(shown);
  };
}
