import { gpuProductLabels, labels } from "../../../core/api/index.ts";
import { builtinCatalogue } from "../../../core/inventory/index.ts";
import type { PlanningSettings } from "../../../core/planning/index.ts";
import { capLimits, type PolicySettings } from "../../../core/policy/index.ts";
import { presets } from "../../../core/presets/index.ts";
import { DEFAULT_ZONE_SHARE, type SleepSettings } from "../../../core/sleep/index.ts";
import { linearCoolingModel } from "../../../core/twin/index.ts";
import { type Instant, instant, milliseconds, type Percent, percent, watts } from "../../../core/units/index.ts";
import type { PolicyName } from "../contenders.ts";
import type { SleepOptions } from "../experiment.ts";

const FIT_RESERVE = Number(presets.energy.sets.operator.FIT_RESERVE);
export const ECO_MAX_SLOWDOWN = percent(Number(presets.energy.sets.operator.ECO_MAX_SLOWDOWN_PCT));

/** Without a policy every node stays at performance but still has a twin. */
const policyOf = (name: PolicyName): PolicySettings => ({
  type: name === "none" ? "static_partition" : name,
  staticHpFrac: name === "none" ? 1 : 0.5,
  queue: { hpBaseFrac: 0.6, hpMin: 1, hpMax: 1_000_000, perfPerHpNode: 10 },
  fitReserve: FIT_RESERVE,
  reconcileInterval: milliseconds(60_000),
});

/** As an installed operator's defaults, but power comes from exact meters, and fit_aware_v1 has bounded eco caps. */
export const planningSettings = (
  policy: PolicyName,
  {
    maxSlowdown = ECO_MAX_SLOWDOWN,
    clockShare,
  }: { readonly maxSlowdown?: Percent | undefined; readonly clockShare?: number | undefined } = {},
  sleep?: SleepSettings,
): PlanningSettings => ({
  sleep,
  eligibility: {
    selector: [{ key: labels.managed, operator: "In", values: ["true"] }],
    reservedLabel: labels.reserved,
  },
  policy: policyOf(policy),
  minDwell: milliseconds(300_000),
  guard: { drainingCaps: "performance" },
  limitsOf: capLimits(
    {
      cpu: {
        absolute: false,
        watts: { performance: watts(5000), eco: watts(120) },
        percent: { performance: percent(100), eco: percent(60) },
        onGpuNodes: true,
      },
      gpu: { absolute: false, percent: { performance: percent(100), eco: percent(60) }, modelCaps: {} },
    },
    policy === "fit_aware_v1" ? maxSlowdown : undefined,
    clockShare,
  ),
  labels: { powerProfile: labels.powerProfile, draining: labels.draining },
  gpuProductLabels,
  catalogue: builtinCatalogue,
  twin: { cooling: linearCoolingModel() },
  powerSource: "prometheus",
  readingsFreshFor: milliseconds(300_000),
});

/** Of an installed operator with SLEEP_MODE=on. */
export const sleepSettings = ({
  reserveQuantile = 0.99,
  zoneShare = DEFAULT_ZONE_SHARE,
  after,
}: SleepOptions = {}): SleepSettings => ({
  mode: "on",
  after: after ?? milliseconds(600_000),
  reserveQuantile,
  zoneShare,
});

/** Start of all simulations; the date is arbitrary. */
const START = Date.UTC(2026, 0, 1);
export const instantAt = (sec: number): Instant => instant(START + sec * 1000);

/** Seconds between operator passes, and until an agent has applied the result. */
export const PASS_SEC = 60;
export const AGENT_SEC = 20;

/** Seconds until a performance pod without a node triggers a pass, and from the pass to the scheduler's next try. */
export const TRIGGER_SEC = 1;
export const RETRY_SEC = 1;

/**
 * Maximum time that an unchanged twin stays unwritten: two passes. An operator waits longer (TWIN_HEARTBEAT). With its value the
 * tables of docs/guides/experiments.md differ in the last digits only.
 */
export const HEARTBEAT_MS = milliseconds(120_000);
