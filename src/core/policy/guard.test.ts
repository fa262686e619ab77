import { describe, expect, it } from "vitest";
import type { Node, Profile } from "../api/index.ts";
import { percent } from "../units/index.ts";
import type { ProfileCaps } from "./cap-limits.ts";
import { guard } from "./guard.ts";
import { observedStateOf } from "./observed-state.ts";
import { targetOf } from "./target.ts";
import { type NodeState, type ProfileState, publishedStateOf, transitions } from "./transitions.ts";

const caps: ProfileCaps = {
  performance: { cpu: { packagePowerCapPctOfMax: percent(100) }, caps: { profile: "performance", cpu: "profile" } },
  eco: { cpu: { packagePowerCapPctOfMax: percent(60) }, caps: { profile: "eco", cpu: "profile" } },
};
const keepsEcoCaps = true;
const at = (state: NodeState, whose: Profile): ProfileState => ({ state, caps: whose });

/** A node whose state was fully written and is read back. */
function seen(state: ProfileState, shown = publishedStateOf(state)) {
  const node: Node = { metadata: { name: "n", labels: { "joulie.io/power-profile": shown.profile } } };
  const spec = { nodeName: "n", ...targetOf(publishedStateOf(state), undefined, caps[state.caps], "static_partition") };
  return observedStateOf(
    node,
    { spec, status: { schedulableClass: shown.schedulableClass } },
    { caps, powerProfileLabel: "joulie.io/power-profile" },
  );
}
const pass = (
  state: ProfileState,
  planned: Profile,
  performancePods: number | undefined,
  drainingCaps: Profile = "performance",
) => guard(seen(state), { planned, performancePods }, { drainingCaps });

const active = at("ActivePerformance", "performance");
const draining = at("DrainingPerformance", "performance");
const drainingUnderEco = at("DrainingPerformance", "eco");
const ecoUncapped = at("ActiveEco", "performance");
const eco = at("ActiveEco", "eco");

describe("transitions", () => {
  it("OPR-21 OPR-22 OPR-23 OPR-24 OPR-25 OPR-26 OPR-27 match the transition table", () => {
    expect(
      transitions.map(({ name, from, to, planned, blocked, result }) => [name, from, to, planned, blocked, result]),
    ).toEqual([
      ["defer", "ActivePerformance", "DrainingPerformance", "eco", true, "deferred"],
      ["allow", "ActivePerformance", "ActiveEco", "eco", false, "applied"],
      ["still blocked", "DrainingPerformance", "DrainingPerformance", "eco", true, "deferred"],
      ["unblocked", "DrainingPerformance", "ActiveEco", "eco", false, "applied"],
      ["re-plan perf", "DrainingPerformance", "ActivePerformance", "performance", undefined, "applied"],
      ["plan perf", "ActiveEco", "ActivePerformance", "performance", undefined, "applied"],
    ]);
  });
});

describe("downgrade guard", () => {
  it("OPR-20 reads back every state it publishes", () => {
    for (const state of [active, draining, drainingUnderEco, ecoUncapped, eco]) {
      expect(seen(state)).toMatchObject(state);
    }
  });

  it("OPR-21 POL-24 POL-25 POL-26 defers the downgrade while a performance pod is on the node", () => {
    const decision = pass(active, "eco", 1);
    expect(decision).toEqual({ next: draining, transition: transitions[0] });
    expect(decision.transition).toMatchObject({ name: "defer", result: "deferred" });
  });

  it("OPR-22 allows the downgrade if the node has no performance pod", () => {
    expect(pass(active, "eco", 0)).toEqual({ next: ecoUncapped, keepsEcoCaps, transition: transitions[1] });
  });

  it("OPR-23 stays draining while blocked, and reports the deferral once", () => {
    const first = pass(active, "eco", 3);
    expect(first.transition?.name).toBe("defer");
    expect(pass(first.next, "eco", 2)).toEqual({ next: draining });
    expect(pass(first.next, "eco", 1)).toEqual({ next: draining });
  });

  it("OPR-24 completes the downgrade when the last performance pod is gone", () => {
    expect(pass(draining, "eco", 0)).toEqual({ next: ecoUncapped, keepsEcoCaps, transition: transitions[3] });
  });

  it("OPR-25 OPR-26 upgrades as soon as performance is planned, whatever pods run on the node", () => {
    for (const pods of [0, 5, undefined]) {
      expect(pass(draining, "performance", pods)).toEqual({ next: active, transition: transitions[4] });
      expect(pass(drainingUnderEco, "performance", pods)).toEqual({ next: active, transition: transitions[4] });
      expect(pass(eco, "performance", pods)).toEqual({ next: active, transition: transitions[5] });
      expect(pass(ecoUncapped, "performance", pods)).toEqual({ next: active, transition: transitions[5] });
      expect(pass(active, "performance", pods)).toEqual({ next: active });
    }
  });

  it("OPR-27 an eco node never drains: performance pods that land there are reported", () => {
    expect(pass(eco, "eco", 2)).toEqual({ next: eco, keepsEcoCaps, intruders: 2 });
    expect(pass(ecoUncapped, "eco", 1)).toEqual({ next: ecoUncapped, keepsEcoCaps, intruders: 1 });
    expect(pass(eco, "eco", 0)).toEqual({ next: eco });
  });

  it("sets eco caps one pass after the eco class, and only if that pass counts no performance pod", () => {
    const allowed = pass(active, "eco", 0).next;
    expect(allowed).toEqual(ecoUncapped);
    const landed = pass(allowed, "eco", 1).next;
    expect(landed).toEqual(ecoUncapped);
    expect(pass(landed, "eco", 0)).toEqual({ next: eco });
    expect(pass(pass(draining, "eco", 0).next, "eco", 0)).toEqual({ next: eco });
  });

  it("sets no eco caps until the published state of the node is eco", () => {
    const decide = (shown: ProfileState) =>
      guard(
        seen(ecoUncapped, publishedStateOf(shown)),
        { planned: "eco", performancePods: 0 },
        { drainingCaps: "performance" },
      );
    expect(decide(active)).toEqual({ next: ecoUncapped, keepsEcoCaps });
    expect(decide(draining)).toEqual({ next: ecoUncapped, keepsEcoCaps });
    expect(decide(ecoUncapped)).toEqual({ next: eco });
    // Caps already in force are kept, not raised.
    expect(
      guard(
        seen(eco, publishedStateOf(active)),
        { planned: "eco", performancePods: 0 },
        { drainingCaps: "performance" },
      ),
    ).toEqual({ next: eco, keepsEcoCaps });
  });

  it("keeps performance caps while draining, unless configured to lower them at once", () => {
    expect(pass(active, "eco", 1).next.caps).toBe("performance");
    expect(pass(active, "eco", 1, "eco").next).toEqual(drainingUnderEco);
    expect(pass(drainingUnderEco, "eco", 1, "eco").next.caps).toBe("eco");
    expect(pass(draining, "eco", 1, "eco")).toEqual({ next: drainingUnderEco });
    expect(pass(drainingUnderEco, "eco", 1)).toEqual({ next: draining });
    // Lowered caps stay when the last pod leaves; a node without pods is not capped early.
    expect(pass(drainingUnderEco, "eco", 0, "eco").next).toEqual(eco);
    expect(pass(active, "eco", 0, "eco").next).toEqual(ecoUncapped);
  });

  it.each([undefined, Number.NaN, -1, Infinity])("changes nothing while the count is %s and eco is planned", (pods) => {
    for (const state of [active, draining, drainingUnderEco, ecoUncapped, eco]) {
      expect(pass(state, "eco", pods)).toEqual({ next: state, keepsEcoCaps });
      expect(pass(state, "eco", pods, "eco")).toEqual({ next: state, keepsEcoCaps });
    }
  });
});
