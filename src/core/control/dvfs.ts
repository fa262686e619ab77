import {
  elapsed,
  isNonNegative,
  type Milliseconds,
  type MonotonicInstant,
  type Percent,
  percent,
  type Watts,
  watts,
} from "../units/index.ts";

/** The DVFS_* variables. */
export interface DvfsSettings {
  readonly alpha: number;
  readonly highMargin: Watts;
  readonly lowMargin: Watts;
  readonly step: Percent;
  readonly cooldown: Milliseconds;
  readonly tripCount: number;
}

export interface DvfsState {
  /** Smoothed power; absent until the first reading. */
  readonly ema?: Watts;
  /** Number of consecutive ticks above and below the band. */
  readonly above: number;
  readonly below: number;
  readonly throttlePct: Percent;
  readonly lastActionAt?: MonotonicInstant;
}

export const initialDvfsState: DvfsState = { above: 0, below: 0, throttlePct: percent(0) };

export interface DvfsAction {
  readonly kind: "throttle_up" | "throttle_down";
  readonly throttlePct: Percent;
}

export interface DvfsStep {
  /** The state after the action, if any, was carried out. */
  readonly state: DvfsState;
  readonly action?: DvfsAction;
  /** The state if the action's write fails: still tripped, so that the next tick tries again. */
  readonly ifWriteFails: DvfsState;
}

/**
 * The state after another backend took over and the throttle, if any, was restored. `throttlePct` is the only record of the
 * throttle in force, so writes outside the loop must update it. Average and counters are reset, because they describe the
 * time before. The cooldown remains, so that a RAPL that fails intermittently does not cause more throttle changes.
 */
export function afterRestore({ lastActionAt }: DvfsState): DvfsState {
  return lastActionAt === undefined ? initialDvfsState : { ...initialDvfsState, lastActionAt };
}

/** The state after a `setThrottle` write of the percentage path. The closed loop later starts from this throttle. */
export const afterThrottle = (throttlePct: Percent, now: MonotonicInstant): DvfsState => ({
  ...initialDvfsState,
  throttlePct,
  lastActionAt: now,
});

/** The band around the target in which the loop takes no action. */
export const dvfsBand = (target: Watts, settings: DvfsSettings): { readonly upper: Watts; readonly lower: Watts } => ({
  upper: watts(target + settings.highMargin),
  lower: watts(target - settings.lowMargin),
});

/** One tick of the fallback controller. `target` and `observed` are of all packages. Without a reading nothing changes. */
export function stepDvfs(
  state: DvfsState,
  observed: Watts | undefined,
  target: Watts,
  now: MonotonicInstant,
  settings: DvfsSettings,
): DvfsStep {
  if (!isNonNegative(observed)) return { state, ifWriteFails: state };
  const counted = steadyClock(count(state, observed, target, settings), now);
  const action = decide(counted, now, settings);
  if (action === undefined) return { state: counted, ifWriteFails: counted };
  const tripped = action.kind === "throttle_up" ? "above" : "below";
  const acted = { ...counted, [tripped]: 0, throttlePct: action.throttlePct, lastActionAt: now };
  return { state: acted, action, ifWriteFails: counted };
}

/** Smooths the power and counts ticks outside the band. It runs during the cooldown too; only the action waits. */
function count(state: DvfsState, observed: Watts, target: Watts, settings: DvfsSettings): DvfsState {
  const { alpha } = settings;
  // An average of NaN would never recover, so it starts over.
  const ema = isNonNegative(state.ema) ? watts(alpha * observed + (1 - alpha) * state.ema) : observed;
  const { upper, lower } = dvfsBand(target, settings);
  const above = ema > upper ? state.above + 1 : 0;
  const below = ema < lower ? state.below + 1 : 0;
  return { ...state, ema, above, below };
}

/** A last action in the future means that the clock restarted, for example at a reboot: the cooldown starts over. */
const steadyClock = (state: DvfsState, now: MonotonicInstant): DvfsState =>
  state.lastActionAt !== undefined && state.lastActionAt > now ? { ...state, lastActionAt: now } : state;

function decide(state: DvfsState, now: MonotonicInstant, settings: DvfsSettings): DvfsAction | undefined {
  const { throttlePct, lastActionAt } = state;
  if (lastActionAt !== undefined && elapsed(lastActionAt, now) < settings.cooldown) return undefined;
  // A trip count below one would act on power inside the band.
  const trip = Math.max(1, settings.tripCount);
  if (state.above >= trip) {
    const more = percent(Math.min(100, throttlePct + settings.step));
    return more > throttlePct ? { kind: "throttle_up", throttlePct: more } : undefined;
  }
  if (state.below >= trip) {
    const less = percent(Math.max(0, throttlePct - settings.step));
    return less < throttlePct ? { kind: "throttle_down", throttlePct: less } : undefined;
  }
  return undefined;
}

/** The open loop for a percentage of an unknown maximum: a cap of 60 % throttles by 40 %. */
export const percentThrottle = (capPctOfMax: Percent): Percent =>
  percent(Math.min(100, Math.max(0, Math.round(100 - capPctOfMax) || 0)));
