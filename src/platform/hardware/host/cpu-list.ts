/** No machine has more; a list that says so is no list of CPUs. */
const MOST_CPUS = 65_536;

/** The kernel's lists of CPUs: `0-3,8,10-11`, or numbers with spaces between them. What is no number is left out. */
export function cpuList(text: string): readonly number[] {
  const cpus = new Set<number>();
  for (const part of text.split(/[\s,]+/)) {
    const [matched, first, last = first] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part) ?? [];
    if (matched === undefined) continue;
    const end = Math.min(Number(last), MOST_CPUS - 1);
    for (let cpu = Number(first); cpu <= end; cpu += 1) cpus.add(cpu);
  }
  return [...cpus].toSorted((a, b) => a - b);
}
