import * as z from "zod";
import type { ConfigSchema, ConfigShape } from "./variable.ts";

type Values<Members extends ConfigShape> = z.output<z.ZodObject<Members>>;

/** What several variables have to agree on. It is tried when all of them are good on their own. */
export interface ConfigRule<All> {
  /** The first is the one the message is about. */
  readonly reads: readonly [keyof All & string, ...(keyof All & string)[]];
  holds(values: All): boolean;
  /** Continues `NAME="text" …`; `{OTHER}` becomes that variable with its value. */
  readonly problem: string;
  readonly allowed: string;
}

/** The configuration of one program: its variables, and what they have to agree on. */
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
        // zod would skip every rule as soon as any variable is bad: a person then meets the problems one by one.
        when: ({ issues }) => !issues.some((issue) => rule.reads.some((name) => issue.path?.[0] === name)),
      }),
    z.object(members),
  );
}

/** `NAME=value` makes sense only where another variable is set. */
export const needs = <All>(name: keyof All & string, value: string, other: keyof All & string): ConfigRule<All> => ({
  reads: [name, other],
  holds: (values) => values[name] !== value || values[other] !== undefined,
  problem: `needs {${other}}`,
  allowed: `${name}=${value} with ${other} set`,
});

/** A variable that is of no use without another. */
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
