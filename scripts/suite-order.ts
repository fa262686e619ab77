/** It mostly waits for Kubernetes, so it runs beside the others. */
const beside = "node";

/** The suites that run one after the other, and the one that runs beside them. */
export function suiteOrder(names: readonly string[], only: string | undefined) {
  if (only !== undefined) return { inTurn: names.filter((name) => name === only), beside: undefined };
  return { inTurn: names.filter((name) => name !== beside), beside };
}
