import type * as z from "zod";
import { fail, ok, type Result } from "../../core/units/index.ts";
import { printable } from "../log/index.ts";
import { misspeltVariableWarnings } from "./misspelt-variables.ts";
import { variableNames } from "./program.ts";
import { removedFrom, removedVariableWarnings } from "./removed-variables.ts";
import { type ConfigSchema, type DefaultContext, factsOf, flagOf, type RawValues } from "./variable.ts";

type Source = "flag" | "environment" | "preset" | "default" | "derived";

export interface ConfigInputs {
  /** For warnings about variables that it had in an earlier version. */
  readonly program?: string;
  readonly env: RawValues;
  /** By variable name, as in `env`. */
  readonly flags: RawValues;
  readonly machine: DefaultContext;
  /** The variables of all programs; they are never reported as typos. */
  readonly known?: Iterable<string>;
}

export interface ParsedConfig<Values> {
  /** Deeply frozen. */
  readonly values: Values;
  readonly sources: Readonly<Record<string, Source>>;
  /** The printable text of each value; variables without a value are missing. */
  readonly printable: RawValues;
  readonly warnings: readonly string[];
}

/** Why a program cannot start. A misspelt variable may cause a problem, so warnings are included. */
export interface RefusedConfig {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly string[];
}

interface ConfigProblem {
  readonly variable: string;
  /** One line: the variable or flag, its value, the problem and the allowed values. */
  readonly message: string;
}

const MAX_SHOWN_LENGTH = 160;

/**
 * Parses the configuration of a program. Flags override the environment, which overrides the preset, which overrides defaults.
 * Reports all problems at once.
 */
export function parseConfig<Config extends ConfigSchema>(
  config: Config,
  { program = "", env, flags, machine, known = [] }: ConfigInputs,
): Result<ParsedConfig<z.output<Config>>, RefusedConfig> {
  const names = variableNames(config);
  const { texts, sources } = resolve(config, flags, env, machine);
  const ofEnvironment = names.filter((name) => !factsFor(config, name).flagOnly);
  const removed = removedFrom(program);
  const warnings = [
    ...removedVariableWarnings(setIn(env), program),
    ...misspeltVariableWarnings(Object.keys(env), ofEnvironment, new Set([...names, ...known, ...removed])),
  ];
  const parsed = config.safeParse(texts);
  if (!parsed.success) {
    const words = wordsFor(config, texts, sources);
    return fail({ problems: parsed.error.issues.map((issue) => problemOf(config, issue, words)), warnings });
  }
  const printable: Record<string, string> = {};
  for (const name of names) {
    const text = texts[name];
    if (text !== undefined) printable[name] = factsFor(config, name).show(text);
  }
  return ok({
    values: frozen(parsed.data),
    sources: frozen(sources),
    printable: frozen(printable),
    warnings,
  });
}

const setIn = (env: RawValues): string[] => Object.keys(env).filter((name) => (env[name]?.trim() ?? "") !== "");

function resolve(config: ConfigSchema, flags: RawValues, env: RawValues, machine: DefaultContext) {
  const texts: Record<string, string | undefined> = {};
  const sources: Record<string, Source> = {};
  const set = (name: string, byPreset: RawValues): void => {
    const facts = factsFor(config, name);
    // A chart renders an unset value as an empty variable, so it counts as unset. An empty flag was typed and is validated.
    const candidates: readonly [Source, string | undefined][] = [
      ["flag", flags[name]?.trim()],
      ["environment", facts.flagOnly ? undefined : env[name]?.trim() || undefined],
      ["preset", byPreset[name]],
    ];
    const [source, text] = candidates.find(([, given]) => given !== undefined) ?? ["default" as const, facts.default];
    texts[name] = text;
    sources[name] = source;
  };
  const names = variableNames(config);
  const setters = names.filter((name) => factsFor(config, name).sets !== undefined);
  for (const name of setters) set(name, {});
  const byPreset = Object.assign({}, ...setters.map((name) => factsFor(config, name).sets?.(texts[name] ?? "")));
  for (const name of names) set(name, byPreset);
  const given = { ...texts };
  for (const name of variableNames(config)) {
    const { derived } = factsFor(config, name);
    if (derived === undefined || given[name] !== undefined) continue;
    texts[name] = derived.from(given, machine);
    sources[name] = "derived";
  }
  return { texts, sources };
}

interface Words {
  /** `NAME="text"`; for a derived value also what it was derived from. */
  assignment(name: string): string;
  /** How the default is derived, with the values it is derived from. */
  derivation(name: string): string;
}

function wordsFor(config: ConfigSchema, texts: RawValues, sources: Readonly<Record<string, Source>>): Words {
  const plain = (name: string): string => {
    const text = texts[name];
    const written = sources[name] === "flag" || factsFor(config, name).flagOnly ? flagOf(name) : name;
    return text === undefined ? `${written} (not set)` : `${written}=${quoted(config, name, text)}`;
  };
  const derivation = (name: string): string =>
    factsFor(config, name).derived?.text.replaceAll(/\b[A-Z][A-Z0-9_]+\b/g, (word) =>
      Object.hasOwn(config.shape, word) ? plain(word) : word,
    ) ?? "none";
  const assignment = (name: string): string =>
    sources[name] === "derived" && texts[name] !== undefined ? `${plain(name)} (${derivation(name)})` : plain(name);
  return { assignment, derivation };
}

function problemOf(config: ConfigSchema, issue: z.core.$ZodIssue, words: Words): ConfigProblem {
  const name = String(issue.path[0]);
  const facts = factsFor(config, name);
  const params = issue.code === "custom" ? issue.params : undefined;
  if (typeof params?.["allowed"] === "string") {
    const problem = issue.message.replaceAll(/\{([A-Z0-9_]+)\}/g, (_, other: string) => words.assignment(other));
    return { variable: name, message: `${words.assignment(name)} ${problem}; allowed: ${params["allowed"]}` };
  }
  // Only a variable whose default cannot be derived reaches zod as undefined.
  if (issue.code === "invalid_type") {
    const why = `and cannot be derived here (default: ${words.derivation(name)})`;
    return {
      variable: name,
      message: `${facts.flagOnly ? flagOf(name) : name} is not set ${why}; allowed: ${facts.allowed}`,
    };
  }
  // The message of a reader may quote a part of the value.
  const problem = printable(facts.redact(issue.message));
  return { variable: name, message: `${words.assignment(name)} ${problem}; allowed: ${facts.allowed}` };
}

function quoted(config: ConfigSchema, name: string, text: string): string {
  const safe = factsFor(config, name).redact(text);
  return printable(JSON.stringify(safe.length > MAX_SHOWN_LENGTH ? `${safe.slice(0, MAX_SHOWN_LENGTH)}…` : safe));
}

function factsFor(config: ConfigSchema, name: string) {
  const schema = config.shape[name];
  if (schema === undefined) throw new TypeError(`${name} is not a variable of this program`);
  return factsOf(schema);
}

function frozen<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    for (const member of Object.values(value)) frozen(member);
  }
  return value;
}
