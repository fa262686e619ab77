import type { Command, Option } from "commander";
import type { CommandTools } from "./cluster-command.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** Each script asks `joulie completion words` at each Tab, so that it always agrees with `--help`. */
export const completionScripts: Readonly<Record<Shell, string>> = {
  bash: `_joulie() {
  local IFS=$'\\n'
  COMPREPLY=($(joulie completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  COMPREPLY=("\${COMPREPLY[@]%%$'\\t'*}")
}
complete -o default -F _joulie joulie
`,
  zsh: `#compdef joulie
_joulie() {
  local -a found
  found=("\${(@f)$(joulie completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("\${(@)found//$'\\t'/:}")
  if [[ -n "$found" ]]; then _describe joulie found; else _files; fi
}
if [ "$funcstack[1]" = "_joulie" ]; then _joulie "$@"; else compdef _joulie joulie; fi
`,
  fish: `complete -c joulie -a '(joulie completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
};

type CommandAt = CommandTools["commandAt"];

interface Candidate {
  readonly name: string;
  readonly about: string;
}

export async function completedWords(commandAt: CommandAt, words: readonly string[]): Promise<string> {
  const candidates = await candidatesFor(commandAt, words);
  return candidates.map(({ name, about }) => (about === "" ? `${name}\n` : `${name}\t${about}\n`)).join("");
}

async function candidatesFor(commandAt: CommandAt, given: readonly string[]): Promise<readonly Candidate[]> {
  // bash takes --flag=value apart at the equals sign; zsh and fish do not.
  const isOpen = given.at(-1) === "=";
  const words = given.filter((word) => word !== "=");
  const current = isOpen ? "" : (words.pop() ?? "");
  const [, inlineFlag, inlineStart = ""] = /^(--[^=]+)=(.*)$/.exec(current) ?? [];

  const firstFlag = words.findIndex((word) => word.startsWith("-"));
  const command = await commandAt(firstFlag < 0 ? words : words.slice(0, firstFlag));
  if (command === undefined) return [];

  const valuesAfter = (name: string | undefined): readonly string[] | undefined =>
    valuesOf(command.options.find(({ long }) => long !== undefined && long === name));
  if (inlineFlag !== undefined) {
    const matching = valuesAfter(inlineFlag)?.filter((value) => value.startsWith(inlineStart)) ?? [];
    return matching.map((value) => ({ name: `${inlineFlag}=${value}`, about: "" }));
  }
  const values = current.startsWith("-") ? undefined : valuesAfter(words.at(-1));
  const candidates = values?.map((name) => ({ name, about: "" })) ?? wordsAndFlags(command);
  return candidates.filter(({ name }) => name.startsWith(current));
}

function wordsAndFlags(command: Command): readonly Candidate[] {
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  return [
    ...command.commands.map((child) => ({ name: child.name(), about: child.description() })),
    ...choices.map((name) => ({ name, about: "" })),
    ...command.options.map(({ long, description }) => ({ name: long ?? "", about: description })),
    { name: "--help", about: "print this help" },
  ];
}

/** The values that the help lists, `<headroom|energy>`. Empty if it lists none; undefined for a flag without a value. */
function valuesOf(option: Option | undefined): readonly string[] | undefined {
  if (option === undefined || !(option.required || option.optional)) return undefined;
  const word = /[<[](.*)[>\]]/.exec(option.flags)?.[1] ?? "";
  return word.includes("|") ? word.split("|") : [];
}
