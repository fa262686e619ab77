import type { ControlResult } from "../api/index.ts";
import type { Percent, Watts } from "../units/index.ts";
import { type CapResolution, pooledTarget } from "./cap-resolution.ts";
import { percentThrottle } from "./dvfs.ts";

export const controlModes = ["auto", "rapl", "dvfs", "none"] as const;
export type ControlMode = (typeof controlModes)[number];

/** What `joulie_backend_mode` shows. */
export type CpuBackend = "none" | "rapl" | "dvfs";

/** What became of a write. An answer of `blocked` is a refusal, not a success. */
export interface WriteOutcome {
  readonly result: Exclude<ControlResult, "none">;
  readonly message?: string;
}

export interface CpuControl {
  readonly mode: ControlMode;
  /** The cap of one package. */
  readonly cap: CapResolution;
  readonly packages: number;
  readonly raplAvailable: boolean;
  readonly dvfsAvailable: boolean;
  /** Whether this tick has a power reading for the DVFS loop. */
  readonly powerKnown: boolean;
  /** What Joulie itself has in place. */
  readonly inForce: { readonly raplCap?: Watts | undefined; readonly throttlePct: Percent };
  /** How this tick's writes ended, once they were tried. */
  readonly raplWrite?: WriteOutcome | undefined;
  readonly throttleWrite?: WriteOutcome | undefined;
}

export type CpuAction =
  | { readonly kind: "setRaplCap"; readonly wattsPerPackage: Watts }
  | { readonly kind: "liftRaplCap" }
  /** Run the DVFS loop towards this power of all packages. */
  | { readonly kind: "regulate"; readonly target: Watts }
  | { readonly kind: "setThrottle"; readonly throttlePct: Percent }
  | { readonly kind: "restoreThrottle" };

export interface CpuReport {
  readonly result: ControlResult;
  readonly message: string;
}

export interface CpuPlan {
  readonly backend: CpuBackend;
  /** What is still to be tried this tick, in this order. */
  readonly actions: readonly CpuAction[];
  /** What to tell if the actions succeed; absent while even that hangs on a RAPL write. */
  readonly report?: CpuReport;
}

/**
 * Which backend enforces the CPU cap, and what it has to do. A tick plans, carries out the actions, and after a write plans
 * again with its outcome: that is how a failing RAPL falls back to DVFS within the tick, and how RAPL's return releases
 * the throttle only once the new limit holds.
 *
 * `none` does nothing at all. What was put in place under another route is that route's to restore.
 */
export function planCpu(control: CpuControl): CpuPlan {
  const { cap, mode } = control;
  if (mode === "none")
    return { backend: "none", actions: [], report: { result: "none", message: "CPU control is off" } };
  if (cap.kind === "uncapped") return release(control, cap.asked);
  if (cap.kind === "percent") return throttleByPercent(control, cap.pctOfMax);
  return mode === "dvfs" ? regulate(control, cap.watts, [cap.clamped]) : limitByRapl(control, cap.watts, cap.clamped);
}

type Words = readonly (string | undefined)[];

/** A plan with its report, unless a write has failed: then the report says that, whatever was hoped for. */
function settle(
  control: CpuControl,
  plan: { readonly backend: CpuBackend; readonly actions?: readonly CpuAction[]; readonly result: ControlResult },
  ...message: Words
): CpuPlan {
  const { backend, actions = [], result } = plan;
  const failed = [control.raplWrite, control.throttleWrite].find((write) => write && write.result !== "applied");
  const words = failed === undefined ? message : [...message, "a write failed", failed.message];
  return {
    backend,
    actions,
    report: { result: failed?.result ?? result, message: words.filter((word) => word !== undefined).join("; ") },
  };
}

// A backend that is not in charge lets go of what it holds, so that no two of them pull at one node.
const restoreThrottle = ({ dvfsAvailable, inForce, throttleWrite }: CpuControl): readonly CpuAction[] =>
  dvfsAvailable && inForce.throttlePct > 0 && throttleWrite === undefined ? [{ kind: "restoreThrottle" }] : [];
const liftRaplCap = ({ raplAvailable, inForce, raplWrite }: CpuControl): readonly CpuAction[] =>
  raplAvailable && inForce.raplCap !== undefined && raplWrite === undefined ? [{ kind: "liftRaplCap" }] : [];

function release(control: CpuControl, asked: boolean): CpuPlan {
  const { mode, raplAvailable, dvfsAvailable } = control;
  const dvfs = mode !== "rapl" && dvfsAvailable ? "dvfs" : "none";
  const backend = mode !== "dvfs" && raplAvailable ? "rapl" : dvfs;
  const actions = [...liftRaplCap(control), ...restoreThrottle(control)];
  return asked
    ? settle(control, { backend, actions, result: "applied" }, "100 % of the maximum: no limit is written")
    : settle(control, { backend, actions, result: "none" }, "no cap is asked for");
}

function limitByRapl(control: CpuControl, wattsPerPackage: Watts, clamped: string | undefined): CpuPlan {
  const { mode, raplAvailable, raplWrite } = control;
  if (raplAvailable && raplWrite === undefined) {
    return { backend: "rapl", actions: [{ kind: "setRaplCap", wattsPerPackage }] };
  }
  const actions = restoreThrottle(control);
  const absent = "RAPL is not available on this node";
  if (raplWrite?.result === "applied" || (raplAvailable && mode === "rapl")) {
    return settle(
      control,
      { backend: "rapl", actions, result: "applied" },
      `${wattsPerPackage} W per package`,
      clamped,
      raplWrite?.result === "applied" ? raplWrite.message : undefined,
    );
  }
  if (mode === "rapl") {
    return settle(
      control,
      { backend: "none", actions, result: "blocked" },
      absent,
      "the control mode allows RAPL only",
    );
  }
  if (raplWrite === undefined) return regulate(control, wattsPerPackage, [absent, clamped]);
  // Where DVFS stands in, RAPL's failure is only the reason, unless DVFS is missing too.
  if (!control.dvfsAvailable)
    return settle(control, { backend: "none", result: raplWrite.result }, clamped, NO_CPUFREQ);
  return regulate({ ...control, raplWrite: undefined }, wattsPerPackage, ["RAPL failed", raplWrite.message, clamped]);
}

const NO_CPUFREQ = "cpufreq is not available on this node";

function regulate(control: CpuControl, wattsPerPackage: Watts, why: Words): CpuPlan {
  const { dvfsAvailable, powerKnown, throttleWrite, packages, mode } = control;
  if (!dvfsAvailable) return settle(control, { backend: "none", result: "blocked" }, ...why, NO_CPUFREQ);
  const target = pooledTarget(wattsPerPackage, packages);
  if (target === undefined) {
    return settle(control, { backend: "dvfs", result: "blocked" }, ...why, "the number of CPU packages is unknown");
  }
  const actions: CpuAction[] = mode === "dvfs" ? [...liftRaplCap(control)] : [];
  if (throttleWrite === undefined) actions.push({ kind: "regulate", target });
  return powerKnown
    ? settle(control, { backend: "dvfs", actions, result: "applied" }, ...why, `DVFS aims at ${target} W`)
    : settle(control, { backend: "dvfs", actions, result: "blocked" }, ...why, "no power reading: the throttle stays");
}

function throttleByPercent(control: CpuControl, pctOfMax: Percent): CpuPlan {
  const { mode, dvfsAvailable, inForce, throttleWrite } = control;
  const why = `${pctOfMax} % of an unknown maximum is not known in watts`;
  if (mode === "rapl") {
    const actions = restoreThrottle(control);
    return settle(control, { backend: "none", actions, result: "blocked" }, why, "the control mode allows RAPL only");
  }
  if (!dvfsAvailable) return settle(control, { backend: "none", result: "blocked" }, why, NO_CPUFREQ);
  const throttlePct = percentThrottle(pctOfMax);
  const actions: CpuAction[] = [...liftRaplCap(control)];
  if (throttleWrite === undefined && throttlePct !== inForce.throttlePct)
    actions.push({ kind: "setThrottle", throttlePct });
  return settle(control, { backend: "dvfs", actions, result: "applied" }, why, `throttled by ${throttlePct} %`);
}
