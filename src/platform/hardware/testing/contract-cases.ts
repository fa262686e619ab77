/** One rule that every implementation of a port must follow, checked on a new fixture. */
export interface ContractCase<Fixture, Lacking extends string> {
  readonly title: string;
  /** The actions that the fixture must support. */
  readonly needs?: readonly Lacking[];
  readonly check: (fixture: Fixture) => Promise<void>;
}

interface Ending {
  readonly end?: () => void | Promise<void>;
}

/** For `it.each(…)("%s", async (_, check) => expect(check()).resolves.toBeUndefined())`: each case gets a new fixture. */
export const casesFor = <Fixture extends Ending, Lacking extends string>(
  cases: readonly ContractCase<Fixture, Lacking>[],
  make: () => Fixture | Promise<Fixture>,
  lacking: readonly Lacking[],
): (readonly [title: string, check: () => Promise<void>])[] =>
  cases
    .filter(({ needs = [] }) => !needs.some((need) => lacking.includes(need)))
    .map(({ title, check }) => [
      title,
      async () => {
        const fixture = await make();
        try {
          await check(fixture);
        } finally {
          await fixture.end?.();
        }
      },
    ]);
