/** One thing that every implementation of a port keeps, tried on a scene of its own. */
export interface ContractCase<Scene, Lacking extends string> {
  readonly title: string;
  /** What the scene has to be able to do for it. */
  readonly needs?: readonly Lacking[];
  readonly check: (scene: Scene) => Promise<void>;
}

interface Ending {
  readonly end?: () => void | Promise<void>;
}

/** For `it.each(…)("%s", async (_, check) => expect(check()).resolves.toBeUndefined())`: each case with a new scene. */
export const casesFor = <Scene extends Ending, Lacking extends string>(
  cases: readonly ContractCase<Scene, Lacking>[],
  make: () => Scene | Promise<Scene>,
  lacking: readonly Lacking[],
): (readonly [title: string, check: () => Promise<void>])[] =>
  cases
    .filter(({ needs = [] }) => !needs.some((need) => lacking.includes(need)))
    .map(({ title, check }) => [
      title,
      async () => {
        const scene = await make();
        try {
          await check(scene);
        } finally {
          await scene.end?.();
        }
      },
    ]);
