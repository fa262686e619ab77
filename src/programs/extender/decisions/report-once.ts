/** More would flood the log. */
const MAX_REPORTS = 100;
const MAX_LENGTH = 63;

/** Reports each distinct text once, up to a limit: the texts come from pods, which users write. */
export function reportOnce(report: (text: string) => void): (value: unknown) => void {
  const reported = new Set<string>();
  return (value) => {
    if (reported.size >= MAX_REPORTS) return;
    // JSON may contain any type here.
    const text = typeof value === "string" ? value : `(${typeof value})`;
    // A copy: a slice would keep the whole text in memory.
    const shortened = text.length <= MAX_LENGTH ? text : Buffer.from(`${text.slice(0, MAX_LENGTH)}…`).toString();
    if (reported.has(shortened)) return;
    reported.add(shortened);
    report(shortened);
  };
}
