import { logFormats, logLevels } from "../log/index.ts";
import { group } from "./variable.ts";
import { choice, flag, objectName, path } from "./variable-types.ts";

export const EVERY_PROGRAM = "Every program";

/** The variables that every program reads. */
export const everyProgram = group(EVERY_PROGRAM, {
  LOG_LEVEL: choice(logLevels, { default: "info", about: "The lowest level of log lines to write." }),
  LOG_FORMAT: choice(logFormats, {
    derived: { text: "json, pretty on a terminal", from: (_, machine) => (machine.isTerminal ? "pretty" : "json") },
    about: "Log format: JSON for machines, or coloured text for people.",
  }),
  KUBECONFIG: path({ about: "The kubeconfig file for the cluster; unset = the service account of the pod." }),
  KUBE_ALLOW_INSECURE_TOKEN: flag({
    default: "false",
    about: "Allow sending a kubeconfig's token or password over http://; loopback is always allowed.",
  }),
  POD_NAME: objectName({
    about: "The name of this pod, from the downward API; used as leader identity and for sharding.",
  }),
  POD_NAMESPACE: objectName({
    default: "joulie-system",
    about: "The namespace of this pod; the leader lease is created there.",
  }),
});

/** For programs with debug pages. */
export const debugEndpoints = () =>
  flag({
    default: "false",
    about: "Serve /debug/* to every client; otherwise only to this machine and to bearer tokens that may get the path.",
  });
