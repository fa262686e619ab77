import * as z from "zod";
import type { Result } from "../../core/units/index.ts";
import { printable, redactText } from "../log/index.ts";

/** Raw texts by variable name, from flags, environment and defaults. */
export type RawValues = Readonly<Record<string, string | undefined>>;

/** What a default may depend on besides other variables. It is injected for tests. */
export interface DefaultContext {
  readonly isTerminal: boolean;
  exists(path: string): boolean;
}

/** A default that depends on other variables or on the machine; `text` describes it for users. */
interface Derived {
  readonly text: string;
  /** `undefined` means that it cannot be derived, and the variable must be set. */
  from(texts: RawValues, machine: DefaultContext): string | undefined;
}

/** A type of variable: how text is converted to a value. */
export interface VariableType<Value> {
  /** One word for `--flag <word>`. */
  readonly word: string;
  readonly allowed: string;
  /** The text of a failure is a predicate: it continues `NAME="text" …`. */
  read(text: string): Result<Value, string>;
  /** The canonical form of the value; absent = as it was written. */
  show?(value: Value): string;
  /** Redacts the text; absent = redact what looks like a secret in any text. */
  redact?(text: string): string;
}

export interface VariableOptions {
  /** One sentence: what the variable does. */
  readonly about: string;
  readonly default?: string;
  readonly derived?: Derived;
  /** The variables that a value of this one sets, unless they are set themselves. */
  readonly sets?: (text: string) => RawValues;
}

/** The documentation of a variable; stored in a zod registry beside its schema. */
export interface VariableFacts {
  readonly word: string;
  readonly about: string;
  readonly allowed: string;
  readonly group: string;
  /** Only a flag: the environment of a shell may use the same name for something else. */
  readonly flagOnly: boolean;
  readonly default: string | undefined;
  readonly derived: Derived | undefined;
  readonly sets: VariableOptions["sets"];
  /** The printable value: on one line, in canonical form, with secrets redacted. */
  show(text: string): string;
  /** The original text with secrets redacted. */
  redact(text: string): string;
}

type Reader<Value> = z.ZodPipe<z.ZodString, z.ZodTransform<Value, string>>;

/** With a default the value is always present; without one it may be `undefined`. */
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
    sets: options.sets,
    redact,
    show: (text) => {
      const result = kind.show === undefined ? undefined : kind.read(text);
      return printable(redact(result?.ok ? (kind.show?.(result.value) ?? text) : text));
    },
  });
  return schema;
}

/** Variables that belong together, under one heading of `--help` and of the reference page. */
export function group<const Members extends ConfigShape>(title: string, members: Members): Members {
  for (const schema of Object.values(members)) registry.add(schema, { ...factsOf(schema), group: title });
  return members;
}

/** Options of a single run instead of the program's setup: `--trace FILE`. */
export function flagsOnly<const Members extends ConfigShape>(title: string, members: Members): Members {
  for (const schema of Object.values(members))
    registry.add(schema, { ...factsOf(schema), group: title, flagOnly: true });
  return members;
}

/** The flag of `STATIC_HP_FRAC` is `--static-hp-frac`. */
export const flagOf = (name: string): string => `--${name.toLowerCase().replaceAll("_", "-")}`;
