import type { OperationStep, PowerEndpointStatus, SwitchState, WantedPowerState } from "../api/index.ts";
import { formatDuration, type Instant, type Milliseconds, milliseconds } from "../units/index.ts";

/** How long the steps of a sleep and a wake wait. */
export interface StepLimits {
  /** Between the observed taint and the count of pods, in which schedulers notice the taint. */
  readonly settle: Milliseconds;
  readonly shutdownTimeout: Milliseconds;
  readonly wakeTimeout: Milliseconds;
  /** Between two looks at a machine that is on its way. */
  readonly pollInterval: Milliseconds;
  /** After a wake or a sleep that was given up, a node stays awake at least this long, so that it does not flap. */
  readonly awakeAtLeast: Milliseconds;
}

export const DEFAULT_STEP_LIMITS: StepLimits = {
  settle: milliseconds(10_000),
  shutdownTimeout: milliseconds(300_000),
  wakeTimeout: milliseconds(900_000),
  pollInterval: milliseconds(10_000),
  awakeAtLeast: milliseconds(300_000),
};

/** How long a node that is on must stay awake before it may sleep again. */
export function restBeforeSleep(
  { lastWake, lastSleep }: Pick<PowerEndpointStatus, "lastWake" | "lastSleep">,
  now: Instant,
  { awakeAtLeast }: StepLimits,
): Milliseconds {
  const last = Math.max(...[lastWake, lastSleep].map((outcome) => Date.parse(outcome?.at ?? "") || 0));
  // A time far ahead of a clock that was set back does not count.
  return milliseconds(Math.abs(last - now) < awakeAtLeast ? last + awakeAtLeast - now : 0);
}

/** A wake that takes too long is tried once more. */
export const WAKE_ATTEMPTS = 2;

/** A request that takes power away. */
export type PowerCut = "shutdown" | "forceOff";
/** Whether it was sent. `maybe`: the answer was lost, or another process has sent it. */
export type Sent = "no" | "maybe" | "yes";

type SleepStep = Extract<OperationStep, "taint" | "count" | "shutdown" | "force">;
type WakeStep = Extract<OperationStep, "on" | "ready" | "untaint">;

interface OperationFacts {
  readonly exists: boolean;
  readonly sinceStep: Milliseconds;
  /** What the switch says; undefined until it was read. */
  readonly machine?: SwitchState;
}

/** What is known of a node that goes to sleep. */
export interface SleepFacts extends OperationFacts {
  readonly wanted: WantedPowerState;
  /** Why it is wanted. */
  readonly reason: string;
  readonly tainted: boolean;
  readonly sent: Readonly<Record<PowerCut, Sent>>;
  /** The pods, counted after the taint was seen; undefined until they were counted. */
  readonly pods?: { readonly occupied: string | undefined } | undefined;
}

/** What is known of a node that wakes. */
export interface WakeFacts extends OperationFacts {
  readonly attempt: number;
  /** The kubelet has reported since the machine was switched on. */
  readonly hasBooted: boolean;
  /** The agent has as well. */
  readonly isBack: boolean;
}

/** What the power program does next. */
type PowerMove<Step extends OperationStep> =
  /** Read the switch, and ask again. A switch that does not answer counts as `unknown` if it is optional. */
  | { readonly move: "readSwitch"; readonly optional: boolean }
  | { readonly move: "wait"; readonly time: Milliseconds }
  | { readonly move: "goTo"; readonly step: Step }
  | { readonly move: "finish" };

export type SleepMove =
  | PowerMove<SleepStep>
  | { readonly move: "countPods" }
  /** Set the taint. `startsAgain`: another writer removed it, so the sleep begins again. */
  | { readonly move: "taint"; readonly startsAgain: boolean }
  | { readonly move: "send"; readonly request: PowerCut }
  /** The node stays on. `failed`: it was wanted off and cannot sleep now. */
  | { readonly move: "giveUp"; readonly reason: string; readonly failed: boolean }
  /** Switch the machine on. `failed`: why the sleep failed, which counts as a cycle. */
  | { readonly move: "wake"; readonly failed?: string };

export type WakeMove =
  | PowerMove<WakeStep>
  | { readonly move: "switchOn" }
  /** Switch off a machine that hangs while it boots. If that is refused, it is switched on as it is. */
  | { readonly move: "cutPower" }
  | { readonly move: "tryAgain" }
  | { readonly move: "fail" };

interface Step<Name, Facts, Move> {
  readonly name: Name;
  readonly next: (facts: Facts, limits: StepLimits) => Move;
}

const finish = { move: "finish" } as const;
const pollIn = ({ pollInterval }: StepLimits) => ({ move: "wait", time: pollInterval }) as const;
const isNothingSent = ({ sent }: SleepFacts): boolean => sent.shutdown === "no" && sent.forceOff === "no";

const giveUpUnsent = ({ wanted, reason }: SleepFacts): SleepMove =>
  wanted === "on"
    ? { move: "giveUp", reason, failed: false }
    : { move: "giveUp", reason: "nothing could be sent in time", failed: true };

const awaitTaint: Step<SleepStep, SleepFacts, SleepMove> = {
  name: "taint",
  next: () => ({ move: "goTo", step: "count" }),
};

/** A sleep: taint → pods counted, at a version that is not older → off, if need be by force. */
const SLEEP_STEPS: readonly Step<SleepStep, SleepFacts, SleepMove>[] = [
  awaitTaint,
  {
    name: "count",
    next: ({ sinceStep, pods }, { settle }) => {
      if (sinceStep < settle) return { move: "wait", time: milliseconds(settle - sinceStep) };
      if (pods === undefined) return { move: "countPods" };
      if (pods.occupied !== undefined) return { move: "giveUp", reason: pods.occupied, failed: true };
      return { move: "goTo", step: "shutdown" };
    },
  },
  {
    // A shutdown that was sent is awaited even if the node is wanted again: the machine would go down later anyway.
    name: "shutdown",
    next: (facts, limits) => {
      const { wanted, machine, sent } = facts;
      const isUnsent = isNothingSent(facts);
      if (facts.sinceStep >= limits.shutdownTimeout) {
        if (isUnsent) return giveUpUnsent(facts);
        return wanted === "on" ? { move: "wake" } : { move: "goTo", step: "force" };
      }
      // A node that is wanted again, and was sent nothing, does not wait for its switch.
      if (machine === undefined) return { move: "readSwitch", optional: isUnsent && wanted === "on" };
      if (machine === "off") return finish;
      if (wanted === "on") return isUnsent ? giveUpUnsent(facts) : pollIn(limits);
      return sent.shutdown === "yes" ? pollIn(limits) : { move: "send", request: "shutdown" };
    },
  },
  {
    name: "force",
    next: (facts, limits) => {
      const { wanted, machine, sent } = facts;
      const isLate = facts.sinceStep >= limits.shutdownTimeout;
      if (machine === undefined) return { move: "readSwitch", optional: isLate || wanted === "on" };
      if (machine === "off") return finish;
      if (isNothingSent(facts) && (isLate || wanted === "on")) return giveUpUnsent(facts);
      // A switch may say `on` for a while after the cut. A wake would then end before the machine is off.
      if (wanted === "on") return sent.forceOff === "no" || isLate ? { move: "wake" } : pollIn(limits);
      if (!isLate) return { move: "send", request: "forceOff" };
      const time = formatDuration(limits.shutdownTimeout);
      return { move: "wake", failed: `it is still on ${time} after its power was cut` };
    },
  },
];

/** What a node that goes to sleep needs next, in the given step. */
export function nextSleepMove(step: OperationStep, facts: SleepFacts, limits: StepLimits): SleepMove {
  const { exists, wanted, reason, tainted } = facts;
  const maySend = step === "shutdown" || step === "force";
  if (!maySend && !exists) return { move: "wake" };
  if (!maySend && wanted === "on") return { move: "giveUp", reason, failed: false };
  // The machine of a Node that was deleted may still go down. Another one of its name gets the taint as well.
  if (exists && !tainted) return { move: "taint", startsAgain: step === "count" || (maySend && isNothingSent(facts)) };
  // A step that is no step of a sleep begins it again.
  const { next } = SLEEP_STEPS.find(({ name }) => name === step) ?? awaitTaint;
  return next(facts, limits);
}

const switchOn: Step<WakeStep, WakeFacts, WakeMove> = {
  name: "on",
  next: ({ machine, attempt, hasBooted, sinceStep }, limits) => {
    if (machine === undefined) return { move: "readSwitch", optional: false };
    if (attempt === 1 || hasBooted) return { move: "switchOn" };
    if (machine === "on") return { move: "cutPower" };
    // The switch may be taking the power away. One that does not report `off` in time is switched on anyway.
    const longest = Math.min(limits.shutdownTimeout, limits.wakeTimeout / 2);
    return machine === "unknown" && sinceStep < longest ? pollIn(limits) : { move: "switchOn" };
  },
};

/** A wake: on → the node is Ready and its agent reports → the taint is removed. */
const WAKE_STEPS: readonly Step<WakeStep, WakeFacts, WakeMove>[] = [
  switchOn,
  {
    name: "ready",
    next: ({ machine, exists }, limits) => {
      if (machine === undefined) return { move: "readSwitch", optional: false };
      // A Node that was deleted cannot be awaited; its kubelet registers it again.
      if (!exists && machine === "on") return finish;
      return machine === "off" ? { move: "switchOn" } : pollIn(limits);
    },
  },
  { name: "untaint", next: () => finish },
];

/** What a node that wakes needs next, in the given step. */
export function nextWakeMove(step: OperationStep, facts: WakeFacts, limits: StepLimits): WakeMove {
  const { exists, isBack, sinceStep, attempt } = facts;
  if (step === "ready" && exists && isBack) return { move: "goTo", step: "untaint" };
  if (step !== "untaint" && sinceStep >= limits.wakeTimeout)
    return attempt < WAKE_ATTEMPTS ? { move: "tryAgain" } : { move: "fail" };
  const { next } = WAKE_STEPS.find(({ name }) => name === step) ?? switchOn;
  return next(facts, limits);
}
