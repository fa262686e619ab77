import type * as z from "zod";
import { labels } from "../../core/api/index.ts";
import { DEFAULT_PRESET, type PresetProgram, presetNames, presetVariables } from "../../core/presets/index.ts";
import { createLogger, type Logger, logFormats, logLevels } from "../log/index.ts";
import { group } from "./variable.ts";
import { choice, flag, labelKey, objectName, path } from "./variable-types.ts";

export const EVERY_PROGRAM = "Every program";

/** The variables that every program reads. */
export const everyProgram = group(EVERY_PROGRAM, {
  LOG_LEVEL: choice(logLevels, { default: "info", about: "The lowest level of log lines to write." }),
  LOG_FORMAT: choice(logFormats, {
    derived: { text: "json, pretty on a terminal", from: (_, machine) => (machine.isTerminal ? "pretty" : "json") },
    about: "Log format: JSON for machines, or coloured text for people.",
  }),
  KUBECONFIG: path({ about: "The kubeconfig file for the cluster; unset = the service account of the pod." }),
  ALLOW_INSECURE_TOKEN: flag({
    default: "false",
    about: "Allow sending tokens and passwords over unencrypted http:// too; loopback is always allowed.",
  }),
  POD_NAME: objectName({
    about: "The name of this pod, from the downward API; used as leader identity, for sharding and in log lines.",
  }),
  POD_NAMESPACE: objectName({
    default: "joulie-system",
    about: "The namespace of this pod; the leader lease is created there, and log lines contain it with POD_NAME.",
  }),
});

export type EveryProgram = z.output<z.ZodObject<typeof everyProgram>>;

/** Creates the logger of a program from its configuration. */
export const loggerOf = (program: string, config: EveryProgram): Logger =>
  createLogger({
    level: config.LOG_LEVEL,
    format: config.LOG_FORMAT,
    program,
    pod: config.POD_NAME === undefined ? undefined : `${config.POD_NAMESPACE}/${config.POD_NAME}`,
  });

/** For programs with debug pages. */
export const debugEndpoints = () =>
  flag({
    default: "false",
    about: "Serve /debug/* to every client; otherwise only to this machine and to bearer tokens that may get the path.",
  });

/** Variables of the operator that an extender takes from it if they are not set. */
export const sharedVariables = [
  "POWER_PROFILE_LABEL",
  "DRAINING_LABEL",
  "TWIN_STALENESS_THRESHOLD",
  "SLEEP_MODE",
] as const;
export type SharedVariable = (typeof sharedVariables)[number];

/** The variable PRESET of a program. */
export const preset = (program: PresetProgram) =>
  choice(presetNames, {
    default: DEFAULT_PRESET,
    sets: (name) => presetVariables(name, program),
    about: "What the whole installation is for. Sets other variables unless they are set themselves; see Presets.",
  });

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
