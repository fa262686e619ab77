import type { WantedPowerState } from "../api/index.ts";
import { isPlacedBy, type PodPool, type PodSummary } from "../demand/index.ts";
import { type ArrivalHistory, largestFirst, type PendingGroup, pendingGroups, shapeKey } from "../fit/index.ts";
import { type Instant, type Milliseconds, milliseconds, type Seconds, seconds } from "../units/index.ts";
import { Placement } from "./placement.ts";
import {
  awakeNeeds,
  holds,
  type Need,
  notEmptyFor,
  type SleepSettings,
  sleepLimits,
  sleepsBecause,
} from "./settings.ts";
import { type SleepMemory, SleepRecorder } from "./sleep-memory.ts";
import { isAsleep, isDown, isUsable, type SleepNode } from "./sleep-node.ts";

/**
 * `needed`: the node is on and stays on. `sleep`: it is switched off now. `asleep`: it is off and stays off. `wake`: it is
 * switched on now. `blocked`: it would be switched on, but too many are at the same time.
 */
type SleepVerdict = "needed" | "sleep" | "asleep" | "wake" | "blocked";

export interface SleepDecision {
  readonly name: string;
  readonly verdict: SleepVerdict;
  readonly wanted: WantedPowerState;
  /** One sentence for users. It stays the same while the node sleeps. */
  readonly reason: string;
  /** What a node that wakes or stays on is needed for; undefined if it is on for another reason. */
  readonly need?: Need | undefined;
}

/** A pending pod and the node that it waits for. */
export interface WaitForWake {
  readonly pod: PodSummary;
  readonly node: string;
  /** How long a wake of this node takes. */
  readonly wakeTime: Seconds;
}

export interface SleepPlan {
  /** Every node that its user allows to sleep, or that is asleep. */
  readonly nodes: ReadonlyMap<string, SleepDecision>;
  /** Pending pods for which a node is waking. */
  readonly waits: readonly WaitForWake[];
  /** Why no node goes to sleep at all; undefined if nodes may. */
  readonly blocked?: string | undefined;
}

export interface SleepResult {
  readonly plan: SleepPlan;
  /** The memory for the next plan. The same input with this memory gives the same plan and the same memory. */
  readonly memory: SleepMemory;
}

export interface SleepInput {
  readonly nodes: readonly SleepNode[];
  readonly pods: Iterable<PodSummary>;
  /** Whether pods can be read. */
  readonly current: boolean;
  /** Arrivals of pods of all classes. Without it there is no reserve. */
  readonly arrivals?: ArrivalHistory;
  readonly settings: SleepSettings;
  readonly memory: SleepMemory;
  readonly now: Instant;
}

/** Default wake times, used until a wake was measured. Servers take minutes to boot, with GPUs longer. */
const DEFAULT_WAKE: Readonly<Record<PodPool, Seconds>> = { cpu: seconds(240), gpu: seconds(420) };
const MAX_WAKE = seconds(1800);
/** From the arrival of a pod until the switch acts, and from a ready node until the pod is bound. */
const BESIDE_WAKE = seconds(90);

const poolOf = ({ fit }: SleepNode): PodPool => (fit.gpus > 0 ? "gpu" : "cpu");
const wakeTimeOf = (node: SleepNode): Seconds =>
  seconds(Math.min(MAX_WAKE, node.wakeTime ?? DEFAULT_WAKE[poolOf(node)]));
/** A wake that takes longer may fail; what relied on it wakes another node. */
const lateAfter = (node: SleepNode): Milliseconds =>
  milliseconds((sleepLimits.lateWake * wakeTimeOf(node) + BESIDE_WAKE) * 1000);

/**
 * Which nodes are needed awake, which may sleep and which must wake. Pending pods and a reserve are packed onto nodes that are
 * awake or waking, boards first and large pods first. What does not fit wakes the cheapest sleeping node that holds it. A node
 * that nothing needs sleeps if all rules allow it.
 *
 * Pods may be packed otherwise once a node wakes, and then need another node. So the plan is made again for the nodes as they are
 * once it is published, until it stays the same. Otherwise the next pass would change what this one has published.
 */
export function planSleep(input: SleepInput): SleepResult {
  const nodes = inNameOrder(input.nodes);
  const recorder = new SleepRecorder(input.memory, nodes, input.current, input.now);
  const pods = Array.from(input.pods);
  let plan = planOnce(nodes, pods, input, recorder);
  for (let round = 1, isStable = !wakesAny(plan); round < ROUNDS_LIMIT && !isStable; round++) {
    const next = planOnce(withChanges(nodes, plan), pods, input, recorder);
    isStable = !wakesAny(next);
    plan = merged(plan, next);
  }
  return { plan, memory: recorder.memory };
}

/** Two were enough for every random cluster that was tried. */
const ROUNDS_LIMIT = 4;

const isChange = ({ verdict }: SleepDecision): boolean => verdict === "sleep" || verdict === "wake";
const wakesAny = ({ nodes }: SleepPlan): boolean =>
  Array.from(nodes.values()).some(({ verdict }) => verdict === "wake");

/** The nodes once the plan is published. A node that is called back before it was switched off may be on its way down. */
const withChanges = (nodes: readonly SleepNode[], plan: SleepPlan): SleepNode[] =>
  nodes.map((node) => {
    const decision = plan.nodes.get(node.name);
    if (decision === undefined || !isChange(decision)) return node;
    const { wanted, reason } = decision;
    const state = wanted === "on" && node.state === "on" && node.ready ? "waking" : node.state;
    return { ...node, wanted, state, lastReason: reason };
  });

/** The plan for the nodes as they are, from that plan and the one for the nodes once it is published. */
function merged(plan: SleepPlan, next: SleepPlan): SleepPlan {
  const nodes = new Map(next.nodes);
  for (const [name, before] of plan.nodes) {
    const after = next.nodes.get(name);
    if (before.verdict === "sleep" && after !== undefined && after.verdict !== "asleep")
      // It is needed after all. The limit of wakes does not count for a node that is on.
      nodes.set(name, { ...after, verdict: "needed", wanted: "on" });
    else if (before.verdict === "wake" && after?.verdict === "sleep") nodes.set(name, { ...after, verdict: "asleep" });
    else if (isChange(before)) nodes.set(name, before);
  }
  return { ...next, nodes };
}

function planOnce(
  nodes: readonly SleepNode[],
  pods: readonly PodSummary[],
  input: SleepInput,
  recorder: SleepRecorder,
): SleepPlan {
  const { settings, now, current } = input;
  const pending = pendingGroups(pods, (pod) => pod.ofNode !== true && isPlacedBy(settings.schedulers, pod));
  const windows = windowsOf(nodes);
  const reserve = largestFirst(input.arrivals?.reserve(settings.reserveQuantile, now, windows) ?? []);
  const isLate = (node: SleepNode) => recorder.isWakingFor(node.uid, lateAfter(node));
  const placement = new Placement(nodes, pods, [...pending, ...reserve], isLate);
  const waits = placePending(placement, pending, windows, recorder, now);
  for (const group of reserve) placement.place(group, "reserve");
  keepFamilies(nodes, placement, recorder, now);
  wakeSurplusOfZones(nodes, placement, settings);
  const blocked = blockOf(nodes, current);
  const held = holdsOf(nodes, placement, settings, recorder, blocked);
  swapInZones(nodes, placement, held, settings);
  const woken = wakesOf(nodes, placement, recorder);

  const decisions = new Map<string, SleepDecision>();
  for (const [index, node] of nodes.entries()) {
    const { name, asked, lastReason } = node;
    const need = placement.needOf(index);
    const becauseOf = mustWakeBecause(node, need);
    const decide = (verdict: SleepVerdict, wanted: WantedPowerState, reason: string) =>
      decisions.set(name, { name, verdict, wanted, reason });
    if (isAsleep(node)) {
      const asleep = lastReason ?? sleepsBecause(settings.after);
      if (becauseOf === undefined) decide("asleep", "off", asleep);
      else if (woken.has(index)) decisions.set(name, { name, verdict: "wake", wanted: "on", reason: becauseOf, need });
      else decide("blocked", "off", asleep);
    } else if (asked || node.wanted === "off") {
      const hold = held.get(index);
      if (hold === undefined) decide("sleep", "off", sleepsBecause(settings.after));
      // While a node wakes it keeps the reason for its wake.
      else {
        const reason = node.state === "on" ? hold : (lastReason ?? hold);
        const keptFor = need ?? (hold === awakeNeeds.zone ? "zone" : undefined);
        decisions.set(name, { name, verdict: "needed", wanted: "on", reason, need: keptFor });
      }
    }
  }
  return { nodes: decisions, waits, blocked };
}

function inNameOrder(nodes: readonly SleepNode[]): SleepNode[] {
  const names = new Set<string>();
  const unique = nodes.filter(({ name }) => !names.has(name) && names.add(name));
  return unique.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Pods that arrive within this time have to fit on nodes that are awake already. */
function windowsOf(nodes: readonly SleepNode[]): Readonly<Record<PodPool, Milliseconds>> {
  const longest: Record<PodPool, number> = { cpu: 0, gpu: 0 };
  for (const node of nodes)
    if (node.barrier === undefined) longest[poolOf(node)] = Math.max(longest[poolOf(node)], wakeTimeOf(node));
  const window = (pool: PodPool) => milliseconds(((longest[pool] || DEFAULT_WAKE[pool]) + BESIDE_WAKE) * 1000);
  return { cpu: window("cpu"), gpu: window("gpu") };
}

function placePending(
  placement: Placement,
  pending: readonly PendingGroup[],
  windows: Readonly<Record<PodPool, Milliseconds>>,
  recorder: SleepRecorder,
  now: Instant,
): readonly WaitForWake[] {
  const waits: WaitForWake[] = [];
  const unexplained: PendingGroup[] = [];
  for (const group of pending) {
    const placed = placement.place(group, "pending");
    for (const [index, node] of placed.entries()) {
      const pod = group.pods[index];
      if (pod !== undefined && !isUsable(node)) waits.push({ pod, node: node.name, wakeTime: wakeTimeOf(node) });
    }
    if (placed.length > 0 && placed.every(isUsable)) unexplained.push(group);
  }
  const since = recorder.fitSince(unexplained.map(shapeKey));
  const others = unexplained.map((group, index) => ({ group, since: since[index] ?? now }));
  for (const pool of ["gpu", "cpu"] as const) {
    const ofPool = others.filter(({ group }) => group.requests.gpus > 0 === (pool === "gpu"));
    placement.tryOthers(ofPool, windows[pool], now);
  }
  return waits;
}

function keepFamilies(nodes: readonly SleepNode[], placement: Placement, recorder: SleepRecorder, now: Instant): void {
  const { awakeInFamily, emptyInFamily, learning } = sleepLimits;
  const isLearning = now - recorder.since < learning;
  const families = indexesBy(nodes, ({ managed, family }) => (managed ? family : undefined));
  for (const members of families.values()) {
    placement.keepAwake(members, Math.max(1, Math.ceil(members.length * awakeInFamily)), "family");
    if (isLearning) placement.keepEmpty(members, Math.ceil(members.length * emptyInFamily), "learning");
  }
}

/** A zone that lost nodes may have too many asleep. */
function wakeSurplusOfZones(nodes: readonly SleepNode[], placement: Placement, { zoneShare }: SleepSettings): void {
  for (const members of indexesBy(nodes, ({ zone }) => zone).values()) {
    const asleep = members.filter((index) => {
      const node = nodes[index];
      return node !== undefined && isAsleep(node) && mustWakeBecause(node, placement.needOf(index)) === undefined;
    });
    const surplus = asleep.length - Math.floor(members.length * zoneShare);
    const byCost = asleep.toSorted((a, b) => (nodes[a]?.idle ?? 0) - (nodes[b]?.idle ?? 0) || a - b);
    for (const index of byCost.slice(0, Math.max(0, surplus))) placement.need(index, "zone");
  }
}

/** Wakes a node that draws little in place of one that draws far more, where as much of a zone is asleep as may be. */
function swapInZones(
  nodes: readonly SleepNode[],
  placement: Placement,
  held: ReadonlyMap<number, string>,
  { zoneShare }: SleepSettings,
): void {
  const idleOf = (index: number): number => nodes[index]?.idle ?? 0;
  for (const members of indexesBy(nodes, ({ zone }) => zone).values()) {
    const waiting = members.filter((index) => held.get(index) === awakeNeeds.zone);
    if (waiting.length === 0) continue;
    const asleep: number[] = [];
    // Nodes that are down after this pass: those that sleep from now on count as well, those that wake do not.
    let down = 0;
    for (const index of members) {
      const node = nodes[index];
      if (node === undefined) continue;
      const isReturning = node.wanted === "on" && node.state !== "on" && node.state !== "failed";
      const mustWake = isAsleep(node) && mustWakeBecause(node, placement.needOf(index)) !== undefined;
      if ((held.has(index) && !isDown(node)) || isReturning || mustWake) continue;
      down++;
      if (isAsleep(node)) asleep.push(index);
    }
    const free = Math.floor(members.length * zoneShare) - down;
    // Nodes that are not ready for other reasons fill the zone: one wake would free no place.
    if (free < 0) continue;
    const most = waiting.toSorted((a, b) => idleOf(b) - idleOf(a) || a - b).slice(free);
    const least = asleep.toSorted((a, b) => idleOf(a) - idleOf(b) || a - b);
    for (const [place, index] of most.entries()) {
      const other = least[place];
      if (other === undefined || idleOf(index) < sleepLimits.swapFactor * idleOf(other)) break;
      placement.need(other, "swap");
    }
  }
}

function mustWakeBecause({ barrier, pods }: SleepNode, need: Need | undefined): string | undefined {
  if (need === "pending" || need === "waiting") return awakeNeeds[need];
  if (barrier !== undefined) return barrier;
  if (pods > 0) return holds.pods;
  return need && awakeNeeds[need];
}

/** The nodes that wake now. Pending pods come first. Limits of sleeping never delay a wake. */
function wakesOf(nodes: readonly SleepNode[], placement: Placement, recorder: SleepRecorder): ReadonlySet<number> {
  const order = Object.keys(awakeNeeds);
  const urgencyOf = (index: number): number => {
    const need = placement.needOf(index);
    return need === undefined ? order.indexOf("reserve") - 0.5 : order.indexOf(need);
  };
  const due = Array.from(nodes.keys()).filter((index) => {
    const node = nodes[index];
    return node !== undefined && isAsleep(node) && mustWakeBecause(node, placement.needOf(index)) !== undefined;
  });
  const first = due.toSorted((a, b) => urgencyOf(a) - urgencyOf(b) || a - b);
  return new Set(first.filter((index) => recorder.start("wake", nodes[index]?.uid ?? "", sleepLimits.wakesPerMinute)));
}

/** Why no node may go to sleep at all. */
function blockOf(nodes: readonly SleepNode[], current: boolean): string | undefined {
  if (!current) return holds.unreadable;
  const managed = nodes.filter((node) => node.managed);
  const failing = managed.filter(({ ready, wanted, state }) => !ready && wanted === "on" && isSettled(state));
  return failing.length > managed.length * sleepLimits.notReady ? holds.notReady : undefined;
}

/** A node that is not ready while it stops or wakes is expected. */
const isSettled = (state: SleepNode["state"]): boolean => state === "on" || state === "failed";

/** Why each node that is on stays on. Nodes that are missing in the result sleep now: first those that save most. */
function holdsOf(
  nodes: readonly SleepNode[],
  placement: Placement,
  settings: SleepSettings,
  recorder: SleepRecorder,
  blocked: string | undefined,
): ReadonlyMap<number, string> {
  const zones = indexesBy(nodes, ({ zone }) => zone);
  const down = new Map<string, number>();
  for (const node of nodes) if (isDown(node)) down.set(node.zone, (down.get(node.zone) ?? 0) + 1);
  const held = new Map<number, string>();
  const hold = (index: number, node: SleepNode): string | undefined => {
    const { barrier, pods, cordoned, zone, uid, cyclesToday } = node;
    if (barrier !== undefined) return barrier;
    if (pods > 0) return holds.pods;
    if (cordoned) return holds.cordoned;
    if (!isUsable(node)) return holds.notOn;
    const need = placement.needOf(index);
    if (need !== undefined) return awakeNeeds[need];
    if (blocked !== undefined) return blocked;
    if (!recorder.isEmptyFor(uid, settings.after)) return notEmptyFor(settings.after);
    if (cyclesToday >= sleepLimits.cyclesPerDay) return holds.cycles;
    const inZone = zones.get(zone)?.length ?? 0;
    if ((down.get(zone) ?? 0) + 1 > Math.floor(inZone * settings.zoneShare)) return awakeNeeds.zone;
    if (!recorder.start("sleep", uid, sleepLimits.sleepsPerMinute)) return holds.rate;
    down.set(zone, (down.get(zone) ?? 0) + 1);
    return undefined;
  };
  const bySaving = Array.from(nodes.entries()).toSorted(([i, a], [j, b]) => b.idle - a.idle || i - j);
  for (const [index, node] of bySaving) {
    const why = isAsleep(node) ? "" : hold(index, node);
    if (why !== undefined) held.set(index, why);
  }
  return held;
}

function indexesBy(
  nodes: readonly SleepNode[],
  keyOf: (node: SleepNode) => string | undefined,
): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>();
  for (const [index, node] of nodes.entries()) {
    const key = keyOf(node);
    if (key === undefined) continue;
    const members = found.get(key);
    if (members === undefined) found.set(key, [index]);
    else members.push(index);
  }
  return found;
}
