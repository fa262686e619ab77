import { describe, expect, it } from "vitest";
import { type Instant, instant } from "../../core/units/index.ts";
import { ClassHistory } from "./class-history.ts";
import { Placements } from "./placements.ts";

function world(answered: Instant | undefined) {
  const history = new ClassHistory();
  history.saw("a", { version: 10, class: "performance", seen: instant(1000) });
  history.saw("a", { version: 20, class: "draining", seen: instant(2000) });
  return { history, placements: new Placements(history, async () => answered) };
}

async function judged(version: number, answered: Instant | undefined, node = "a") {
  const { placements } = world(answered);
  placements.add({ pod: "default/job", node, version });
  await placements.judge();
  expect(placements.figures.performancePods).toBe(0);
  await placements.judge();
  return placements.figures;
}

describe("placements of performance pods", () => {
  it("are fine on a node that was published as performance, or as nothing yet", async () => {
    expect(await judged(15, undefined)).toMatchObject({ performancePods: 1, onEcoOrDraining: 0, crossed: 0 });
    expect(await judged(15, undefined, "b")).toMatchObject({ performancePods: 1, onEcoOrDraining: 0, crossed: 0 });
  });

  it("are found on a node that was draining by then, with who and where", async () => {
    expect(await judged(25, instant(2001))).toEqual({
      performancePods: 1,
      onEcoOrDraining: 1,
      crossed: 0,
      examples: ["default/job on a, draining"],
    });
  });

  it("count against the extender where it says nothing about its answer", async () => {
    expect(await judged(25, undefined)).toMatchObject({ onEcoOrDraining: 1, crossed: 0 });
  });

  it("have crossed the publication where the extender had answered before it", async () => {
    expect(await judged(25, instant(1999))).toMatchObject({ performancePods: 1, onEcoOrDraining: 0, crossed: 1 });
  });

  it("wait a round for the other watch: what it tells late still counts", async () => {
    const { history, placements } = world(undefined);
    placements.add({ pod: "default/job", node: "a", version: 40 });
    await placements.judge();
    history.saw("a", { version: 30, class: "performance", seen: instant(3000) });
    placements.add({ pod: "default/next", node: "a", version: 41 });
    await placements.judge();
    expect(placements.figures).toMatchObject({ performancePods: 1, onEcoOrDraining: 0 });
    await placements.judge();
    expect(placements.figures).toMatchObject({ performancePods: 2, onEcoOrDraining: 0 });
  });
});
