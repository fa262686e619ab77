/**
 * Computes a result once for the same arguments. The result is kept as long as the first argument, for the last other
 * arguments. `compute` must depend on its arguments alone, and they must not change.
 */
export function memoize<First extends object, Rest extends readonly unknown[], Result>(
  compute: (first: First, ...rest: Rest) => Result,
): (first: First, ...rest: Rest) => Result {
  const results = new WeakMap<First, { readonly rest: Rest; readonly result: Result }>();
  return (first, ...rest) => {
    const last = results.get(first);
    if (last?.rest.every((argument, index) => argument === rest[index]) === true) return last.result;
    const result = compute(first, ...rest);
    results.set(first, { rest, result });
    return result;
  };
}
