import type { Command, Option } from "commander";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** Value of a flag: one of these words, a file, or free text. */
type Value = readonly string[] | "file" | "any";

interface Flag {
  readonly name: string;
  readonly about: string;
  /** Undefined for flags without a value. */
  readonly value: Value | undefined;
  /** False for switches, which are true without a value. */
  readonly mustHaveValue: boolean;
}

interface Word {
  readonly name: string;
  readonly about: string;
}

/** A position on the command line: `joulie agent probe` is `/agent/probe`. */
interface Place {
  readonly path: string;
  readonly words: readonly Word[];
  readonly flags: readonly Flag[];
}

/** Generates a shell script from the defined commands and flags, so that it always agrees with `--help`. */
export function completionScript(shell: Shell, joulie: Command): string {
  const places = placesOf(joulie, "");
  const head = `# ${shell} completion of joulie ${joulie.version() ?? ""}, written by: joulie completion ${shell}\n`;
  return { bash, zsh, fish }[shell](head, places);
}

function placesOf(command: Command, path: string): Place[] {
  const children = command.commands.map((child) => ({ name: child.name(), about: child.description(), child }));
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  const words = [...children, ...choices.map((name) => ({ name, about: "" }))];
  const help: Flag = { name: "--help", about: "print this help", value: undefined, mustHaveValue: false };
  const here: Place = {
    path,
    words: words.map(({ name, about }) => ({ name, about })),
    flags: [...command.options.map(flagOf), help],
  };
  return [
    here,
    ...children.flatMap(({ name, child }) =>
      [name, ...child.aliases()].flatMap((one) => placesOf(child, `${path}/${one}`)),
    ),
  ];
}

function flagOf({ long, description, flags, required, optional }: Option): Flag {
  const word = /[<[](.*)[>\]]/.exec(flags)?.[1] ?? "";
  const value = word === "path" ? "file" : word.includes("|") ? word.split("|") : "any";
  return {
    name: long ?? "",
    about: description,
    value: required || optional ? value : undefined,
    mustHaveValue: required,
  };
}

/** Single quotes prevent expansion in all three shells. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const lines = (parts: readonly string[]): string => `${parts.join("\n")}\n`;

const bash = (head: string, places: readonly Place[]): string =>
  head +
  lines([
    "_joulie_words() {",
    '  case "$1" in',
    ...places.map(({ path, words, flags }) => {
      const names = [...words, ...flags].map(({ name }) => name).join(" ");
      return `    ${quoted(path)}) echo ${quoted(names)} ;;`;
    }),
    "  esac",
    "}",
    "_joulie_values() {",
    '  case "$1 $2" in',
    ...places.flatMap(({ path, flags }) =>
      flags.flatMap(({ name, value }) => {
        if (value === undefined) return [];
        return [
          `    ${quoted(`${path} ${name}`)}) echo ${quoted(typeof value === "string" ? value : value.join(" "))} ;;`,
        ];
      }),
    ),
    "  esac",
    "}",
    "_joulie() {",
    '  local current="${COMP_WORDS[COMP_CWORD]}" flag="${COMP_WORDS[COMP_CWORD-1]}" place="" word values',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    case "$word" in -*) break ;; esac',
    '    place="$place/$word"',
    "  done",
    "  # bash takes --flag=value apart at the equals sign.",
    '  if [ "$current" = "=" ]; then current=""; elif [ "$flag" = "=" ]; then flag="${COMP_WORDS[COMP_CWORD-2]}"; fi',
    '  values="$(_joulie_values "$place" "$flag")"',
    '  case "$current" in -*) values="" ;; esac',
    '  case "$values" in',
    '    file) COMPREPLY=($(compgen -f -- "$current")) ;;',
    "    any) COMPREPLY=() ;;",
    '    "") COMPREPLY=($(compgen -W "$(_joulie_words "$place")" -- "$current")) ;;',
    '    *) COMPREPLY=($(compgen -W "$values" -- "$current")) ;;',
    "  esac",
    "}",
    "complete -o filenames -F _joulie joulie",
  ]);

/** `name:about`; colons in the name are escaped. */
const described = ({ name, about }: Word): string => quoted(`${name.replaceAll(":", String.raw`\:`)}:${about}`);

const zsh = (head: string, places: readonly Place[]): string =>
  "#compdef joulie\n" +
  head +
  lines([
    "_joulie() {",
    "  local place='' flag='' word",
    "  local -a commands options",
    '  for word in "${(@)words[2,CURRENT-1]}"; do',
    '    [[ "$word" == -* ]] && break',
    '    place="$place/$word"',
    "  done",
    '  flag="$words[CURRENT-1]"',
    '  if [[ "$PREFIX" == --*=* ]]; then flag="${PREFIX%%=*}"; compset -P "*="; elif [[ "$PREFIX" == -* ]]; then flag=""; fi',
    '  case "$place $flag" in',
    ...places.flatMap(({ path, flags }) =>
      flags.flatMap(({ name, value }) => {
        if (value === undefined) return [];
        const action =
          value === "file" ? "_files" : value === "any" ? "true" : `compadd -- ${value.map(quoted).join(" ")}`;
        return [`    ${quoted(`${path} ${name}`)}) ${action}; return ;;`];
      }),
    ),
    "  esac",
    '  case "$place" in',
    ...places.map(
      ({ path, words, flags }) =>
        `    ${quoted(path)}) commands=(${words.map(described).join(" ")}); options=(${flags.map(described).join(" ")}) ;;`,
    ),
    "  esac",
    "  (( $#commands )) && _describe 'command' commands",
    "  (( $#options )) && _describe -o 'option' options",
    "}",
    'if [ "$funcstack[1]" = "_joulie" ]; then _joulie "$@"; else compdef _joulie joulie; fi',
  ]);

/** fish treats a backslash in single quotes as an escape as well. */
const fishQuoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", String.raw`\'`)}'`;

const fish = (head: string, places: readonly Place[]): string =>
  head +
  lines([
    "function __joulie_at",
    "    set -l place ''",
    "    set -l typed (commandline -opc)",
    "    for word in $typed[2..-1]",
    "        if string match -q -- '-*' $word",
    "            break",
    "        end",
    '        set place "$place/$word"',
    "    end",
    '    test "$place" = "$argv[1]"',
    "end",
    "complete -c joulie -f",
    ...places.flatMap(({ path, words, flags }) => {
      const here = `complete -c joulie -n ${fishQuoted(`__joulie_at "${path}"`)}`;
      return [
        ...words.map(({ name, about }) => `${here} -a ${fishQuoted(name)} -d ${fishQuoted(about)}`),
        ...flags.map(({ name, about, value, mustHaveValue }) => {
          const words = Array.isArray(value) ? ` -a ${fishQuoted(value.join(" "))}` : "";
          const after = !mustHaveValue ? "" : value === "file" ? " -r -F" : ` -x${words}`;
          return `${here} -l ${name.slice(2)}${after} -d ${fishQuoted(about)}`;
        }),
      ];
    }),
  ]);
