import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Compares paths of test files: these files come first, in this order. */
export function byPlace(files: readonly string[]): (one: string, other: string) => number {
  const placeOf = (path: string): number => {
    const place = files.findIndex((file) => path.endsWith(`/${file}.test.ts`));
    return place < 0 ? files.length : place;
  };
  return (one, other) => placeOf(one) - placeOf(other);
}

/** A sequencer that starts these files first, so that none of them runs alone at the end of a suite. */
export function longFilesFirst(files: readonly string[]): typeof BaseSequencer {
  const compare = byPlace(files);
  return class extends BaseSequencer {
    override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
      return specifications.toSorted((a, b) => compare(a.moduleId, b.moduleId));
    }
  };
}
