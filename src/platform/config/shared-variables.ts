import { labels } from "../../core/api/index.ts";
import { labelKey, path } from "./variable-types.ts";

/** Variables of the operator that an extender takes from it if they are not set. */
export const sharedVariables = [
  "POWER_PROFILE_LABEL",
  "DRAINING_LABEL",
  "TWIN_STALENESS_THRESHOLD",
  "SLEEP_MODE",
] as const;
export type SharedVariable = (typeof sharedVariables)[number];

/** Variables with the same meaning in several programs. */
export const hardwareCatalogPath = () =>
  path({
    default: "embedded",
    or: "embedded",
    about:
      "A YAML file that extends and overrides the built-in catalogue of CPUs and GPUs. Use the same file for agent, operator and extender.",
  });

export const powerProfileLabel = () =>
  labelKey({
    default: labels.powerProfile,
    about: "The node label for the profile. The extender takes the operator's if it has none of its own.",
  });

export const drainingLabel = () =>
  labelKey({
    default: labels.draining,
    about: "The node label for draining nodes. The extender takes the operator's if it has none of its own.",
  });
