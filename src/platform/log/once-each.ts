const MAX_REPORTED = 100;

/** Reports each text once, and at most so many of them: some come from users. */
export function onceEach<More extends readonly unknown[]>(
  report: (text: string, ...more: More) => void,
): (text: string, ...more: More) => void {
  const reported = new Set<string>();
  return (text, ...more) => {
    if (reported.has(text) || reported.size >= MAX_REPORTED) return;
    reported.add(text);
    report(text, ...more);
  };
}
