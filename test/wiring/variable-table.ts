// The tables of test/wiring: for every variable of a program, a non-default value and the change it causes.
import { describe, expect, it } from "vitest";
import type * as z from "zod";
import {
  type ConfigSchema,
  everyProgram,
  parseConfig,
  type RawValues,
  variableNames,
} from "../../src/platform/config/index.ts";

/** Starts the program with these variables and returns a summary of its behaviour. */
type Observation = (variables: RawValues) => Promise<unknown>;

export interface Row {
  readonly value: string;
  /** Variables set in both runs, because this variable has no effect without them. */
  readonly beside?: RawValues;
  readonly observe: Observation;
  /** The observations with the default and with the value. */
  readonly byDefault: unknown;
  readonly changed: unknown;
}

/** One row for each place in which a variable acts. */
export type VariableTable = Readonly<Record<string, Row | readonly Row[]>>;

/**
 * One test for each variable, with its name in the title: `npm run mutation -- wiring` hard-codes one read of a variable and
 * runs the tests of that name. A variable without a row fails the first test.
 */
export function describeVariables(program: string, config: ConfigSchema, table: VariableTable): void {
  const runs = new Map<Observation, Map<string, Promise<unknown>>>();
  // Rows with the same observation share the run with the defaults.
  const observed = async (observe: Observation, variables: RawValues): Promise<unknown> => {
    const known = runs.get(observe) ?? new Map<string, Promise<unknown>>();
    runs.set(observe, known);
    const key = JSON.stringify(variables);
    const run = known.get(key) ?? observe(variables);
    known.set(key, run);
    return run;
  };
  describe(`every variable of the ${program}`, () => {
    it("has a row in the table", () => {
      expect(Object.keys(table).toSorted()).toEqual(expect.arrayContaining([...ownVariables(config)]));
    });

    it.each(Object.entries(table))("%s has an effect", async (name, rows) => {
      for (const { value, beside = {}, observe, byDefault, changed } of [rows].flat()) {
        expect(valueOf(config, name, { ...beside, [name]: value })).not.toEqual(valueOf(config, name, beside));
        expect(changed).not.toEqual(byDefault);
        const [without, obeyed] = await Promise.all([
          observed(observe, beside),
          observed(observe, { ...beside, [name]: value }),
        ]);
        expect({ [`without ${name}`]: without }).toEqual({ [`without ${name}`]: expected(byDefault) });
        expect({ [`${name}=${value}`]: obeyed }).toEqual({ [`${name}=${value}`]: expected(changed) });
      }
    });
  });
}

/** Programs that run in a cluster share a start: the table of the operator has the rows of the variables that it reads. */
const ownVariables = (config: ConfigSchema): readonly string[] =>
  variableNames(config).filter((name) => config.shape[name] !== new Map(Object.entries(everyProgram)).get(name));

const containing = (members: object): unknown => expect.objectContaining(members);

/** A row names only the relevant members of an observed object. */
function expected(value: unknown): unknown {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? containing(value) : value;
}

/** Parses every text as a flag, also for variables that come from the environment. */
function parsedTexts<Config extends ConfigSchema>(config: Config, texts: RawValues) {
  const flags = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ""));
  return parseConfig(config, { env: {}, flags, machine: { isTerminal: false, exists: () => false } });
}

export function configured<Config extends ConfigSchema>(config: Config, texts: RawValues): z.output<Config> {
  const parsed = parsedTexts(config, texts);
  if (parsed.ok) return parsed.value.values;
  throw new Error(parsed.error.problems.map(({ message }) => message).join("; "));
}

function valueOf(config: ConfigSchema, name: string, texts: RawValues): unknown {
  const parsed = parsedTexts(config, texts);
  // A value that is rejected in combination with others has an effect, too.
  return parsed.ok ? parsed.value.values[name] : parsed.error.problems.map(({ message }) => message).join("; ");
}
