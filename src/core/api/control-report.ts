import type { z } from "zod";
import { block, choice, percentage, power, text, timestamp } from "./fields.ts";

export const controlResults = ["applied", "blocked", "error", "none"] as const;
export type ControlResult = (typeof controlResults)[number];

const outcome = () => ({
  backend: text(63, "Backend that acted, for example rapl, dvfs, nvml or http.").optional(),
  result: choice(controlResults, "What became of the last control action.").optional(),
  message: text(4096, "What was done, or why it was not.").optional(),
  updatedAt: timestamp("When this was reported.").optional(),
});

/** How a NodeTwin tells what the agent did to one device. */
export const twinControlReport = (device: string) =>
  block(`What the agent last did to the ${device}.`, {
    ...outcome(),
    observedPowerWatts: power(`Power all ${device} devices of the node drew together, in watts.`).optional(),
  });
export type TwinControlReport = z.infer<ReturnType<typeof twinControlReport>>;

/** How a TelemetryProfile tells what the agent did to one device. */
export const profileControlReport = (device: string) =>
  block(`What the agent last did to the ${device} through this profile.`, {
    ...outcome(),
    observed: block("What the agent saw when it acted.", {
      powerWatts: power(`Power all ${device} devices of the node drew together, in watts.`).optional(),
      capWatts: power("Cap the device reported after the action, in watts.").optional(),
      throttlePct: percentage("Share of the CPUs that is throttled, in percent.").optional(),
    }).optional(),
  });
export type ProfileControlReport = z.infer<ReturnType<typeof profileControlReport>>;
