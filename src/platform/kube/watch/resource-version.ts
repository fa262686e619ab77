const DIGITS = /^\d+$/;

/**
 * Whether resourceVersion `a` is newer than `b`; undefined when they are not comparable. Kubernetes uses numbers that
 * increase within a kind; other servers still work, but without these comparisons.
 */
export function comesAfter(a: string, b: string): boolean | undefined {
  if (a === b) return false;
  if (!DIGITS.test(a) || !DIGITS.test(b)) return undefined;
  // Compares as text, because the numbers may exceed 2^53.
  const [left, right] = [a.replace(/^0+(?=\d)/, ""), b.replace(/^0+(?=\d)/, "")];
  return left.length === right.length ? left > right : left.length > right.length;
}
