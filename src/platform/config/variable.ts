import * as z from "zod";
import type { Result } from "../../core/units/index.ts";
import { printable, redactText } from "../log/index.ts";

/** Texts by variable name, before they are read: what flags, environment and defaults say. */
export type RawValues = Readonly<Record<string, string | undefined>>;

/** The little that a default may depend on besides other variables. Injected, so that defaults are testable. */
export interface DefaultContext {
  readonly isTerminal: boolean;
  exists(path: string): boolean;
}

/** A default that depends on other variables or on the machine; `text` says how, for people. */
interface Derived {
  readonly text: string;
  /** `undefined` = it cannot be derived here, and the variable has to be set. */
  from(texts: RawValues, machine: DefaultContext): string | undefined;
}

/** How text becomes a value of one kind. */
export interface VariableType<Value> {
  /** One word for `--flag <word>`. */
  readonly word: string;
  readonly allowed: string;
  /** A failure is a predicate: it continues `NAME="text" …`. */
  read(text: string): Result<Value, string>;
  /** How the value reads best; absent = as it was written. */
  show?(value: Value): string;
  /** Hides what must not be printed; absent = what is a secret in any text. */
  redact?(text: string): string;
}

export interface VariableOptions {
  /** One sentence: what it does. */
  readonly about: string;
  readonly default?: string;
  readonly derived?: Derived;
}

/** What a person may want to know about a variable; kept in a zod registry beside the schema that reads it. */
export interface VariableFacts {
  readonly word: string;
  readonly about: string;
  readonly allowed: string;
  readonly group: string;
  /** Asked for on the command line only: the environment of a shell may hold the same word for something else. */
  readonly flagOnly: boolean;
  readonly default: string | undefined;
  readonly derived: Derived | undefined;
  /** The value as a person may see it: on one line, in its best form, secrets and credentials hidden. */
  show(text: string): string;
  /** The text as it was written, secrets and credentials hidden. */
  redact(text: string): string;
}

type Reader<Value> = z.ZodPipe<z.ZodString, z.ZodTransform<Value, string>>;

/** With a default the value is always there; without one it may be `undefined`. */
export type Variable<Value, Options> = Options extends { readonly default: string } | { readonly derived: Derived }
  ? Reader<Value>
  : z.ZodOptional<Reader<Value>>;

export type ConfigShape = Readonly<Record<string, z.ZodType>>;
export type ConfigSchema = z.ZodObject<ConfigShape>;

const registry = z.registry<VariableFacts>();

export function factsOf(schema: z.ZodType): VariableFacts {
  const facts = registry.get(schema);
  if (facts === undefined) throw new TypeError("this zod schema was not made by a constructor of platform/config");
  return facts;
}

export function variable<Value, const Options extends VariableOptions>(
  kind: VariableType<Value>,
  options: Options,
): Variable<Value, Options> {
  const reader: Reader<Value> = z.string().transform((text, context): Value => {
    const result = kind.read(text);
    if (result.ok) return result.value;
    context.issues.push({ code: "custom", message: result.error, input: text });
    return z.NEVER;
  });
  const always = options.default !== undefined || options.derived !== undefined;
  const redact = (text: string): string => kind.redact?.(text) ?? redactText(text);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `always` is what the conditional type asks of Options
  const schema = (always ? reader : reader.optional()) as Variable<Value, Options>;
  registry.add(schema, {
    word: kind.word,
    about: options.about,
    allowed: kind.allowed,
    group: "",
    flagOnly: false,
    default: options.default,
    derived: options.derived,
    redact,
    show: (text) => {
      const result = kind.show === undefined ? undefined : kind.read(text);
      return printable(redact(result?.ok ? (kind.show?.(result.value) ?? text) : text));
    },
  });
  return schema;
}

/** Variables that a person reads together, under one heading of `--help` and of the reference page. */
export function group<const Members extends ConfigShape>(title: string, members: Members): Members {
  for (const schema of Object.values(members)) registry.add(schema, { ...factsOf(schema), group: title });
  return members;
}

/** What one run is asked to do, rather than how a program is set up: `--trace FILE`. */
export function flagsOnly<const Members extends ConfigShape>(title: string, members: Members): Members {
  for (const schema of Object.values(members))
    registry.add(schema, { ...factsOf(schema), group: title, flagOnly: true });
  return members;
}

/** `STATIC_HP_FRAC` as a flag is `--static-hp-frac`. */
export const flagOf = (name: string): string => `--${name.toLowerCase().replaceAll("_", "-")}`;
