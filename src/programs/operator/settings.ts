import type { Catalogue } from "../../core/inventory/index.ts";
import type { PlanningSettings } from "../../core/planning/index.ts";
import { capLimits } from "../../core/policy/index.ts";
import type { SleepSettings } from "../../core/sleep/index.ts";
import { type CoolingModel, linearCoolingModel } from "../../core/twin/index.ts";
import { formatDuration, type Milliseconds, milliseconds } from "../../core/units/index.ts";
import type { SharedVariable } from "../../platform/config/index.ts";
import { STALE_AFTER } from "../../platform/telemetry/index.ts";
import type { OperatorConfig } from "./config.ts";

export interface OperatorSettings extends PlanningSettings {
  readonly sleep: SleepSettings;
  readonly heartbeat: Milliseconds;
  /** The same, of a twin that an agent refreshes: halfway from there to the age at which extenders take it for stale. */
  readonly heartbeatWithAgent: Milliseconds;
  readonly readsShapes: boolean;
  readonly mirrors: boolean;
}

/** As long as its source would use it, and for at least three polls, of which two may fail. */
export const readingsFreshFor = ({ RECONCILE_INTERVAL }: Pick<OperatorConfig, "RECONCILE_INTERVAL">): Milliseconds =>
  milliseconds(Math.max(STALE_AFTER, 3 * RECONCILE_INTERVAL));

export const operatorSettingsOf = (
  config: OperatorConfig,
  catalogue: Catalogue,
  cooling: CoolingModel = linearCoolingModel({ referenceNodePower: config.REFERENCE_NODE_POWER_W }),
): OperatorSettings => ({
  eligibility: { selector: config.NODE_SELECTOR, reservedLabel: config.RESERVED_LABEL_KEY },
  policy: {
    type: config.POLICY_TYPE,
    staticHpFrac: config.STATIC_HP_FRAC,
    queue: {
      hpBaseFrac: config.QUEUE_HP_BASE_FRAC,
      hpMin: config.QUEUE_HP_MIN,
      hpMax: config.QUEUE_HP_MAX,
      perfPerHpNode: config.QUEUE_PERF_PER_HP_NODE,
    },
    fitReserve: config.FIT_RESERVE,
    reconcileInterval: config.RECONCILE_INTERVAL,
  },
  minDwell: config.PROFILE_MIN_DWELL,
  guard: { drainingCaps: config.DRAINING_CAPS },
  limitsOf: capLimits(
    {
      cpu: {
        absolute: config.CPU_WRITE_ABSOLUTE_CAPS,
        watts: { performance: config.PERFORMANCE_CAP_WATTS, eco: config.ECO_CAP_WATTS },
        percent: { performance: config.CPU_PERFORMANCE_CAP_PCT_OF_MAX, eco: config.CPU_ECO_CAP_PCT_OF_MAX },
        onGpuNodes: config.CPU_CAP_GPU_NODES,
      },
      gpu: {
        absolute: config.GPU_WRITE_ABSOLUTE_CAPS,
        percent: { performance: config.GPU_PERFORMANCE_CAP_PCT_OF_MAX, eco: config.GPU_ECO_CAP_PCT_OF_MAX },
        modelCaps: config.GPU_MODEL_CAPS_JSON,
      },
    },
    config.ECO_MAX_SLOWDOWN_PCT,
    config.ECO_CLOCK_SHARE,
  ),
  labels: { powerProfile: config.POWER_PROFILE_LABEL, draining: config.DRAINING_LABEL },
  gpuProductLabels: config.GPU_PRODUCT_LABEL_KEYS,
  catalogue,
  twin: {
    cooling,
    rackCapacity: config.REFERENCE_RACK_CAPACITY_W,
  },
  powerSource: config.OPERATOR_NODE_POWER_SOURCE,
  heartbeat: config.TWIN_HEARTBEAT,
  heartbeatWithAgent: milliseconds((config.TWIN_HEARTBEAT + config.TWIN_STALENESS_THRESHOLD) / 2),
  readingsFreshFor: readingsFreshFor(config),
  readsShapes:
    config.POLICY_TYPE === "fit_aware_v1" || config.ECO_MAX_SLOWDOWN_PCT !== undefined || config.SLEEP_MODE !== "off",
  sleep: {
    mode: config.SLEEP_MODE,
    schedulers: config.SLEEP_SCHEDULERS,
    after: config.SLEEP_AFTER,
    reserveQuantile: config.SLEEP_RESERVE_QUANTILE,
    zoneShare: config.SLEEP_ZONE_SHARE,
  },
  mirrors: config.WRITE_NODE_POWER_PROFILES,
});

/** What extenders must agree on with the operator, by variable. They read it in the ConfigMap joulie-operator-state. */
export const sharedSettings = (config: OperatorConfig): Readonly<Record<SharedVariable, string>> => ({
  POWER_PROFILE_LABEL: config.POWER_PROFILE_LABEL,
  DRAINING_LABEL: config.DRAINING_LABEL,
  TWIN_STALENESS_THRESHOLD: formatDuration(config.TWIN_STALENESS_THRESHOLD),
  SLEEP_MODE: config.SLEEP_MODE,
});
