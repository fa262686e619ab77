import type * as z from "zod";
import type { ConfigSchema, ParsedConfig } from "../platform/config/index.ts";
import type { MetricDefinition } from "../platform/metrics/index.ts";

/** One subcommand of `joulie`. */
export interface Program<Config extends ConfigSchema = ConfigSchema> {
  readonly name: string;
  readonly summary: string;
  /** The variables that it reads. Imported on demand, like everything in `start`, to keep `--help` fast. */
  config(): Promise<Config>;
  metrics?(): Promise<Readonly<Record<string, MetricDefinition>>>;
  readonly actions?: readonly Program[];
  start(config: z.output<Config>, sources: ParsedConfig<unknown>["sources"]): Promise<number>;
}

/** Checks a definition without losing the type of its configuration. */
const program = <Config extends ConfigSchema>(definition: Program<Config>): Program<Config> => definition;

export const programs: readonly Program[] = [
  program({
    name: "operator",
    summary: "Plans which nodes run at performance and which at eco, and publishes each node's twin.",
    config: async () => (await import("./operator/config.ts")).operatorConfig,
    metrics: async () => (await import("./operator/metrics/definitions.ts")).definitions,
    start: async (config) => (await import("./operator/start.ts")).start(config),
  }),
  program({
    name: "agent",
    summary: "Enforces power caps on nodes and reports their hardware and power.",
    config: async () => (await import("./agent/config.ts")).agentConfig,
    metrics: async () => (await import("./agent/report/metrics.ts")).definitions,
    start: async (config) => (await import("./agent/start.ts")).start(config),
    actions: [
      program({
        name: "probe",
        summary: "Shows what this machine offers, and what caps would do on it; needs no cluster and changes nothing.",
        config: async () => (await import("./agent/config.ts")).probeConfig,
        start: async (config) => (await import("./agent/probe/probe.ts")).probe(config),
      }),
      program({
        name: "restore",
        summary: "Puts back the limits that an agent which no longer runs has left in force.",
        config: async () => (await import("./agent/config.ts")).restoreConfig,
        start: async (config) => (await import("./agent/restore/restore.ts")).restore(config),
      }),
    ],
  }),
  program({
    name: "extender",
    summary: "Filters and scores nodes for kube-scheduler by power, heat and class.",
    config: async () => (await import("./extender/config.ts")).extenderConfig,
    metrics: async () => (await import("./extender/metrics.ts")).definitions,
    start: async (config, sources) => (await import("./extender/start.ts")).start(config, sources),
  }),
  program({
    name: "power",
    summary: "Switches sleeping nodes off and on through their BMCs; off unless it is installed.",
    config: async () => (await import("./power/config.ts")).powerConfig,
    metrics: async () => (await import("./power/report/metrics.ts")).definitions,
    start: async (config) => (await import("./power/start.ts")).start(config),
  }),
  program({
    name: "dashboard",
    summary: "Serves a live page of the cluster: problems, power, nodes, decisions and savings; read-only.",
    config: async () => (await import("./dashboard/config.ts")).dashboardConfig,
    metrics: async () => (await import("./dashboard/metrics.ts")).definitions,
    start: async (config) => (await import("./dashboard/start.ts")).start(config),
  }),
  program({
    name: "simulate",
    summary: "Replays a trace or a seeded workload on a described cluster and reports energy, waits and peaks.",
    config: async () => (await import("./simulate/config.ts")).simulateConfig,
    start: async (config) => (await import("./simulate/start.ts")).start(config),
  }),
  program({
    name: "fleet",
    summary: "Puts simulated nodes into a cluster and serves their telemetry, control and facility metrics.",
    config: async () => (await import("./fleet/config.ts")).fleetConfig,
    metrics: async () => (await import("./fleet/pages/metrics.ts")).definitions,
    start: async (config) => (await import("./fleet/start.ts")).start(config),
  }),
  program({
    name: "demo",
    summary: "Runs a whole power-managed cluster in one process, with no cluster needed.",
    config: async () => (await import("./demo/config.ts")).demoConfig,
    start: async (config) => (await import("./demo/start.ts")).start(config),
  }),
];
