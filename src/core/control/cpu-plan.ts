import type { ControlResult } from "../api/index.ts";
import type { Percent, Watts } from "../units/index.ts";
import { percentThrottle } from "./dvfs.ts";
import { describeCaps, describeClamping, type PackageCap, type PackageCaps, totalCap } from "./package-caps.ts";

export const controlModes = ["auto", "rapl", "dvfs", "none"] as const;
export type ControlMode = (typeof controlModes)[number];

/** What `joulie_backend_mode` shows. */
export type CpuBackend = "none" | "rapl" | "dvfs";

/** What became of a write. An answer of `blocked` is a refusal, not a success. */
export interface WriteOutcome {
  readonly result: Exclude<ControlResult, "none">;
  readonly message?: string;
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
  /** What Joulie itself has in place, whichever route put it there: caps by package. The throttle is `DvfsState`'s. */
  readonly inForce: { readonly raplCaps: ReadonlyMap<string, Watts>; readonly throttlePct: Percent };
  /** How this tick's writes ended, once they were tried; a check that found its cap is a write that was applied. */
  readonly raplWrite?: WriteOutcome | undefined;
  readonly throttleWrite?: WriteOutcome | undefined;
}

export type CpuAction =
  | { readonly kind: "setRaplCap"; readonly caps: readonly PackageCap[] }
  /**
   * In place of a write where the cap should be in force already: read it back, so that a rival's undoing is found. Where it
   * reads otherwise, plan again with what was read in force.
   */
  | { readonly kind: "checkRaplCap"; readonly caps: readonly PackageCap[] }
  | { readonly kind: "liftRaplCap" }
  /** Run the DVFS loop towards this power of all packages. */
  | { readonly kind: "regulate"; readonly target: Watts }
  | { readonly kind: "setThrottle"; readonly throttlePct: Percent }
  /** In place of a write where the throttle should be in force already: whatever was undone of it is written again. */
  | { readonly kind: "checkThrottle"; readonly throttlePct: Percent }
  | { readonly kind: "restoreThrottle" };

export interface CpuPlanReport {
  readonly result: ControlResult;
  readonly message: string;
}

export interface CpuPlan {
  readonly backend: CpuBackend;
  /** What is still to be tried this tick, in this order. */
  readonly actions: readonly CpuAction[];
  /** What to tell if the actions succeed; absent while even that hangs on a RAPL write or check. */
  readonly report?: CpuPlanReport;
}

/**
 * Which backend enforces the CPU cap, and what it has to do. A tick plans, carries out the actions, and after a write plans
 * again with its outcome: that is how a failing RAPL falls back to DVFS within the tick, and how RAPL's return releases
 * the throttle only once the new limit holds.
 *
 * `none` does nothing at all. What was put in place under another route is that route's to restore.
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

/** What is to be let go of: how, or what keeps it. */
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

/**
 * A plan with its report, unless a write has failed: then the report says that, whatever was hoped for. Nor is anything
 * applied while something of ours stays in force that should not.
 */
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

// A backend that is not in charge lets go of what it holds, so that no two of them pull at one node.
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
    : { stuck: `our RAPL cap of ${Math.min(...raplCaps.values())} W cannot be lifted: ${NO_RAPL}` };
}

/** Where DVFS stands in for a RAPL that is to come back, its cap may stay, unless it holds the node below what is asked. */
function tighterRapl({ inForce: { raplCaps } }: CpuPlanInput, caps: readonly PackageCap[]): Release {
  const asked = new Map(caps.map(({ id, watts }) => [id, watts]));
  const lowest = Math.min(...caps.map(({ watts }) => watts));
  // A package that is not shown any more is compared with the lowest that is asked of the others.
  const tighter = [...raplCaps].filter(([id, held]) => held < (asked.get(id) ?? lowest)).map(([, held]) => held);
  return tighter.length === 0 ? {} : { stuck: `our earlier RAPL cap of ${Math.min(...tighter)} W cannot be raised` };
}

function release(control: CpuPlanInput, asked: boolean): CpuPlan {
  const { mode, raplAvailable, dvfsAvailable } = control;
  const dvfs = mode !== "rapl" && dvfsAvailable ? "dvfs" : "none";
  const backend = mode !== "dvfs" && raplAvailable ? "rapl" : dvfs;
  const releases = [releaseRapl(control), releaseThrottle(control)];
  return asked
    ? settle(control, { backend, releases, result: "applied" }, "100 % of the maximum: no limit is written")
    : settle(control, { backend, releases, result: "none" }, "no cap is asked for");
}

function limitByRapl(control: CpuPlanInput, caps: readonly PackageCap[]): CpuPlan {
  const { mode, raplAvailable, raplWrite, inForce } = control;
  if (raplAvailable && raplWrite === undefined) {
    const isInForce = caps.every(({ id, watts }) => inForce.raplCaps.get(id) === watts);
    return { backend: "rapl", actions: [{ kind: isInForce ? "checkRaplCap" : "setRaplCap", caps }] };
  }
  const releases = [releaseThrottle(control)];
  const clamped = describeClamping(caps);
  if (raplWrite?.result === "applied" || (raplAvailable && mode === "rapl")) {
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
  // Where DVFS stands in, RAPL's failure is only the reason, unless DVFS is missing too.
  if (!control.dvfsAvailable)
    return settle(control, { backend: "none", result: raplWrite.result }, clamped, NO_CPUFREQ);
  const why = ["RAPL failed", raplWrite.message, clamped];
  return regulate({ ...control, raplWrite: undefined }, caps, why, raplWrite.result);
}

const RAPL_ONLY = "the control mode allows RAPL only";

/** `unable` is the result where DVFS has nothing to go by: what it stands in for may have failed, and then nothing is in force. */
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
    ? settle(control, { backend: "dvfs", releases, actions, result: "applied" }, ...why, `DVFS aims at ${target} W`)
    : settle(
        control,
        { backend: "dvfs", releases, actions, result: unable },
        ...why,
        "no power reading: the throttle stays",
      );
}

function throttleByPercent(control: CpuPlanInput, pctOfMax: Percent): CpuPlan {
  const { mode, dvfsAvailable, inForce, throttleWrite } = control;
  const why = `${pctOfMax} % of an unknown maximum is not known in watts`;
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
