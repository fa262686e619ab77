import * as z from "zod";
import { twinControlReport } from "./control-report.ts";
import { block, choice, decimal, percentage, power, powerTrend, timestamp } from "./fields.ts";
import { conditions, header } from "./metadata.ts";
import { type PowerTarget, powerTarget } from "./power-target.ts";
import { namedAfterNode, withRules } from "./rules.ts";

export const schedulableClasses = ["performance", "eco", "draining", "unknown"] as const;
export type SchedulableClass = (typeof schedulableClasses)[number];

export const powerSources = ["kepler", "utilization", "static", "agent", "http", "prometheus"] as const;
export type PowerSource = (typeof powerSources)[number];

const powerMeasurement = block("Measured and derived power of the node; absent where nothing is known.", {
  source: choice(
    powerSources,
    "Where the figure comes from: read directly (kepler, agent, http, prometheus), modelled (utilization) or estimated (static).",
  ).optional(),
  measuredAt: timestamp("When the power was read.").optional(),
  measuredNodePowerW: power("Power the node draws, in watts.").optional(),
  cpuCappedPowerW: power("Power all CPUs may draw under their cap, in watts.").optional(),
  gpuCappedPowerW: power("Power all GPUs may draw under their cap, in watts.").optional(),
  nodeCappedPowerW: power("Power CPUs and GPUs may draw together under their caps, in watts.").optional(),
  cpuTdpW: power("Power all CPUs draw at most when uncapped, in watts.").optional(),
  gpuTdpW: power("Power all GPUs draw at most when uncapped, in watts.").optional(),
  nodeTdpW: power("Power CPUs and GPUs draw at most together when uncapped, in watts.").optional(),
  powerTrendWPerMin: powerTrend(
    "How fast the node's power changes, in watts per minute; negative is falling.",
  ).optional(),
});

const status = block(
  "What the twin predicts and what was measured; the agent owns controlStatus, the operator the rest.",
  {
    schedulableClass: choice(schedulableClasses, "What the scheduler may place here.").optional(),
    predictedPowerHeadroomScore: percentage("Room for more work, 0 to 100; higher is better.").optional(),
    predictedCoolingStressScore: percentage("Share of the cooling capacity in use, 0 to 100.").optional(),
    predictedPsuStressScore: percentage("Share of the rack's power supply in use, 0 to 100.").optional(),
    effectiveCapState: block("The caps the predictions were computed with.", {
      cpuPct: percentage("CPU cap in percent of the maximum; 100 is uncapped.").optional(),
      gpuPct: percentage("GPU cap in percent of the maximum; 100 is uncapped or no GPU.").optional(),
    }).optional(),
    hardwareDensityScore: decimal(0, 2, "Compute density: up to 1 for the CPUs plus up to 1 for the GPUs.").optional(),
    estimatedPUE: decimal(
      1,
      undefined,
      "Power usage effectiveness where the node stands; 1 where it is unknown.",
    ).optional(),
    powerMeasurement: powerMeasurement.optional(),
    controlStatus: block("What the agent last did, per device.", {
      cpu: twinControlReport("CPU").optional(),
      gpu: twinControlReport("GPU").optional(),
    }).optional(),
    conditions: conditions().optional(),
    lastTransitionTime: timestamp(
      "When schedulableClass last changed; absent while the node has its first class. PROFILE_MIN_DWELL counts from it.",
    ).optional(),
    lastUpdated: timestamp("When the operator last refreshed this status.").optional(),
  },
);

export const nodeTwinSchema = withRules(
  z.object({ ...header("NodeTwin"), spec: powerTarget(), status: status.optional() }),
  namedAfterNode,
);

export type NodeTwin = z.infer<typeof nodeTwinSchema>;
export type NodeTwinSpec = PowerTarget;
export type NodeTwinStatus = z.infer<typeof status>;
export type PowerMeasurement = z.infer<typeof powerMeasurement>;
