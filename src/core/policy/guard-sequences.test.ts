import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Node, NodePowerProfileSpec, NodeTwinSpec, Profile, SchedulableClass } from "../api/index.ts";
import { percent, watts } from "../units/index.ts";
import { type ProfileCaps, profileCaps } from "./cap-limits.ts";
import type { CapHardware, CapIntents } from "./caps.ts";
import { type GuardDecision, guard } from "./guard.ts";
import { observedStateOf } from "./observed-state.ts";
import { capsIn, targetOf } from "./target.ts";
import { publishedStateOf, transitions } from "./transitions.ts";

/** The stored state of one node: three objects, written one by one. */
interface Cluster {
  readonly spec?: NodeTwinSpec;
  readonly schedulableClass?: SchedulableClass;
  readonly label?: Profile;
}

/** One pass of an operator that keeps no state between passes, as after a restart. */
interface Pass {
  readonly planned: Profile;
  readonly performancePods: number | undefined;
  /** Settings and hardware of this pass. */
  readonly caps: Caps;
  readonly drainingCaps: Profile;
  readonly pin: NodePowerProfileSpec | undefined;
  /** Which writes succeed. */
  readonly spec: boolean;
  readonly status: boolean;
  readonly labels: boolean;
}

const cpu = (share: number): CapIntents => ({ cpu: { packagePowerCapPctOfMax: percent(share) } });
const cpuWatts = (power: number): CapIntents => ({ cpu: { packagePowerCapWatts: watts(power) } });
const gpu = (share: number, power?: number): CapIntents => ({
  gpu: { powerCap: { capPctOfMax: percent(share), ...(power !== undefined && { capWattsPerGpu: watts(power) }) } },
});
type Caps = Readonly<Record<Profile, CapIntents>>;
const anyCaps = fc.constantFrom<Caps>(
  { performance: cpu(100), eco: cpu(60) },
  { performance: cpu(90), eco: cpu(50) },
  { performance: cpuWatts(400), eco: cpuWatts(120) },
  { performance: { ...cpu(100), ...gpu(100) }, eco: { ...cpu(60), ...gpu(60) } },
  { performance: { ...cpu(100), ...gpu(100, 700) }, eco: { ...cpu(60), ...gpu(60, 420) } },
  { performance: gpu(100, 350), eco: gpu(60, 210) },
);
const anyPin = fc.constantFrom<NodePowerProfileSpec | undefined>(
  undefined,
  undefined,
  undefined,
  { nodeName: "n", profile: "eco", ...cpu(80) },
  { nodeName: "n", profile: "eco" },
  { nodeName: "n", profile: "performance", ...cpu(70) },
);
const usually = fc.integer({ min: 0, max: 5 }).map((value) => value > 0);
const anyPass: fc.Arbitrary<Pass> = fc.record({
  planned: usually.map((eco): Profile => (eco ? "eco" : "performance")),
  performancePods: fc.constantFrom(0, 0, 0, 0, 1, 7, undefined),
  caps: anyCaps,
  drainingCaps: usually.map((kept): Profile => (kept ? "performance" : "eco")),
  pin: anyPin,
  spec: usually,
  status: usually,
  labels: usually,
});
/** Settings stay the same for several passes so that the state can converge. */
const anySpell = fc
  .tuple(anyPass, fc.array(anyPass, { minLength: 1, maxLength: 8 }))
  .map(([{ caps, pin, drainingCaps }, passes]) => passes.map((each) => ({ ...each, caps, pin, drainingCaps })));
const anySequence = fc.array(anySpell, { maxLength: 8 }).map((spells) => spells.flat());

const hardware: CapHardware = {
  cpu: { match: "exact", maxWattsPerSocket: watts(400), from: {} },
};
const capsUnder = (pin: NodePowerProfileSpec | undefined, { performance, eco }: Caps): ProfileCaps =>
  profileCaps(
    { performance: [{ name: "profile", caps: performance }], eco: [{ name: "profile", caps: eco }] },
    pin,
    hardware,
  );

const seenIn = ({ spec, schedulableClass, label }: Cluster, pass: Pass) => {
  const node: Node = { metadata: { name: "n", labels: { ...(label && { power: label }) } } };
  const status = { ...(schedulableClass && { schedulableClass }) };
  return observedStateOf(node, spec && { spec, status }, {
    caps: capsUnder(pass.pin, pass.caps),
    powerProfileLabel: "power",
  });
};
const plannedIn = ({ pin, planned }: Pass): Profile => pin?.profile ?? planned;

const targetCaps = ({ spec }: Cluster, { pin, caps }: Pass, { keepsEcoCaps, next }: GuardDecision) =>
  next.caps === "eco" && keepsEcoCaps === true && spec !== undefined ? capsIn(spec) : capsUnder(pin, caps)[next.caps];

function run(cluster: Cluster, pass: Pass): { readonly decision: GuardDecision; readonly after: Cluster } {
  const { performancePods, drainingCaps, pin } = pass;
  const decision = guard(seenIn(cluster, pass), { planned: plannedIn(pass), performancePods }, { drainingCaps });
  const now = publishedStateOf(decision.next);
  const caps = targetCaps(cluster, pass, decision);
  return {
    decision,
    after: {
      ...cluster,
      ...(pass.spec && { spec: { nodeName: "n", ...targetOf(now, pin, caps, "static_partition") } }),
      ...(pass.status && { schedulableClass: now.schedulableClass }),
      ...(pass.labels && { label: now.profile }),
    },
  };
}

/** Whether a device may become slower: newly capped, capped lower, or capped in units that do not compare. */
function lowers(one: CapIntents, other: CapIntents): boolean {
  const device = (was: readonly (number | undefined)[], is: readonly (number | undefined)[]) =>
    is.some((figure) => figure !== undefined) &&
    was.some((figure, index) => {
      const next = is[index];
      return (figure === undefined) !== (next === undefined) || (next ?? 0) < (figure ?? 0);
    });
  return (
    device(
      [one.cpu?.packagePowerCapWatts, one.cpu?.packagePowerCapPctOfMax],
      [other.cpu?.packagePowerCapWatts, other.cpu?.packagePowerCapPctOfMax],
    ) ||
    device(
      [one.gpu?.powerCap?.capWattsPerGpu, one.gpu?.powerCap?.capPctOfMax],
      [other.gpu?.powerCap?.capWattsPerGpu, other.gpu?.powerCap?.capPctOfMax],
    )
  );
}

/** Every invariant that one pass can break. Caps are compared by value, not by the name the guard gives them. */
function brokenPromises(cluster: Cluster, pass: Pass, decision: GuardDecision): string[] {
  const { next, transition } = decision;
  const { performancePods, drainingCaps, pin } = pass;
  const planned = plannedIn(pass);
  const caps = capsUnder(pin, pass.caps);
  const before = seenIn(cluster, pass);
  const now = publishedStateOf(next);
  const edge = transitions.find(({ from, to }) => from === before.state && to === next.state);
  const mayHavePods = performancePods !== 0;
  // The caps of the performance profile are allowed even if new settings lowered them.
  const target = targetCaps(cluster, pass, decision);
  const slowsDown = next.caps === "eco" && lowers(cluster.spec ?? {}, target) && lowers(caps.performance, target);
  const askedTo = drainingCaps === "eco" && now.draining && performancePods !== undefined;
  const showedEco = cluster.schedulableClass === "eco" && cluster.label === "eco" && cluster.spec?.profile === "eco";
  const becameEco = now.schedulableClass === "eco" && before.state !== "ActiveEco";
  const unread = performancePods === undefined && planned === "eco";
  const broken = {
    "a change of state is no edge": next.state !== before.state && edge?.planned !== planned,
    "a change of state is not named": next.state !== before.state && transition !== edge,
    "a transition is named that does not happen": next.state === before.state && transition !== undefined,
    "went to eco over a performance pod": becameEco && mayHavePods,
    "slows a counted or uncounted pod down": slowsDown && mayHavePods && !askedTo,
    "slows down before eco is shown": slowsDown && !showedEco && !askedTo,
    "drains without saying eco": now.draining && now.profile !== "eco",
    "performance is planned and not given":
      planned === "performance" && (now.schedulableClass !== "performance" || next.caps !== "performance"),
    "changed while pods could not be read": unread && (next.state !== before.state || next.caps !== before.caps),
  };
  return Object.entries(broken).flatMap(([promise, isBroken]) => (isBroken ? [promise] : []));
}

describe("downgrade guard, any sequence of passes", () => {
  it("OPR-27 POL-24 never slows down a counted performance pod, despite restarts, new settings and failed writes", () => {
    fc.assert(
      fc.property(anySequence, (passes) => {
        let cluster: Cluster = {};
        for (const pass of passes) {
          const { decision, after } = run(cluster, pass);
          expect(brokenPromises(cluster, pass, decision)).toEqual([]);
          cluster = after;
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("OPR-24 converges: after two passes that plan eco, count no pod and write, the node has eco caps", () => {
    fc.assert(
      fc.property(anySequence, anyPass, (passes, last) => {
        let cluster: Cluster = {};
        for (const pass of passes) cluster = run(cluster, pass).after;
        const free = { ...last, planned: "eco", performancePods: 0, spec: true, status: true, labels: true } as const;
        const pin = last.pin?.profile === "eco" ? last.pin : undefined;
        for (let again = 0; again < 2; again++) cluster = run(cluster, { ...free, pin }).after;
        expect(cluster).toMatchObject({ schedulableClass: "eco", label: "eco" });
        expect(cluster.spec).toEqual({
          nodeName: "n",
          profile: "eco",
          ...capsUnder(pin, last.caps).eco,
          policy: { name: pin === undefined ? "static_partition" : "pinned" },
          scheduling: { draining: false },
        });
      }),
    );
  });
});
