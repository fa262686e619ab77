import * as z from "zod";
import { type ConfigSchema, type ConfigShape, factsOf } from "./variable.ts";

type Values<Members extends ConfigShape> = z.output<z.ZodObject<Members>>;

/** A constraint on several variables. It is checked if each of them is valid. */
export interface ConfigRule<All> {
  /** The first one is the subject of the message. */
  readonly reads: readonly [keyof All & string, ...(keyof All & string)[]];
  holds(values: All): boolean;
  /** Continues `NAME="text" …`; `{OTHER}` is replaced by that variable with its value. */
  readonly problem: string;
  readonly allowed: string;
}

/** The configuration of one program: its variables and the rules between them. */
export function configOf<const Members extends ConfigShape>(
  members: Members,
  rules: readonly ConfigRule<Values<Members>>[] = [],
): z.ZodObject<Members> {
  return rules.reduce(
    (schema, rule) =>
      schema.refine((values) => rule.holds(values), {
        path: [rule.reads[0]],
        error: rule.problem,
        params: { allowed: rule.allowed },
        // zod would skip all rules if any variable is invalid, and users would see the problems one by one.
        when: ({ issues }) => !issues.some((issue) => rule.reads.some((name) => issue.path?.[0] === name)),
      }),
    z.object(members),
  );
}

/** `NAME=value` requires another variable. */
export const needs = <All>(name: keyof All & string, value: string, other: keyof All & string): ConfigRule<All> => ({
  reads: [name, other],
  holds: (values) => values[name] !== value || values[other] !== undefined,
  problem: `needs {${other}}`,
  allowed: `${name}=${value} with ${other} set`,
});

/** The variable requires another one. */
export const goesWith = <All>(name: keyof All & string, other: keyof All & string): ConfigRule<All> => ({
  reads: [name, other],
  holds: (values) => values[name] === undefined || values[other] !== undefined,
  problem: `needs {${other}}`,
  allowed: `both ${name} and ${other}, or neither`,
});

export const notAbove = <All>(name: keyof All & string, other: keyof All & string): ConfigRule<All> => ({
  reads: [name, other],
  holds: (values) => Number(values[name]) <= Number(values[other]),
  problem: `is above {${other}}`,
  allowed: `at most ${other}`,
});

export const variableNames = (config: ConfigSchema): string[] => Object.keys(config.shape);

/** One node label cannot have two meanings. */
export const differ = <All>(name: keyof All & string, other: keyof All & string): ConfigRule<All> => ({
  reads: [name, other],
  holds: (values) => values[name] !== values[other],
  problem: `is the same label as {${other}}`,
  allowed: `another label than ${other}`,
});

interface Part {
  readonly title: string;
  readonly variables: { readonly name: string; readonly facts: ReturnType<typeof factsOf> }[];
}

/** The variables of a program by heading, in the order of its configuration. */
export function grouped(config: ConfigSchema): Part[] {
  const parts = new Map<string, Part>();
  for (const [name, schema] of Object.entries(config.shape)) {
    const facts = factsOf(schema);
    const part = parts.get(facts.group) ?? { title: facts.group, variables: [] };
    part.variables.push({ name, facts });
    parts.set(facts.group, part);
  }
  return [...parts.values()];
}
