import { type Command, Option } from "commander";
import { type ErrorCode, JoulieError } from "../../core/api/index.ts";
import {
  type ConfigSchema,
  FLAG_WORD,
  flagOf,
  grouped,
  parseConfig,
  type RawValues,
  type VariableFacts,
  variableNames,
} from "../../platform/config/index.ts";
import { printableLine } from "../../platform/log/index.ts";
import type { Program } from "../index.ts";
import { jsonConfig, printedConfig } from "./print-config.ts";
import { exitCodes, type World } from "./world.ts";

/** Every variable as a flag, under its heading. */
export function addFlags(command: Command, config: ConfigSchema): void {
  command.option("--print-config", "print every value in effect and its source, then exit");
  if (!Object.hasOwn(config.shape, "JSON")) command.option("--json", "with --print-config: print JSON for programs");
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
function flagTexts(command: Command, config: ConfigSchema): RawValues {
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
  const given = command.opts<{ printConfig?: true; json?: unknown }>();
  if (given.json !== undefined && given.printConfig === undefined && !Object.hasOwn(config.shape, "JSON")) {
    say(`option '--json' goes with --print-config only; see ${name} --help`);
    return exitCodes.misused;
  }
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
  if (given.printConfig === true) {
    const asJson = given.json !== undefined && given.json !== "false";
    world.out(asJson ? jsonConfig(parsed.value) : printedConfig(parsed.value));
    return exitCodes.done;
  }
  if (program.start === undefined) {
    const hint = "--print-config shows what it would run with";
    say(`this version does not have this program yet; ${hint}`, "JOULIE_E_PROGRAM_ABSENT");
    return exitCodes.failed;
  }
  try {
    return await program.start(parsed.value.values);
  } catch (error) {
    if (!(error instanceof JoulieError)) throw error;
    say(error.message, error.code);
    return misconfigured.has(error.code) ? exitCodes.misused : exitCodes.failed;
  }
}

const misconfigured: ReadonlySet<ErrorCode> = new Set([
  "JOULIE_E_CONFIG_VALUE",
  "JOULIE_E_KUBECONFIG",
  "JOULIE_E_KUBE_IDENTITY",
]);

const warningsOf = (parsed: ReturnType<typeof parseConfig>): readonly string[] =>
  (parsed.ok ? parsed.value : parsed.error).warnings;
