import type { Command } from "commander";
import type { Program } from "../index.ts";
import type { CommandTools } from "./command-tools.ts";
import type { Add } from "./console-commands.ts";

/** Adds arguments, options and the action. */
type Define = (command: Command, tools: CommandTools) => void;

/** A command that does one thing and ends, unlike the programs, which run until they are stopped. */
export interface OneShotCommand {
  readonly name: string;
  readonly summary: string;
  /** Loaded only when it is used, like the configuration of programs: `--help` and `--version` stay fast. */
  readonly load: () => Promise<Define>;
}

type AddAll = (add: Add, exit: CommandTools["exit"], programs: readonly Program[]) => void;

/** One command of a file that defines several. */
const oneOf = (name: string, load: () => Promise<AddAll>): OneShotCommand["load"] => {
  return async () => {
    const addAll = await load();
    return (command, { world, exit, programs }) =>
      addAll((each, define) => (each === name ? define(command, world) : undefined), exit, programs);
  };
};
const reading = (name: string, summary: string): OneShotCommand => ({
  name,
  summary,
  load: oneOf(name, async () => (await import("./console-commands.ts")).addReadingCommands),
});
const inspecting = (name: string, summary: string): OneShotCommand => ({
  name,
  summary,
  load: oneOf(name, async () => (await import("./console-actions.ts")).addInspectingCommands),
});
const changing = (name: string, summary: string): OneShotCommand => ({
  name,
  summary,
  load: oneOf(name, async () => (await import("./console-actions.ts")).addChangingCommands),
});

export const oneShotCommands: readonly OneShotCommand[] = [
  {
    name: "version",
    summary: "Prints the version of Joulie, of Node and the platform.",
    load: async () => (await import("./built-in-commands.ts")).defineVersion,
  },
  {
    name: "scheduler-config",
    summary: "Prints the KubeSchedulerConfiguration that makes kube-scheduler ask the installed extender.",
    load: async () => (await import("./scheduler-config.ts")).defineSchedulerConfig,
  },
  reading("status", "Shows problems first, each with the command that helps, then power, nodes and pods."),
  reading("node", "Lists nodes, or shows one: hardware, target, twin, control, pods and history."),
  reading("why", "Explains why a pod is on its node, or why it has none, node by node."),
  reading("plan", "Shows which nodes change next, and why, as the operator has decided."),
  inspecting("top", "Shows nodes live: power, caps and trends, sorted, filtered and grouped by rack."),
  inspecting("savings", "Reports energy by node and class, and energy not used compared with a model."),
  inspecting(
    "doctor",
    "Examines an installation: CRDs, permissions, extender, agents, twins, versions, clocks and mounts.",
  ),
  inspecting("support-bundle", "Writes a .tar.gz with what a maintainer asks for, without Secrets and credentials."),
  changing("pin", "Pins a node to a profile, and to caps if they are given."),
  changing("unpin", "Removes the pin of a node."),
  changing("stop", "Stops Joulie: agents restore all original limits, and nothing changes until resume."),
  changing("resume", "Lets Joulie work again after stop."),
  {
    name: "check",
    summary: "Reports in one line what an installation lacks.",
    load: async () => (await import("./check.ts")).defineCheck,
  },
  {
    name: "crds",
    summary: "Installs or upgrades Joulie's CustomResourceDefinitions.",
    load: async () => (await import("./crds.ts")).defineCrds,
  },
  {
    name: "uninstall",
    summary: "Restores all original limits and removes what Joulie wrote to the cluster.",
    load: async () => (await import("./uninstall.ts")).defineUninstall,
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
      name: "test",
      summary: "Proves that a node can be woken: switches it off and on.",
      load: async () => (await import("./power-commands.ts")).definePowerTest,
    },
  ],
};
