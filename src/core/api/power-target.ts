import type { z } from "zod";
import { block, capPercent, choice, flag, objectName, withReadFallback, powerCap, text } from "./fields.ts";
import { needsOneOf, withRules } from "./rules.ts";

export const profiles = ["performance", "eco"] as const;
export type Profile = (typeof profiles)[number];

const cpuCap = withRules(
  block("The CPU cap; absent means uncapped.", {
    packagePowerCapWatts: powerCap(
      "Most power one CPU package may draw, in watts; it wins over the percentage.",
    ).optional(),
    packagePowerCapPctOfMax: capPercent("Most power one CPU package may draw, in percent of its maximum.").optional(),
  }),
  needsOneOf("packagePowerCapWatts", "packagePowerCapPctOfMax"),
);

const gpuPowerCap = withRules(
  block("The cap of each GPU; absent means uncapped.", {
    scope: choice(["perGpu"], "What the cap counts for: each GPU on its own.").optional(),
    capWattsPerGpu: powerCap("Most power one GPU may draw, in watts; it wins over the percentage.").optional(),
    capPctOfMax: capPercent("Most power one GPU may draw, in percent of its maximum.").optional(),
  }),
  needsOneOf("capWattsPerGpu", "capPctOfMax"),
);

/** What a node is asked to do with its power. NodeTwin and NodePowerProfile share it: one publishes it, the other pins it. */
export const powerTarget = () =>
  block("The power target of the node.", {
    nodeName: objectName("Name of the node this is about; it is also the object's name."),
    // An unreadable profile reads as performance: the state a node starts in, and the side that slows no work down.
    profile: withReadFallback(choice(profiles, "Power profile the node offers to workloads."), "performance"),
    cpu: cpuCap.optional(),
    gpu: block("GPU targets.", { powerCap: gpuPowerCap.optional() }).optional(),
    policy: block("Where the target comes from.", {
      name: text(253, "Policy that decided the target, or `pinned` where a person's NodePowerProfile did.").optional(),
    }).optional(),
    scheduling: block("What the scheduler has to know about the target.", {
      draining: flag("Whether the node is on its way to eco while performance pods still run on it.").optional(),
    }).optional(),
  });

export type PowerTarget = z.infer<ReturnType<typeof powerTarget>>;
export type CpuCap = z.infer<typeof cpuCap>;
export type GpuPowerCap = z.infer<typeof gpuPowerCap>;
