import process from "node:process";
import { Argument, type Command } from "commander";
import packageJson from "../../../package.json" with { type: "json" };
import type { CommandTools } from "./cluster-command.ts";
import { completedWords, completionScripts, type Shell, shells } from "./completion.ts";

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
To keep it, write it to a file that your shell reads at its start. It runs \`joulie\`, which must be in PATH.`;

export function defineCompletion(command: Command, { world, commandAt }: CommandTools): void {
  command
    .addArgument(new Argument("<shell>", "the shell it is for").choices([...shells, "words"]))
    .argument("[words...]", "what is typed so far, after `words`: the scripts ask for it")
    .addHelpText("after", COMPLETION_HELP)
    .action(async (asked: Shell | "words", typed: readonly string[]) =>
      world.out(asked === "words" ? await completedWords(commandAt, typed) : completionScripts[asked]),
    );
}

export function versionText(json: boolean): string {
  const { platform, arch } = process;
  const facts = { version: packageJson.version, node: process.versions.node, platform, arch };
  if (json) return `${JSON.stringify(facts)}\n`;
  return `joulie ${facts.version}\nNode ${facts.node}\n${platform} ${arch}\n`;
}
