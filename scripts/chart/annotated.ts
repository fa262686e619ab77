// A small language for the values of the Helm chart: one description gives values.yaml, its JSON schema and the reference.
import { type ConfigSchema, grouped } from "../../src/platform/config/index.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Leaf {
  readonly kind: "leaf";
  readonly about: string;
  readonly default: unknown;
  readonly schema: JsonSchema;
}

export interface Section {
  readonly kind: "section";
  readonly about: string;
  readonly members: Readonly<Record<string, Leaf | Section>>;
}

export const section = (about: string, members: Section["members"]): Section => ({ kind: "section", about, members });

const leaf = (about: string, value: unknown, schema: JsonSchema): Leaf => ({
  kind: "leaf",
  about,
  default: value,
  schema,
});

export const text = (value: string, about: string, schema: JsonSchema = {}) =>
  leaf(about, value, { type: "string", ...schema });
/** As programs and Helm's templates read them. */
export const duration = (value: string, about: string) =>
  text(value, about, { pattern: "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$" });
export const flag = (value: boolean, about: string) => leaf(about, value, { type: "boolean" });
export const integer = (value: number, about: string, minimum: number, maximum?: number) =>
  leaf(about, value, { type: "integer", minimum, ...(maximum !== undefined && { maximum }) });
/** From 1 on: a rollout that may replace none would never begin. */
export const intOrPercent = (value: number | string, about: string) =>
  leaf(about, value, { type: ["integer", "string"], minimum: 1, pattern: "^([1-9][0-9]?|100)%$" });
export const choice = (value: string, options: readonly string[], about: string) =>
  leaf(about, value, { type: "string", enum: options });
export const list = (value: readonly unknown[], about: string, items: JsonSchema = { type: "object" }) =>
  leaf(about, value, { type: "array", items });
/** An object of Kubernetes or of the user, passed on as it is. */
export const object = (value: Readonly<Record<string, unknown>>, about: string) =>
  leaf(about, value, { type: "object" });
export const stringMap = (value: Readonly<Record<string, string>>, about: string) =>
  leaf(about, value, { type: "object", additionalProperties: { type: "string" } });

/** The variables of a program. The chart sets those in `reserved` itself; those in `removed` have no effect any more. */
export function variables(
  about: string,
  config: ConfigSchema,
  { reserved, removed }: { readonly reserved: ReadonlySet<string>; readonly removed: readonly string[] },
): Leaf {
  const own = grouped(config)
    .flatMap((part) => part.variables)
    .filter(({ name, facts }) => !facts.flagOnly && !reserved.has(name));
  const properties = Object.fromEntries(
    own.map(({ name, facts }) => {
      const byDefault = facts.derived?.text ?? facts.default;
      const description = `${facts.about} Allowed: ${facts.allowed}.${byDefault === undefined ? "" : ` Default: ${byDefault}.`}`;
      return [name, { type: ["string", "number", "boolean"], description }];
    }),
  );
  // Values of an earlier version: the program says at its start what to do instead.
  const patternProperties = removed.length === 0 ? {} : { [`^(${removed.join("|")})$`]: { description: "Removed." } };
  return leaf(about, {}, { type: "object", properties, patternProperties, additionalProperties: false });
}
