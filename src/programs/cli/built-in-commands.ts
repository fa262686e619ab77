import { Argument, type Command } from "commander";
import { completionScript, type Shell, shells } from "./completion.ts";
import type { CliEnvironment } from "./environment.ts";
import { versionText } from "./version.ts";

export function defineVersion(command: Command, world: CliEnvironment): void {
  command
    .description("Prints the version of Joulie, of Node and the platform.")
    .option("--json", "print JSON for programs")
    .action(({ json = false }: { json?: boolean }) => world.out(versionText(json)));
}

const COMPLETION_HELP = `
Try it in this shell:
  bash   source <(joulie completion bash)
  zsh    source <(joulie completion zsh)
  fish   joulie completion fish | source
To keep it, write it to a file that your shell reads at its start.`;

/** `everything` returns the complete command line with the flags of each program. */
export function defineCompletion(command: Command, world: CliEnvironment, everything: () => Promise<Command>): void {
  command
    .description("Prints a script that completes commands and flags in your shell.")
    .addArgument(new Argument("<shell>", "the shell it is for").choices(shells))
    .addHelpText("after", COMPLETION_HELP)
    .action(async (shell: Shell) => world.out(completionScript(shell, await everything())));
}
