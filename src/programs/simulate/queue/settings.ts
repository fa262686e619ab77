import type { CapSettings, GuardOptions, PolicySettings } from "../../../core/policy/index.ts";
import { milliseconds, percent, watts } from "../../../core/units/index.ts";

/** The operator as it is installed: every figure is the default of its variable. */
export const policySettings: PolicySettings = {
  type: "static_partition",
  staticHpFrac: 0.5,
  queue: { hpBaseFrac: 0.6, hpMin: 1, hpMax: 1_000_000, perfPerHpNode: 10 },
  reconcileInterval: milliseconds(60_000),
};

export const capSettings: CapSettings = {
  cpu: {
    absolute: false,
    watts: { performance: watts(5000), eco: watts(120) },
    percent: { performance: percent(100), eco: percent(60) },
    onGpuNodes: true,
  },
  gpu: { absolute: false, percent: { performance: percent(100), eco: percent(60) }, modelCaps: {} },
};

/** How long a promoted node stays performance at least. */
export const MIN_DWELL_MS = milliseconds(300_000);

export const guardOptions: GuardOptions = { drainingCaps: "performance" };

/** Seconds between two passes of the operator, and until an agent has read what it published. */
export const PASS_SEC = 60;
export const AGENT_SEC = 20;

/** How long an unchanged twin stays unwritten. */
export const HEARTBEAT_MS = milliseconds(120_000);
