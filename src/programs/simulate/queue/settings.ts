import type { CapSettings, GuardOptions, PolicySettings } from "../../../core/policy/index.ts";
import { milliseconds, percent, watts } from "../../../core/units/index.ts";

/** Default settings of an installed operator. */
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

/** Minimum time that a promoted node stays at performance. */
export const MIN_DWELL_MS = milliseconds(300_000);

export const guardOptions: GuardOptions = { drainingCaps: "performance" };

/** Seconds between operator passes, and until an agent has applied the result. */
export const PASS_SEC = 60;
export const AGENT_SEC = 20;

/** Maximum time that an unchanged twin stays unwritten. */
export const HEARTBEAT_MS = milliseconds(120_000);
