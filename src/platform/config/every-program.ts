import { logFormats, logLevels } from "../log/index.ts";
import { choice, flag, objectName, path } from "./variable-types.ts";
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
    about: "The name of the pod this runs in, from the downward API; it names the leader and the shard.",
  }),
  POD_NAMESPACE: objectName({
    default: "joulie-system",
    about: "The namespace this runs in; the leader lease lives there.",
  }),
});

/** Of programs with debug pages. */
export const debugEndpoints = () =>
  flag({
    default: "false",
    about: "Serve /debug/* to every client; else to this machine, and to bearer tokens that may get the path.",
  });
