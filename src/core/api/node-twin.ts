import * as z from "zod";
import { type Instant, instant, milliseconds } from "../units/index.ts";
import { twinControlReport } from "./control-report.ts";
import {
  block,
  choiceField,
  decimal,
  integerField,
  percentageField,
  power,
  powerTrend,
  textField,
  timestampField,
  withReadFallback,
} from "./fields.ts";
import { conditions, header } from "./metadata.ts";
import { powerTarget, profiles } from "./power-target.ts";
import { namedAfterNode, withRules } from "./rules.ts";

export const schedulableClasses = ["performance", "eco", "draining", "asleep", "unknown"] as const;
export type SchedulableClass = (typeof schedulableClasses)[number];

const powerSources = ["kepler", "utilization", "static", "agent", "http", "prometheus"] as const;
export type PowerSource = (typeof powerSources)[number];

const wantedPowerStates = ["on", "off"] as const;
export type WantedPowerState = (typeof wantedPowerStates)[number];
export const nodePowerStates = ["on", "stopping", "off", "waking", "failed"] as const;
export type NodePowerState = (typeof nodePowerStates)[number];

const wantedPower = block(
  "Whether the node should run; absent means on. The operator decides, the power program obeys.",
  {
    // An invalid state reads as on: a node that runs for no reason only costs energy.
    state: withReadFallback(choiceField(wantedPowerStates, "Wanted state of the node."), "on"),
    reason: textField(1024, "Why the operator wants this state, one sentence.").optional(),
  },
);

/** A reader that knows fewer names still shows them, so they are plain text. */
const limitName = (device: string) =>
  textField(
    64,
    `Name of the limit that the ${device} cap comes from, the lowest of all: profile (settings), slowdown (ECO_MAX_SLOWDOWN_PCT) or pin (NodePowerProfile); absent without a cap.`,
  ).optional();

const capsOrigin = block("What the caps of this target stand for; absent if an older operator wrote it.", {
  // An invalid profile reads as performance: the operator then lowers caps only after it has counted pods.
  profile: withReadFallback(
    choiceField(
      profiles,
      "Profile whose caps these are; a node on its way to eco has the caps of performance for a while.",
    ),
    "performance",
  ),
  cpu: limitName("CPU"),
  gpu: limitName("GPU"),
});

const nodePower = block("Where the node is between on and off; absent means on. Written by the power program.", {
  // An invalid state reads as failed: the scheduler places nothing on such a node, and nothing switches it off.
  state: withReadFallback(
    choiceField(
      nodePowerStates,
      "on, stopping (on its way to off), off, waking (on its way to on), or failed (a wake failed).",
    ),
    "failed",
  ),
  since: timestampField("When the node entered this state.").optional(),
});

const awaitedBy = block(
  "The pending performance pod that the node is kept free for: until the given time the extender rejects the node for pods that would delay it.",
  {
    pod: textField(507, "Namespace and name of the pod, as namespace/name."),
    uid: textField(253, "Uid of the pod."),
    priority: integerField(
      -2_147_483_648,
      2_147_483_647,
      "Priority of the pod; absent means 0. Pods of higher priority are not rejected.",
    ).optional(),
    since: timestampField("When the operator chose the node for the pod."),
    until: timestampField("When the node takes other pods again; in the past once the pod is bound or gone."),
    spare: block("What other pods may request without delaying the pod; absent means nothing.", {
      cpu: decimal(0, undefined, "CPUs."),
      memory: decimal(0, undefined, "Bytes of memory."),
    }).optional(),
  },
);

const powerMeasurement = block("Measured power and power budget of the node; absent if both are unknown.", {
  source: choiceField(
    powerSources,
    "Source of the reading: measured (kepler, agent, http, prometheus), modelled (utilization) or estimated (static).",
  ).optional(),
  measuredAt: timestampField("When the power was read.").optional(),
  measuredNodePowerW: power("Power that the CPUs and GPUs of the node draw, in watts.").optional(),
  estimatedGpuPowerW: power(
    "Part of measuredNodePowerW that is estimated, because the source reads no GPUs, in watts; absent if it reads all devices.",
  ).optional(),
  serverPowerW: power(
    "Power of the whole server, read by a meter, in watts; absent without such a meter. With a meter that reads nothing else, measuredNodePowerW follows from it by the model of the rest of the server.",
  ).optional(),
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
    schedulableClass: choiceField(schedulableClasses, "Class of the node for the scheduler.").optional(),
    predictedPowerHeadroomScore: percentageField(
      "Headroom for more work, 0 to 100, forecast for a node that draws its cap; higher is better.",
    ).optional(),
    predictedCoolingStressScore: percentageField(
      "Cooling stress, 0 to 100, forecast for a node that draws its cap.",
    ).optional(),
    coolingStressNow: percentageField(
      "Cooling stress, 0 to 100, of the power that the node draws now; absent if it is asleep or its power is unknown.",
    ).optional(),
    predictedPsuStressScore: percentageField("Share of the rack's power supply in use, 0 to 100.").optional(),
    effectiveCapState: block("The caps that the predictions are based on.", {
      cpuPct: percentageField("CPU cap in percent of the maximum; 100 means uncapped.").optional(),
      gpuPct: percentageField("GPU cap in percent of the maximum; 100 means uncapped or no GPU.").optional(),
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
      observedGeneration: integerField(
        0,
        undefined,
        "The receipt: generation of the newest target that the agent has carried out; absent after it restored all limits and stopped.",
      ).optional(),
      cpu: twinControlReport("CPU").optional(),
      gpu: twinControlReport("GPU").optional(),
    }).optional(),
    power: nodePower.optional(),
    awaitedBy: awaitedBy.optional(),
    conditions: conditions().optional(),
    lastTransitionTime: timestampField(
      "When schedulableClass last changed; absent until the first change. PROFILE_MIN_DWELL counts from this time.",
    ).optional(),
    lastUpdated: timestampField("When the operator last refreshed this status.").optional(),
  },
);

const spec = powerTarget()
  .extend({ caps: capsOrigin.optional(), power: wantedPower.optional() })
  .describe("The power target of the node.");

export const nodeTwinSchema = withRules(
  z.object({ ...header("NodeTwin"), spec, status: status.optional() }),
  namedAfterNode,
);

/** Whether the scheduler may use the node: the power program says nothing about it, or says that it is on. */
export const isAwake = (twinStatus: NodeTwinStatus | undefined): boolean => (twinStatus?.power?.state ?? "on") === "on";

/** The longest time that a node is kept free for one pod. */
export const MAX_AWAITED = milliseconds(3_600_000);
/** A choice further ahead means that a clock was set back. */
const ALLOWED_AHEAD = milliseconds(60_000);

/** A pod that a node is kept free for from `since` to `until`. */
export interface AwaitedPod {
  /** namespace/name */
  readonly pod: string;
  readonly uid: string;
  /** Absent means 0. */
  readonly priority?: number;
  readonly since: Instant;
  readonly until: Instant;
  /** What the pod leaves; absent if it needs all of another resource. */
  readonly spare?: SpareRoom | undefined;
}

/** CPUs, and bytes of memory. */
export interface SpareRoom {
  readonly cpu: number;
  readonly memory: number;
}

export const isSameSpare = (one: SpareRoom | undefined, other: SpareRoom | undefined): boolean =>
  one?.cpu === other?.cpu && one?.memory === other?.memory;

/** The published pod that the node is or was kept free for. Never longer than `MAX_AWAITED`, whatever is published. */
export function awaitedPodOf(twinStatus: NodeTwinStatus | undefined): AwaitedPod | undefined {
  const published = twinStatus?.awaitedBy;
  if (published === undefined) return undefined;
  const since = Date.parse(published.since);
  const until = Math.min(Date.parse(published.until), since + MAX_AWAITED);
  if (Number.isNaN(since) || Number.isNaN(until)) return undefined;
  const { pod, uid, priority, spare } = published;
  return { pod, uid, ...(priority !== undefined && { priority }), since: instant(since), until: instant(until), spare };
}

export const isKeptFree = (awaited: AwaitedPod | undefined, now: Instant): awaited is AwaitedPod =>
  awaited !== undefined && now < awaited.until && awaited.since <= now + ALLOWED_AHEAD;

export type NodeTwin = z.infer<typeof nodeTwinSchema>;
export type NodeTwinSpec = z.infer<typeof spec>;
export type WantedPower = z.infer<typeof wantedPower>;
export type NodePower = z.infer<typeof nodePower>;
export type NodeTwinStatus = z.infer<typeof status>;
export type PowerMeasurement = z.infer<typeof powerMeasurement>;
