/** No machine has more. Bounds the work for a malformed list. */
const MAX_CPUS = 65_536;

/** Parses a kernel CPU list: `0-3,8,10-11`, or numbers separated by spaces. Skips anything else. */
export function cpuList(text: string): readonly number[] {
  const cpus = new Set<number>();
  for (const part of text.split(/[\s,]+/)) {
    const [matched, first, last = first] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part) ?? [];
    if (matched === undefined) continue;
    const end = Math.min(Number(last), MAX_CPUS - 1);
    for (let cpu = Number(first); cpu <= end; cpu += 1) cpus.add(cpu);
  }
  return [...cpus].toSorted((a, b) => a - b);
}
