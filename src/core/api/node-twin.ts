import * as z from "zod";
import { twinControlReport } from "./control-report.ts";
import { block, choice, decimal, percentage, power, powerTrend, text, timestamp, withReadFallback } from "./fields.ts";
import { conditions, header } from "./metadata.ts";
import { powerTarget } from "./power-target.ts";
import { namedAfterNode, withRules } from "./rules.ts";

export const schedulableClasses = ["performance", "eco", "draining", "asleep", "unknown"] as const;
export type SchedulableClass = (typeof schedulableClasses)[number];

export const powerSources = ["kepler", "utilization", "static", "agent", "http", "prometheus"] as const;
export type PowerSource = (typeof powerSources)[number];

export const wantedPowerStates = ["on", "off"] as const;
export type WantedPowerState = (typeof wantedPowerStates)[number];
export const nodePowerStates = ["on", "stopping", "off", "waking", "failed"] as const;
export type NodePowerState = (typeof nodePowerStates)[number];

const wantedPower = block(
  "Whether the node should run; absent means on. The operator decides, the power program obeys.",
  {
    // An invalid state reads as on: a node that runs for no reason only costs energy.
    state: withReadFallback(choice(wantedPowerStates, "Wanted state of the node."), "on"),
    reason: text(1024, "Why the operator wants this state, one sentence.").optional(),
  },
);

const nodePower = block("Where the node is between on and off; absent means on. Written by the power program.", {
  // An invalid state reads as failed: the scheduler places nothing on such a node, and nothing switches it off.
  state: withReadFallback(
    choice(
      nodePowerStates,
      "on, stopping (on its way to off), off, waking (on its way to on), or failed (a wake failed).",
    ),
    "failed",
  ),
  since: timestamp("When the node entered this state.").optional(),
});

const powerMeasurement = block("Measured power and power budget of the node; absent if both are unknown.", {
  source: choice(
    powerSources,
    "Source of the reading: measured (kepler, agent, http, prometheus), modelled (utilization) or estimated (static).",
  ).optional(),
  measuredAt: timestamp("When the power was read.").optional(),
  measuredNodePowerW: power("Power the node draws, in watts.").optional(),
  cpuCappedPowerW: power("Most power all CPUs may draw under their caps, in watts.").optional(),
  gpuCappedPowerW: power("Most power all GPUs may draw under their caps, in watts.").optional(),
  nodeCappedPowerW: power("Most power CPUs and GPUs may draw together under their caps, in watts.").optional(),
  cpuTdpW: power("Most power all CPUs draw when uncapped, in watts.").optional(),
  gpuTdpW: power("Most power all GPUs draw when uncapped, in watts.").optional(),
  nodeTdpW: power("Most power CPUs and GPUs draw together when uncapped, in watts.").optional(),
  powerTrendWPerMin: powerTrend("Trend of the node's power, in watts per minute; negative means falling.").optional(),
});

const status = block(
  "Predictions and measurements. The agent owns controlStatus, the power program owns power, the operator all other fields.",
  {
    schedulableClass: choice(schedulableClasses, "Class of the node for the scheduler.").optional(),
    predictedPowerHeadroomScore: percentage("Headroom for more work, 0 to 100; higher is better.").optional(),
    predictedCoolingStressScore: percentage("Share of the cooling capacity in use, 0 to 100.").optional(),
    predictedPsuStressScore: percentage("Share of the rack's power supply in use, 0 to 100.").optional(),
    effectiveCapState: block("The caps that the predictions are based on.", {
      cpuPct: percentage("CPU cap in percent of the maximum; 100 means uncapped.").optional(),
      gpuPct: percentage("GPU cap in percent of the maximum; 100 means uncapped or no GPU.").optional(),
    }).optional(),
    expectedSlowdownPct: decimal(
      0,
      undefined,
      "How much longer compute-bound work at full load takes under the caps, in percent; all other work takes at most that much longer.",
    ).optional(),
    hardwareDensityScore: decimal(0, 2, "Compute density: up to 1 for the CPUs plus up to 1 for the GPUs.").optional(),
    estimatedPUE: decimal(1, undefined, "Power usage effectiveness at the node's location; 1 if unknown.").optional(),
    powerMeasurement: powerMeasurement.optional(),
    controlStatus: block("What the agent last did, per device.", {
      cpu: twinControlReport("CPU").optional(),
      gpu: twinControlReport("GPU").optional(),
    }).optional(),
    power: nodePower.optional(),
    conditions: conditions().optional(),
    lastTransitionTime: timestamp(
      "When schedulableClass last changed; absent until the first change. PROFILE_MIN_DWELL counts from this time.",
    ).optional(),
    lastUpdated: timestamp("When the operator last refreshed this status.").optional(),
  },
);

const spec = powerTarget().extend({ power: wantedPower.optional() }).describe("The power target of the node.");

export const nodeTwinSchema = withRules(
  z.object({ ...header("NodeTwin"), spec, status: status.optional() }),
  namedAfterNode,
);

/** Whether the scheduler may use the node: the power program says nothing about it, or says that it is on. */
export const isAwake = (twinStatus: NodeTwinStatus | undefined): boolean => (twinStatus?.power?.state ?? "on") === "on";

export type NodeTwin = z.infer<typeof nodeTwinSchema>;
export type NodeTwinSpec = z.infer<typeof spec>;
export type WantedPower = z.infer<typeof wantedPower>;
export type NodePower = z.infer<typeof nodePower>;
export type NodeTwinStatus = z.infer<typeof status>;
export type PowerMeasurement = z.infer<typeof powerMeasurement>;
