import { Argument, type Command } from "commander";
import type { CommandTools } from "./command-tools.ts";
import { completedWords, completionScripts, type Shell, shells } from "./completion.ts";
import { versionText } from "./version.ts";

export function defineVersion(command: Command, { world }: CommandTools): void {
  command
    .option("--json", "print JSON for programs")
    .action(({ json = false }: { json?: boolean }) => world.out(versionText(json)));
}

const COMPLETION_HELP = `
Try it in this shell:
  bash   source <(joulie completion bash)
  zsh    source <(joulie completion zsh)
  fish   joulie completion fish | source
To keep it, write it to a file that your shell reads at its start.`;

export function defineCompletion(command: Command, { world, commandAt }: CommandTools): void {
  command
    .addArgument(new Argument("<shell>", "the shell it is for").choices([...shells, "words"]))
    .argument("[words...]", "what is typed so far, after `words`: the scripts ask for it")
    .addHelpText("after", COMPLETION_HELP)
    .action(async (asked: Shell | "words", typed: readonly string[]) =>
      world.out(asked === "words" ? await completedWords(commandAt, typed) : completionScripts[asked]),
    );
}
