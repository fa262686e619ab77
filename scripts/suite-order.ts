/** Both mostly wait for Kubernetes, so they run at the same time. */
const together = ["cluster", "node"] as const;

/** The suites that run one after the other, and whether `cluster` and `node` follow at the same time. */
export function suiteOrder(names: readonly string[], only: string | undefined) {
  if (only !== undefined) return { inTurn: names.filter((name) => name === only), together: false };
  return { inTurn: names.filter((name) => !(together as readonly string[]).includes(name)), together: true };
}
