import type { Command } from "commander";
import { contextOption, kubeconfigOption, onCluster } from "./cluster-command.ts";
import type { CliEnvironment, CommandTools } from "./command-tools.ts";

const HELP = `
Helm installs the CustomResourceDefinitions of a chart, but never upgrades them. This applies those of this
version by server-side apply. Existing objects stay. The chart runs it before an upgrade with crds.upgrade=true.`;

/** `joulie crds apply`. */
export function defineCrds(command: Command, { prepare, world, exit }: CommandTools): void {
  prepare(command.command("apply").helpCommand(false), "joulie crds apply")
    .description("Applies the CustomResourceDefinitions of this version.")
    .addOption(contextOption())
    .addOption(kubeconfigOption())
    .addHelpText("after", HELP)
    .action(async (options: ApplyOptions) => exit(await apply(options, world)));
}

interface ApplyOptions {
  readonly context?: string;
  readonly kubeconfig?: string;
}

async function apply({ context, kubeconfig }: ApplyOptions, world: CliEnvironment): Promise<number> {
  const { applyCrds } = await import("../crds/index.ts");
  const command = { name: "crds apply", fieldManager: "joulie-crds", kubeconfig, context };
  return onCluster(command, world, async ({ client }) => {
    world.out(`joulie crds apply: applied ${(await applyCrds(client)).join(", ")}\n`);
    return undefined;
  });
}
