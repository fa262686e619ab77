import type { z } from "zod";
import { block, choiceField, percentageField, power, textField, timestampField } from "./fields.ts";

const controlResults = ["applied", "blocked", "error", "none"] as const;
export type ControlResult = (typeof controlResults)[number];

const outcome = () => ({
  backend: textField(63, "Backend that acted, for example rapl, dvfs, nvml or http.").optional(),
  result: choiceField(controlResults, "Result of the last control action.").optional(),
  message: textField(4096, "What the agent did, or why it did not act.").optional(),
  updatedAt: timestampField("When the agent reported this result.").optional(),
});

export const twinControlReport = (device: string) =>
  block(`What the agent last did to the ${device}.`, {
    ...outcome(),
    observedPowerWatts: power(`Total power of all ${device} devices of the node, in watts.`).optional(),
  });
export type TwinControlReport = z.infer<ReturnType<typeof twinControlReport>>;

export const profileControlReport = (device: string) =>
  block(`What the agent last did to the ${device} through this profile.`, {
    ...outcome(),
    observed: block("What the agent measured when it acted.", {
      powerWatts: power(`Total power of all ${device} devices of the node, in watts.`).optional(),
      capWatts: power("Cap the device reported after the action, in watts.").optional(),
      throttlePct: percentageField("Share of the CPUs that are throttled, in percent.").optional(),
    }).optional(),
  });
export type ProfileControlReport = z.infer<ReturnType<typeof profileControlReport>>;
