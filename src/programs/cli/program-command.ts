import { type Command, Option } from "commander";
import { type ErrorCode, JoulieError } from "../../core/api/index.ts";
import { renderTable } from "../../core/units/index.ts";
import {
  type ConfigSchema,
  FLAG_WORD,
  flagOf,
  grouped,
  type ParsedConfig,
  parseConfig,
  type RawValues,
  type VariableFacts,
  variableNames,
} from "../../platform/config/index.ts";
import { printableLine } from "../../platform/log/index.ts";
import type { Program } from "../index.ts";
import { type CliEnvironment, exitCodes } from "./cluster-command.ts";

export function addFlags(command: Command, config: ConfigSchema): void {
  command.option("--print-config", "print every value in effect and its source, then exit");
  if (!Object.hasOwn(config.shape, "JSON")) command.option("--json", "with --print-config: print JSON for programs");
  for (const { title, variables } of grouped(config)) {
    for (const { name, facts } of variables) command.addOption(flagOption(name, facts).helpGroup(`${title}:`));
  }
}

function flagOption(name: string, facts: VariableFacts): Option {
  // A bare `--simulate-only` means true; every other flag takes a value.
  const value = facts.word === FLAG_WORD ? `[${facts.word}]` : `<${facts.word}>`;
  const byDefault = facts.derived?.text ?? facts.default;
  const about = byDefault === undefined ? facts.about : `${facts.about} (default: ${byDefault})`;
  return new Option(`${flagOf(name)} ${value}`, about);
}

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

/** Reads the configuration, then reports errors, prints it, or starts the program. */
export async function runProgram(
  program: Program,
  name: string,
  programs: readonly Program[],
  command: Command,
  world: CliEnvironment,
): Promise<number> {
  const say = (message: string, code?: ErrorCode): void =>
    world.err(printableLine(`${name}: ${message}${code === undefined ? "" : ` (${code})`}\n`));
  const config = await program.config();
  const given = command.opts<{ printConfig?: true; json?: unknown }>();
  if (given.json !== undefined && given.printConfig === undefined && !Object.hasOwn(config.shape, "JSON")) {
    say(`option '--json' requires --print-config; see ${name} --help`, "JOULIE_E_USAGE");
    return exitCodes.misused;
  }
  const inputs = { program: program.name, env: world.env, flags: flagTexts(command, config), machine: world.machine };
  let parsed = parseConfig(config, inputs);
  // A name that looks misspelt may belong to another program. The other configurations are loaded only in this case,
  // because they would stay in memory.
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
    world.out(asJson ? configJson(parsed.value) : configTable(parsed.value));
    return exitCodes.done;
  }
  try {
    return await program.start(parsed.value.values, parsed.value.sources);
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

function configTable({ sources, printable }: ParsedConfig<unknown>): string {
  const rows = Object.entries(sources).map(([name, source]) => [name, printable[name] ?? "(unset)", source]);
  return renderTable([["NAME", "VALUE", "SOURCE"], ...rows]);
}

/** Renders the same as JSON: `{"NAME": {"value": …, "source": …}}`. Unset variables have no value. */
function configJson({ sources, printable }: ParsedConfig<unknown>): string {
  const variables = Object.entries(sources).map(([name, source]) => [name, { value: printable[name], source }]);
  return `${JSON.stringify(Object.fromEntries(variables), undefined, 2)}\n`;
}
