/** Processes items with limited concurrency and continues after failures. Returns the errors. */
export async function forEachConcurrently<Item>(
  items: readonly Item[],
  atOnce: number,
  act: (item: Item) => Promise<void>,
): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  let next = 0;
  const work = async () => {
    while (next < items.length) {
      try {
        await act(items[next++] as Item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
  return failures;
}
