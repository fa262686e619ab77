import { describe, expect, it } from "vitest";
import { type Instant, instant, milliseconds } from "../../core/units/index.ts";
import { ClassHistory, PlacementAudit } from "./placement-audit.ts";

function world(asked: Instant | undefined) {
  const history = new ClassHistory();
  history.record("a", { version: 10, class: "performance", observedAt: instant(1000) });
  history.record("a", { version: 20, class: "draining", observedAt: instant(2000) });
  return {
    history,
    placements: new PlacementAudit(
      history,
      () => asked,
      () => milliseconds(100),
    ),
  };
}

function judged(version: number, asked: Instant | undefined, node = "a") {
  const { placements } = world(asked);
  placements.add({ pod: "default/job", node, version, performance: true });
  placements.judge();
  expect(placements.figures.performancePods).toBe(0);
  placements.judge();
  return placements.figures;
}

describe("PlacementAudit", () => {
  it("accepts a node published as performance, or not published yet", () => {
    expect(judged(15, undefined)).toMatchObject({ performancePods: 1, onEcoOrDraining: 0, crossed: 0 });
    expect(judged(15, undefined, "b")).toMatchObject({ performancePods: 1, onEcoOrDraining: 0, crossed: 0 });
  });

  it("reports a pod on a node that was draining at the binding, with pod and node", () => {
    expect(judged(25, instant(2101))).toEqual({
      performancePods: 1,
      onEcoOrDraining: 1,
      crossed: 0,
      examples: ["default/job on a, draining"],
    });
  });

  it("counts a violation when the time of the extender call is unknown", () => {
    expect(judged(25, undefined)).toMatchObject({ onEcoOrDraining: 1, crossed: 0 });
  });

  it.each([1999, 2100])(
    "counts a race when the extender was called before it could receive the publication",
    (asked) => {
      expect(judged(25, instant(asked))).toMatchObject({ performancePods: 1, onEcoOrDraining: 0, crossed: 1 });
    },
  );

  it("ignores standard pods", () => {
    const { placements } = world(instant(3000));
    placements.add({ pod: "default/job", node: "a", version: 25, performance: false });
    placements.judge();
    placements.judge();
    expect(placements.figures).toMatchObject({ performancePods: 0, onEcoOrDraining: 0 });
  });

  it("waits one round, so that late changes from the other watch still count", () => {
    const { history, placements } = world(undefined);
    placements.add({ pod: "default/job", node: "a", version: 40, performance: true });
    placements.judge();
    history.record("a", { version: 30, class: "performance", observedAt: instant(3000) });
    placements.add({ pod: "default/next", node: "a", version: 41, performance: true });
    placements.judge();
    expect(placements.figures).toMatchObject({ performancePods: 1, onEcoOrDraining: 0 });
    placements.judge();
    expect(placements.figures).toMatchObject({ performancePods: 2, onEcoOrDraining: 0 });
  });
});
