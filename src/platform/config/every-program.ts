import type * as z from "zod";
import { createLogger, type Logger, logFormats, logLevels } from "../log/index.ts";
import { choice, flag, objectName, path } from "./kinds.ts";
import { group } from "./variable.ts";

export const EVERY_PROGRAM = "Every program";

/** The variables that every program reads. */
export const everyProgram = group(EVERY_PROGRAM, {
  LOG_LEVEL: choice(logLevels, { default: "info", about: "The least important log lines that are still written." }),
  LOG_FORMAT: choice(logFormats, {
    derived: { text: "json, pretty on a terminal", from: (_, machine) => (machine.isTerminal ? "pretty" : "json") },
    about: "Log lines as JSON for machines, or coloured text for people.",
  }),
  KUBECONFIG: path({ about: "The kubeconfig file to reach the cluster by; unset = the pod's own service account." }),
  KUBE_ALLOW_INSECURE_TOKEN: flag({
    default: "false",
    about: "Send a kubeconfig's token or password over http:// as well; loopback needs no permission.",
  }),
  POD_NAME: objectName({
    about:
      "The name of the pod this runs in, from the downward API; it names the leader and the shard, and marks log lines.",
  }),
  POD_NAMESPACE: objectName({
    default: "joulie-system",
    about: "The namespace this runs in; the leader lease lives there, and log lines name it beside POD_NAME.",
  }),
});

type EveryProgram = z.output<z.ZodObject<typeof everyProgram>>;

/** Where a program's log lines go, and from which level on. */
export const loggerOf = (program: string, config: EveryProgram): Logger =>
  createLogger({
    level: config.LOG_LEVEL,
    format: config.LOG_FORMAT,
    program,
    pod: config.POD_NAME === undefined ? undefined : `${config.POD_NAMESPACE}/${config.POD_NAME}`,
  });

/** Of programs with debug pages. */
export const debugEndpoints = () =>
  flag({
    default: "false",
    about: "Serve /debug/* to every client; else to this machine, and to bearer tokens that may get the path.",
  });
