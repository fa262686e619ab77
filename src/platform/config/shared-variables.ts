import { labels } from "../../core/api/index.ts";
import { labelKey, path } from "./variable-types.ts";

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
    about: "The node label for the profile. Use the same one for operator and extender.",
  });

export const drainingLabel = () =>
  labelKey({
    default: labels.draining,
    about: "The node label for draining nodes. Use the same one for operator and extender.",
  });
