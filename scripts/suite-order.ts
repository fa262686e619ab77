/** The tests on a real node mostly wait for Kubernetes, one after the other: if they started later, they would end last. */
const beside = { suite: "node", from: "unit" };

/** The suites that run one after the other, and the one that runs beside them from a certain one on. */
export function suiteOrder(names: readonly string[], only: string | undefined) {
  if (only !== undefined) return { inTurn: names.filter((name) => name === only), beside: undefined };
  return { inTurn: names.filter((name) => name !== beside.suite), beside };
}
