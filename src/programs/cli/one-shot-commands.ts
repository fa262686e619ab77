import type { Command } from "commander";
import type { CommandTools } from "./cluster-command.ts";

type Define = (command: Command, tools: CommandTools) => void;

export interface OneShotCommand {
  readonly name: string;
  readonly summary: string;
  /** Loaded only when it is used, like the configuration of programs: `--help` and `--version` stay fast. */
  readonly load: () => Promise<Define>;
}

export const oneShotCommands: readonly OneShotCommand[] = [
  {
    name: "version",
    summary: "Prints the version of Joulie, of Node and the platform.",
    load: async () => (await import("./built-in-commands.ts")).defineVersion,
  },
  {
    name: "install",
    summary: "Looks at the cluster and prints the commands that install Joulie there, or runs them.",
    load: async () => (await import("./install-command.ts")).defineInstall,
  },
  {
    name: "scheduler-config",
    summary: "Prints the KubeSchedulerConfiguration that makes kube-scheduler ask the installed extender.",
    load: async () => (await import("./scheduler-config.ts")).defineSchedulerConfig,
  },
  {
    name: "status",
    summary: "Shows problems first, each with the command that helps, then power, nodes and pods.",
    load: async () => (await import("./reading-commands.ts")).defineStatus,
  },
  {
    name: "node",
    summary: "Lists nodes, or shows one: hardware, target, twin, control, pods and history.",
    load: async () => (await import("./reading-commands.ts")).defineNode,
  },
  {
    name: "why",
    summary: "Explains why a pod is on its node, or why it has none, node by node.",
    load: async () => (await import("./reading-commands.ts")).defineWhy,
  },
  {
    name: "plan",
    summary: "Shows which nodes change next, and why, as the operator has decided.",
    load: async () => (await import("./reading-commands.ts")).definePlan,
  },
  {
    name: "top",
    summary: "Shows nodes live: power, caps and trends, sorted, filtered and grouped by rack.",
    load: async () => (await import("./reading-commands.ts")).defineTop,
  },
  {
    name: "savings",
    summary: "Reports energy by node and class, and energy not used compared with a model.",
    load: async () => (await import("./savings-command.ts")).defineSavings,
  },
  {
    name: "doctor",
    summary: "Examines an installation: CRDs, permissions, extender, agents, twins, versions, clocks and mounts.",
    load: async () => (await import("./reading-commands.ts")).defineDoctor,
  },
  {
    name: "support-bundle",
    summary: "Writes a .tar.gz with what a maintainer asks for, without Secrets and credentials.",
    load: async () => (await import("./reading-commands.ts")).defineSupportBundle,
  },
  {
    name: "pin",
    summary: "Pins a node to a profile, and to caps if they are given.",
    load: async () => (await import("./changing-commands.ts")).definePin,
  },
  {
    name: "unpin",
    summary: "Removes the pin of a node.",
    load: async () => (await import("./changing-commands.ts")).defineUnpin,
  },
  {
    name: "stop",
    summary: "Stops Joulie: agents restore all original limits, and nothing changes until resume.",
    load: async () => (await import("./changing-commands.ts")).defineStop,
  },
  {
    name: "resume",
    summary: "Lets Joulie work again after stop.",
    load: async () => (await import("./changing-commands.ts")).defineResume,
  },
  {
    name: "check",
    summary: "Reports in one line what an installation lacks.",
    load: async () => (await import("./installation-commands.ts")).defineCheck,
  },
  {
    name: "crds",
    summary: "Installs or upgrades Joulie's CustomResourceDefinitions.",
    load: async () => (await import("./installation-commands.ts")).defineCrds,
  },
  {
    name: "uninstall",
    summary: "Restores all original limits and removes what Joulie wrote to the cluster.",
    load: async () => (await import("./installation-commands.ts")).defineUninstall,
  },
  {
    name: "wake",
    summary: "Wakes sleeping nodes and keeps them awake.",
    load: async () => (await import("./power-commands.ts")).defineWake,
  },
  {
    name: "completion",
    summary: "Prints a script that completes commands and flags in your shell.",
    load: async () => (await import("./built-in-commands.ts")).defineCompletion,
  },
];

/** One-shot commands below a program, by the name of the program: `joulie power test`. */
export const programSubcommands: Readonly<Record<string, readonly OneShotCommand[]>> = {
  power: [
    {
      name: "import",
      summary: "Describes the switches of many machines: from a list, from a pattern, or from BareMetalHosts.",
      load: async () => (await import("./power-import.ts")).definePowerImport,
    },
    {
      name: "test",
      summary: "Proves that nodes can be woken: switches them off and on.",
      load: async () => (await import("./power-commands.ts")).definePowerTest,
    },
  ],
};
