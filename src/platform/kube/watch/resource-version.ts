const DIGITS = /^\d+$/;

/**
 * Whether a resourceVersion comes after another; undefined where that cannot be told. Kubernetes' own are numbers that
 * only grow within one kind; a server with another idea of them still works, without what is gained by comparing.
 */
export function comesAfter(a: string, b: string): boolean | undefined {
  if (a === b) return false;
  if (!DIGITS.test(a) || !DIGITS.test(b)) return undefined;
  // As text, since they may exceed what a number holds exactly.
  const [left, right] = [a.replace(/^0+(?=\d)/, ""), b.replace(/^0+(?=\d)/, "")];
  return left.length === right.length ? left > right : left.length > right.length;
}
