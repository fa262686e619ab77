import { type Command, Option } from "commander";
import type { ErrorCode } from "../../core/api/index.ts";
import {
  type ConfigSchema,
  FLAG_WORD,
  flagOf,
  grouped,
  parseConfig,
  type Texts,
  type VariableFacts,
  variableNames,
} from "../../platform/config/index.ts";
import { printableLine } from "../../platform/log/index.ts";
import type { Program } from "../index.ts";
import { printedConfig } from "./print-config.ts";
import { exitCodes, type World } from "./world.ts";

/** Every variable as a flag, under its heading. */
export function addFlags(command: Command, config: ConfigSchema): void {
  command.option("--print-config", "print every value in effect and its source, then exit");
  for (const { title, variables } of grouped(config)) {
    for (const { name, facts } of variables) command.addOption(flagOption(name, facts).helpGroup(`${title}:`));
  }
}

function flagOption(name: string, facts: VariableFacts): Option {
  // A bare `--simulate-only` is true; every other flag takes a value.
  const value = facts.word === FLAG_WORD ? `[${facts.word}]` : `<${facts.word}>`;
  const byDefault = facts.derived?.text ?? facts.default;
  const about = byDefault === undefined ? facts.about : `${facts.about} (default: ${byDefault})`;
  return new Option(`${flagOf(name)} ${value}`, about);
}

/** The flags that were given, by the names of their variables. */
function flagTexts(command: Command, config: ConfigSchema): Texts {
  const values = command.opts<Record<string, unknown>>();
  const texts: Record<string, string> = {};
  for (const name of variableNames(config)) {
    const option = command.options.find(({ long }) => long === flagOf(name));
    const value = option === undefined ? undefined : values[option.attributeName()];
    if (value === true) texts[name] = "true";
    if (typeof value === "string") texts[name] = value;
  }
  return texts;
}

/** Reads the configuration, then says what is wrong with it, prints it, or starts the program with it. */
export async function runProgram(
  program: Program,
  name: string,
  programs: readonly Program[],
  command: Command,
  world: World,
): Promise<number> {
  const say = (message: string, code?: ErrorCode): void =>
    world.err(printableLine(`${name}: ${message}${code === undefined ? "" : ` (${code})`}\n`));
  const config = await program.config();
  const inputs = { env: world.env, flags: flagTexts(command, config), machine: world.machine };
  let parsed = parseConfig(config, inputs);
  // A name that looks like a slip may be another program's own. Their configurations are loaded for that alone: a program
  // would keep them in memory as long as it runs.
  if (warningsOf(parsed).length > 0) {
    const everyConfig = await Promise.all(programs.map(async (other) => other.config()));
    parsed = parseConfig(config, { ...inputs, known: everyConfig.flatMap(variableNames) });
  }
  for (const warning of warningsOf(parsed)) say(`warning: ${warning}`);
  if (!parsed.ok) {
    for (const { message } of parsed.error.problems) say(message, "JOULIE_E_CONFIG_VALUE");
    return exitCodes.misused;
  }
  if (command.opts()["printConfig"] === true) {
    world.out(printedConfig(parsed.value));
    return exitCodes.done;
  }
  if (program.start === undefined) {
    const hint = "--print-config shows what it would run with";
    say(`this version does not have this program yet; ${hint}`, "JOULIE_E_PROGRAM_ABSENT");
    return exitCodes.failed;
  }
  return program.start(parsed.value.values);
}

const warningsOf = (parsed: ReturnType<typeof parseConfig>): readonly string[] =>
  (parsed.ok ? parsed.value : parsed.error).warnings;
