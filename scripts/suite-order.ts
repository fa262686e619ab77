/**
 * The tests on a real node mostly wait for Kubernetes, and so do those on a real control plane. Both cores are busy with the unit
 * tests already, so the node suite starts after them.
 */
const beside = { suite: "node", from: "browser" };

/** The suites that run one after the other, and the one that runs beside them from a certain one on. */
export function suiteOrder(names: readonly string[], only: string | undefined) {
  if (only !== undefined) return { inTurn: names.filter((name) => name === only), beside: undefined };
  return { inTurn: names.filter((name) => name !== beside.suite), beside };
}
