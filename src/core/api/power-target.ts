import * as z from "zod";
import {
  block,
  capPercent,
  choiceField,
  flagField,
  objectNameField,
  powerCap,
  textField,
  withReadFallback,
} from "./fields.ts";
import { header } from "./metadata.ts";
import { namedAfterNode, needsOneOf, withRules } from "./rules.ts";

export const profiles = ["performance", "eco"] as const;
export type Profile = (typeof profiles)[number];

const cpuCap = withRules(
  block("The CPU cap; absent means uncapped.", {
    packagePowerCapWatts: powerCap(
      "Most power one CPU package may draw, in watts; takes precedence over the percentage.",
    ).optional(),
    packagePowerCapPctOfMax: capPercent("Most power one CPU package may draw, in percent of its maximum.").optional(),
  }),
  needsOneOf("packagePowerCapWatts", "packagePowerCapPctOfMax"),
);

const gpuPowerCap = withRules(
  block("The cap of each GPU; absent means uncapped.", {
    scope: choiceField(["perGpu"], "Scope of the cap: each GPU separately.").optional(),
    capWattsPerGpu: powerCap("Most power one GPU may draw, in watts; takes precedence over the percentage.").optional(),
    capPctOfMax: capPercent("Most power one GPU may draw, in percent of its maximum.").optional(),
  }),
  needsOneOf("capWattsPerGpu", "capPctOfMax"),
);

/** The requested power state of a node. NodeTwin publishes it, and NodePowerProfile pins it. */
export const powerTarget = () =>
  block("The power target of the node.", {
    nodeName: objectNameField("Name of the node; it is also the name of this object."),
    // An invalid profile reads as performance: every node starts there, and it slows no work down.
    profile: withReadFallback(choiceField(profiles, "Power profile the node offers to workloads."), "performance"),
    cpu: cpuCap.optional(),
    gpu: block("GPU targets.", { powerCap: gpuPowerCap.optional() }).optional(),
    policy: block("Origin of the target.", {
      name: textField(253, "Policy that decided the target, or `pinned` if a user's NodePowerProfile did.").optional(),
    }).optional(),
    scheduling: block("Scheduling information about the target.", {
      draining: flagField("Whether the node is changing to eco while performance pods still run on it.").optional(),
    }).optional(),
  });

export type PowerTarget = z.infer<ReturnType<typeof powerTarget>>;
export type CpuCap = z.infer<typeof cpuCap>;
export type GpuPowerCap = z.infer<typeof gpuPowerCap>;

export const nodePowerProfileSchema = withRules(
  z.object({ ...header("NodePowerProfile"), spec: powerTarget() }),
  namedAfterNode,
);

export type NodePowerProfile = z.infer<typeof nodePowerProfileSchema>;
export type NodePowerProfileSpec = PowerTarget;
