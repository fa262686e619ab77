import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Profile } from "../api/index.ts";
import { type GuardDecision, type GuardInput, type GuardMemory, guard } from "./guard.ts";
import { published } from "./published.ts";
import { type NodeState, transitions } from "./transitions.ts";

const pass = (
  memory: GuardMemory | undefined,
  planned: Profile,
  performancePods: number | undefined,
  drainingCaps: Profile = "performance",
) => guard(memory, { planned, performancePods }, { drainingCaps });
const at = (state: NodeState, caps: Profile): GuardMemory => ({ state, caps });
const names = (decision: ReturnType<typeof guard>) => decision.transition?.name;

const active = at("ActivePerformance", "performance");
const draining = at("DrainingPerformance", "performance");
const ecoUncapped = at("ActiveEco", "performance");
const eco = at("ActiveEco", "eco");

describe("transitions", () => {
  it("OPR-21 OPR-22 OPR-23 OPR-24 OPR-25 OPR-26 OPR-27 are these edges and no other", () => {
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
  it("OPR-20 starts in ActivePerformance", () => {
    expect(pass(undefined, "performance", 0)).toEqual({ memory: active });
    expect(pass(undefined, "eco", undefined)).toEqual({ memory: active });
  });

  it("OPR-21 POL-24 POL-25 POL-26 defers while a performance pod is on the node", () => {
    const decision = pass(active, "eco", 1);
    expect(decision).toEqual({ memory: draining, transition: transitions[0] });
    expect(decision.transition).toMatchObject({ name: "defer", result: "deferred" });
  });

  it("OPR-22 allows where there is none", () => {
    expect(pass(active, "eco", 0)).toEqual({ memory: ecoUncapped, transition: transitions[1] });
    expect(names(pass(undefined, "eco", 0))).toBe("allow");
  });

  it("OPR-23 X-16 stays draining while blocked, and counts the deferral once", () => {
    const first = pass(active, "eco", 3);
    const second = pass(first.memory, "eco", 2);
    expect(names(first)).toBe("defer");
    expect(second).toEqual({ memory: draining });
    expect(pass(second.memory, "eco", 1)).toEqual({ memory: draining });
  });

  it("OPR-24 unblocks when the last one is gone", () => {
    expect(pass(draining, "eco", 0)).toEqual({ memory: ecoUncapped, transition: transitions[3] });
  });

  it("OPR-25 OPR-26 goes up as soon as performance is planned, whatever runs there", () => {
    for (const pods of [0, 5, undefined]) {
      expect(pass(draining, "performance", pods)).toEqual({ memory: active, transition: transitions[4] });
      expect(pass(eco, "performance", pods)).toEqual({ memory: active, transition: transitions[5] });
      expect(pass(ecoUncapped, "performance", pods)).toEqual({ memory: active, transition: transitions[5] });
      expect(pass(active, "performance", pods)).toEqual({ memory: active });
    }
  });

  it("OPR-27 an eco node never drains: performance pods that land there are reported", () => {
    expect(pass(eco, "eco", 2)).toEqual({ memory: eco, intruders: 2 });
    expect(pass(ecoUncapped, "eco", 1)).toEqual({ memory: ecoUncapped, intruders: 1 });
    expect(pass(eco, "eco", 0)).toEqual({ memory: eco });
  });

  it("X-22 gives eco caps only in a later pass than eco, and only if that one counts no pod either", () => {
    const allowed = pass(active, "eco", 0).memory;
    expect(published(allowed)).toMatchObject({ profile: "eco", draining: false, caps: "performance" });
    const landed = pass(allowed, "eco", 1).memory;
    expect(published(landed)).toMatchObject({ profile: "eco", draining: false, caps: "performance" });
    expect(pass(landed, "eco", 0)).toEqual({ memory: eco });
    expect(pass(pass(draining, "eco", 0).memory, "eco", 0)).toEqual({ memory: eco });
  });

  it("X-22 raises the caps together with the profile", () => {
    expect(published(pass(eco, "performance", 0).memory)).toMatchObject({
      profile: "performance",
      caps: "performance",
    });
  });

  it("X-23 keeps performance caps while draining, unless told to lower them at once", () => {
    expect(pass(active, "eco", 1).memory.caps).toBe("performance");
    expect(pass(active, "eco", 1, "eco").memory).toEqual(at("DrainingPerformance", "eco"));
    expect(pass(at("DrainingPerformance", "eco"), "eco", 1, "eco").memory.caps).toBe("eco");
    expect(pass(draining, "eco", 1, "eco")).toEqual({ memory: at("DrainingPerformance", "eco") });
    expect(pass(at("DrainingPerformance", "eco"), "eco", 1)).toEqual({ memory: draining });
    // Caps that are down stay down when the last pod leaves, and nothing is capped early where none was there.
    expect(pass(at("DrainingPerformance", "eco"), "eco", 0, "eco").memory).toEqual(eco);
    expect(pass(active, "eco", 0, "eco").memory).toEqual(ecoUncapped);
    expect(pass(at("DrainingPerformance", "eco"), "performance", 1, "eco").memory).toEqual(active);
  });

  it.each([undefined, Number.NaN, -1])("X-24 changes nothing while the count is %s and eco is planned", (pods) => {
    for (const memory of [active, draining, ecoUncapped, eco, at("DrainingPerformance", "eco")]) {
      expect(pass(memory, "eco", pods)).toEqual({ memory });
    }
  });

  it("hands the same memory back where nothing changed, so that a pass without news writes nothing", () => {
    expect(pass(active, "performance", 0).memory).toBe(active);
    expect(pass(draining, "eco", 1).memory).toBe(draining);
    expect(pass(eco, "eco", 0).memory).toBe(eco);
  });
});

const anyEvent = fc.record({
  planned: fc.constantFrom<Profile>("performance", "eco"),
  performancePods: fc.option(fc.constantFrom(0, 0, 1, 7), { nil: undefined, freq: 5 }),
});

/** Every promise one pass can break, by what it would mean. */
function brokenPromises(memory: GuardMemory, event: GuardInput, { memory: next, transition }: GuardDecision): string[] {
  const before = published(memory);
  const now = published(next);
  const edge = transitions.find(({ from, to }) => from === memory.state && to === next.state);
  const becameEco = now.schedulableClass === "eco" && before.schedulableClass !== "eco";
  const gotEcoCaps = now.caps === "eco" && before.caps !== "eco";
  const unread = event.performancePods === undefined && event.planned === "eco";
  const broken = {
    "a change of state is no edge": next.state !== memory.state && edge?.planned !== event.planned,
    "a change of state is not reported": next.state !== memory.state && transition !== edge,
    "a transition is reported that did not happen": next.state === memory.state && transition !== undefined,
    "went to eco over a performance pod": becameEco && event.performancePods !== 0,
    "got eco caps over a performance pod": gotEcoCaps && event.performancePods !== 0,
    "got eco caps before eco was published": gotEcoCaps && before.schedulableClass !== "eco",
    "has eco caps and is not eco": now.caps === "eco" && now.schedulableClass !== "eco",
    "drains without saying eco": now.draining && now.profile !== "eco",
    "performance is planned and not given": event.planned === "performance" && now.schedulableClass !== "performance",
    "changed while pods could not be read": unread && next !== memory,
  };
  return Object.entries(broken).flatMap(([promise, isBroken]) => (isBroken ? [promise] : []));
}

describe("downgrade guard, any sequence of passes", () => {
  it("OPR-27 POL-24 X-22 X-24 never slows a counted performance pod down and takes only the edges there are", () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60 }), (events) => {
        let memory: GuardMemory = active;
        for (const event of events) {
          const decision = guard(memory, event, { drainingCaps: "performance" });
          expect(brokenPromises(memory, event, decision)).toEqual([]);
          memory = decision.memory;
        }
      }),
      { numRuns: 500 },
    );
  });

  it("OPR-24 always arrives: eco planned and no pod left gives an eco node with eco caps in two passes", () => {
    fc.assert(
      fc.property(
        fc.array(anyEvent, { maxLength: 20 }),
        fc.constantFrom<Profile>("performance", "eco"),
        (events, drainingCaps) => {
          let memory: GuardMemory | undefined;
          for (const event of events) memory = guard(memory, event, { drainingCaps }).memory;
          for (let again = 0; again < 2; again++) memory = pass(memory, "eco", 0, drainingCaps).memory;
          expect(memory).toEqual(eco);
        },
      ),
    );
  });
});
