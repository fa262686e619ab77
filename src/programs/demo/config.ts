import type * as z from "zod";
import { policyTypes } from "../../core/policy/index.ts";
import {
  choice,
  configOf,
  duration,
  flag,
  flagsOnly,
  group,
  integer,
  number,
  path,
} from "../../platform/config/index.ts";
import { logLevels } from "../../platform/log/index.ts";

/** Nodes times speed that 2 cores can serve with some reserve: the load grows with both. */
const NODE_SPEED = 2400;
const FASTEST = 60;

export const demoConfig = configOf({
  ...flagsOnly("The demo", {
    NODES: integer({ min: 2, max: 10_000, default: "40", about: "How many nodes the simulated cluster has." }),
    POLICY: choice(policyTypes, {
      default: "queue_aware_v1",
      about: "The operator's algorithm that decides which nodes are performance and which are eco.",
    }),
    SPEED: number({
      above: 0,
      max: 600,
      derived: {
        text: `${FASTEST}; less for more than ${NODE_SPEED / FASTEST} nodes`,
        from: ({ NODES }) => String(Math.min(FASTEST, Math.max(1, Math.floor(NODE_SPEED / Number(NODES))))),
      },
      about: "Simulated seconds per second. It is lowered where this machine cannot hold it.",
    }),
    DURATION: duration({ about: "How long it runs, in real time; unset = until q or Ctrl-C." }),
    JSON: flag({ default: "false", about: "Prints one JSON object at the end, and nothing else to standard output." }),
    SEED: integer({
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
      default: "1",
      about: "The same seed gives the same nodes and jobs.",
    }),
  }),
  ...flagsOnly("A real cluster", {
    // Read from the flag only. With KUBECONFIG from the environment a plain `joulie demo` would add simulated nodes
    // to the user's real cluster.
    KUBECONFIG: path({
      about:
        "Runs against this cluster instead of an embedded one: brings simulated nodes, and takes them away at the end.",
    }),
    KUBE_ALLOW_INSECURE_TOKEN: flag({
      default: "false",
      about: "Sends the kubeconfig's token or password over http:// as well; loopback needs no permission.",
    }),
  }),
  ...group("Log lines", {
    LOG_LEVEL: choice(logLevels, {
      about: "Where set, lines of the programs go to standard error from this level on; unset = to a file.",
    }),
  }),
});

export type DemoConfig = z.output<typeof demoConfig>;
