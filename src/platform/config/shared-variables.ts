import { labels } from "../../core/api/index.ts";
import { labelKey, path } from "./variable-types.ts";

/** Variables that mean the same in several programs, each read by those that need it. */
export const hardwareCatalogPath = () =>
  path({
    default: "embedded",
    or: "embedded",
    about:
      "A YAML file that adds to the built-in catalogue of CPUs and GPUs and overrides it; the same for agent, operator and extender.",
  });

export const powerProfileLabel = () =>
  labelKey({
    default: labels.powerProfile,
    about: "The node label that carries the profile; the same for operator and extender.",
  });

export const drainingLabel = () =>
  labelKey({
    default: labels.draining,
    about: "The node label that says a node is draining; the same for operator and extender.",
  });
