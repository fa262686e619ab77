import type { ControlResult } from "../api/index.ts";
import { formatWatts, type Percent, type Watts } from "../units/index.ts";
import { percentThrottle } from "./dvfs.ts";
import { describeCaps, describeClamping, type PackageCap, type PackageCaps, totalCap } from "./package-caps.ts";

export const controlModes = ["auto", "rapl", "dvfs", "none"] as const;
export type ControlMode = (typeof controlModes)[number];

/** The value of `joulie_backend_mode`. */
export type CpuBackend = "none" | "rapl" | "dvfs";

/** The outcome of a write. `blocked` means that the device or endpoint refused it. */
export interface WriteOutcome {
  readonly result: Exclude<ControlResult, "none">;
  readonly message?: string;
  /** The write succeeded, but an earlier command may still undo it: write again soon. */
  readonly isUnsettled?: true;
}

/** From worst to best. */
const severity: readonly ControlResult[] = ["error", "blocked", "applied", "none"];

export const worstFirst = <One extends { readonly result: ControlResult }>(all: readonly One[]): readonly One[] =>
  all.toSorted((a, b) => severity.indexOf(a.result) - severity.indexOf(b.result));

export interface CpuPlanInput {
  readonly mode: ControlMode;
  readonly cap: PackageCaps;
  readonly raplAvailable: boolean;
  readonly dvfsAvailable: boolean;
  /** Whether this tick has a power reading for the DVFS loop. */
  readonly powerKnown: boolean;
  /** What Joulie itself has set, by any route: caps by package. The throttle is in `DvfsState`. */
  readonly inForce: { readonly raplCaps: ReadonlyMap<string, Watts>; readonly throttlePct: Percent };
  /** The outcome of this tick's writes, once they were tried. A check that found its cap in place counts as an applied write. */
  readonly raplWrite?: WriteOutcome | undefined;
  readonly throttleWrite?: WriteOutcome | undefined;
}

export type CpuAction =
  | { readonly kind: "setRaplCap"; readonly caps: readonly PackageCap[] }
  /** Replaces a write if the cap should be in force: read it back. If the device reports another cap, plan again with it. */
  | { readonly kind: "checkRaplCap"; readonly caps: readonly PackageCap[] }
  | { readonly kind: "liftRaplCap" }
  /** Run the DVFS loop towards this power of all packages. */
  | { readonly kind: "regulate"; readonly target: Watts }
  | { readonly kind: "setThrottle"; readonly throttlePct: Percent }
  /** Replaces a write if the throttle should already be in force: write again what another writer changed. */
  | { readonly kind: "checkThrottle"; readonly throttlePct: Percent }
  | { readonly kind: "restoreThrottle" };

interface CpuPlanReport {
  readonly result: ControlResult;
  readonly message: string;
}

export interface CpuPlan {
  readonly backend: CpuBackend;
  /** The actions to try in this tick, in this order. */
  readonly actions: readonly CpuAction[];
  /** The report if the actions succeed; absent while it depends on a RAPL write or check. */
  readonly report?: CpuPlanReport;
}

/**
 * Decides which backend enforces the CPU cap and which actions it takes. A tick plans, carries out the actions, and plans
 * again with the outcome of a write. This is how the agent falls back from a failing RAPL to DVFS within one tick, and how
 * it releases the throttle only after a recovered RAPL enforces the new limit.
 *
 * `none` takes no action. Caps that were set through another route are restored by that route.
 */
export function planCpu(control: CpuPlanInput): CpuPlan {
  const { cap, mode } = control;
  if (mode === "none")
    return { backend: "none", actions: [], report: { result: "none", message: "CPU control is off" } };
  if (cap.kind === "uncapped") return release(control, cap.asked);
  if (cap.kind === "percent") return throttleByPercent(control, cap.pctOfMax);
  return mode === "dvfs" ? regulate(control, cap.caps, [describeClamping(cap.caps)]) : limitByRapl(control, cap.caps);
}

type Words = readonly (string | undefined)[];

/** What to release: the actions, or the reason why a release is impossible. */
interface Release {
  readonly actions?: readonly CpuAction[];
  readonly stuck?: string;
}

interface Draft {
  readonly backend: CpuBackend;
  readonly result: ControlResult;
  readonly releases?: readonly Release[];
  readonly actions?: readonly CpuAction[];
}

/** A plan with its report. The result is not `applied` while a cap or throttle that should be released is in force. */
function settle(
  control: CpuPlanInput,
  { backend, result, releases = [], actions = [] }: Draft,
  ...message: Words
): CpuPlan {
  const stuck = releases.map((release) => release.stuck).filter((word) => word !== undefined);
  const failed = [control.raplWrite, control.throttleWrite].find((write) => write && write.result !== "applied");
  const words = [...message, ...stuck, ...(failed === undefined ? [] : ["a write failed", failed.message])];
  return {
    backend,
    actions: [...releases.flatMap((release) => release.actions ?? []), ...actions],
    report: {
      result: failed?.result ?? (stuck.length > 0 && result !== "error" ? "blocked" : result),
      message: words.filter((word) => word !== undefined).join("; "),
    },
  };
}

const NO_RAPL = "RAPL is not available on this node";
const NO_CPUFREQ = "cpufreq is not available on this node";

// A backend that is not in use releases its caps, so that two backends never control one node.
function releaseThrottle({ dvfsAvailable, inForce, throttleWrite }: CpuPlanInput): Release {
  if (!(inForce.throttlePct > 0) || throttleWrite !== undefined) return {};
  return dvfsAvailable
    ? { actions: [{ kind: "restoreThrottle" }] }
    : { stuck: `our throttle of ${inForce.throttlePct} % cannot be restored: ${NO_CPUFREQ}` };
}

function releaseRapl({ raplAvailable, inForce: { raplCaps }, raplWrite }: CpuPlanInput): Release {
  if (raplCaps.size === 0 || raplWrite !== undefined) return {};
  return raplAvailable
    ? { actions: [{ kind: "liftRaplCap" }] }
    : { stuck: `our RAPL cap of ${formatWatts(Math.min(...raplCaps.values()))} cannot be lifted: ${NO_RAPL}` };
}

/** While DVFS stands in for RAPL, a RAPL cap may stay unless it is lower than the requested one. */
function tighterRapl({ inForce: { raplCaps } }: CpuPlanInput, caps: readonly PackageCap[]): Release {
  const asked = new Map(caps.map(({ id, watts }) => [id, watts]));
  const lowest = Math.min(...caps.map(({ watts }) => watts));
  // A package that is no longer reported is compared with the lowest cap of the others.
  const tighter = [...raplCaps].filter(([id, held]) => held < (asked.get(id) ?? lowest)).map(([, held]) => held);
  return tighter.length === 0
    ? {}
    : { stuck: `our earlier RAPL cap of ${formatWatts(Math.min(...tighter))} cannot be raised` };
}

function release(control: CpuPlanInput, asked: boolean): CpuPlan {
  const { mode, raplAvailable, dvfsAvailable } = control;
  const dvfs = mode !== "rapl" && dvfsAvailable ? "dvfs" : "none";
  const backend = mode !== "dvfs" && raplAvailable ? "rapl" : dvfs;
  const releases = [releaseRapl(control), releaseThrottle(control)];
  return asked
    ? settle(control, { backend, releases, result: "applied" }, "cap is 100 % of the maximum: no limit is written")
    : settle(control, { backend, releases, result: "none" }, "no cap requested");
}

function limitByRapl(control: CpuPlanInput, caps: readonly PackageCap[]): CpuPlan {
  const { mode, raplAvailable, raplWrite, inForce } = control;
  if (raplAvailable && raplWrite === undefined) {
    const isInForce = caps.every(({ id, watts }) => inForce.raplCaps.get(id) === watts);
    return { backend: "rapl", actions: [{ kind: isInForce ? "checkRaplCap" : "setRaplCap", caps }] };
  }
  const releases = [releaseThrottle(control)];
  const clamped = describeClamping(caps);
  // A cap that an earlier command may still lower is set. DVFS could not raise it again.
  if (raplWrite?.result === "applied" || raplWrite?.isUnsettled === true || (raplAvailable && mode === "rapl")) {
    return settle(
      control,
      { backend: "rapl", releases, result: "applied" },
      describeCaps(caps),
      clamped,
      raplWrite?.result === "applied" ? raplWrite.message : undefined,
    );
  }
  if (mode === "rapl") {
    return settle(control, { backend: "none", releases, result: "blocked" }, NO_RAPL, RAPL_ONLY);
  }
  if (raplWrite === undefined) return regulate(control, caps, [NO_RAPL, clamped]);
  // If DVFS takes over, the RAPL failure is only the reason; it is the result if DVFS is unavailable too.
  if (!control.dvfsAvailable)
    return settle(control, { backend: "none", result: raplWrite.result }, clamped, NO_CPUFREQ);
  const why = ["RAPL failed", raplWrite.message, clamped];
  return regulate({ ...control, raplWrite: undefined }, caps, why, raplWrite.result);
}

const RAPL_ONLY = "the control mode allows RAPL only";

/** `unable` is the result if DVFS cannot work: RAPL may have failed before, and then no cap is in force. */
function regulate(
  control: CpuPlanInput,
  caps: readonly PackageCap[],
  why: Words,
  unable: ControlResult = "blocked",
): CpuPlan {
  const { dvfsAvailable, powerKnown, throttleWrite, mode } = control;
  const releases = [mode === "dvfs" ? releaseRapl(control) : tighterRapl(control, caps)];
  if (!dvfsAvailable) return settle(control, { backend: "none", releases, result: "blocked" }, ...why, NO_CPUFREQ);
  const target = totalCap(caps);
  if (target === undefined) {
    const unknown = "the number of CPU packages is unknown";
    return settle(control, { backend: "dvfs", releases, result: unable }, ...why, unknown);
  }
  const actions: CpuAction[] = throttleWrite === undefined ? [{ kind: "regulate", target }] : [];
  return powerKnown
    ? settle(
        control,
        { backend: "dvfs", releases, actions, result: "applied" },
        ...why,
        `DVFS aims at ${formatWatts(target)}`,
      )
    : settle(
        control,
        { backend: "dvfs", releases, actions, result: unable },
        ...why,
        "no power reading: the throttle is unchanged",
      );
}

function throttleByPercent(control: CpuPlanInput, pctOfMax: Percent): CpuPlan {
  const { mode, dvfsAvailable, inForce, throttleWrite } = control;
  const why = `cannot convert ${pctOfMax} % of an unknown maximum to watts`;
  const releases = [releaseRapl(control)];
  if (mode === "rapl") {
    releases.push(releaseThrottle(control));
    return settle(control, { backend: "none", releases, result: "blocked" }, why, RAPL_ONLY);
  }
  if (!dvfsAvailable) return settle(control, { backend: "none", releases, result: "blocked" }, why, NO_CPUFREQ);
  const throttlePct = percentThrottle(pctOfMax);
  const kind = throttlePct === inForce.throttlePct ? "checkThrottle" : "setThrottle";
  const actions: CpuAction[] = throttleWrite === undefined ? [{ kind, throttlePct }] : [];
  return settle(
    control,
    { backend: "dvfs", releases, actions, result: "applied" },
    why,
    `throttled by ${throttlePct} %`,
  );
}
