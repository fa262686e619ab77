import * as z from "zod";
import type { Percent, Watts, WattsPerMinute } from "../units/index.ts";
import { dnsSubdomain, isPlainObject, maxObjectName, objectNamePattern } from "./object-shape.ts";

/** Constructors for the field types of the schemas. No field can be declared without a description. */

/** The value that a reader substitutes for a required value that is missing or invalid. */
export const readFallbacks = z.registry<{ value: unknown }>();

export const branded = <Quantity extends number>(schema: z.ZodNumber) =>
  schema as unknown as z.ZodType<Quantity, number>;

export const power = (description: string) => branded<Watts>(z.number().min(0).describe(description));
/** A cap below one watt is always a unit error. */
export const powerCap = (description: string) => branded<Watts>(z.number().min(1).describe(description));
export const powerTrend = (description: string) => branded<WattsPerMinute>(z.number().describe(description));
/** 0 % of the maximum would stop the device, so it is excluded. */
export const capPercent = (description: string) => branded<Percent>(z.number().gt(0).max(100).describe(description));
export const percentageField = (description: string) =>
  branded<Percent>(z.number().min(0).max(100).describe(description));

export const decimal = (least: number, most: number | undefined, description: string) => {
  const bounded = z.number().min(least);
  return (most === undefined ? bounded : bounded.max(most)).describe(description);
};
export const integerField = (least: number, most: number | undefined, description: string) => {
  const bounded = z.int().min(least);
  return (most === undefined ? bounded : bounded.max(most)).describe(description);
};

export const flagField = (description: string) => z.boolean().describe(description);
export const textField = (longest: number, description: string) => z.string().max(longest).describe(description);
export const timestampField = (description: string) => z.iso.datetime({ offset: true }).describe(description);

const patterned = (pattern: RegExp, longest: number, wanted: string, description: string) =>
  z.string().min(1).max(longest).regex(pattern, `expected ${wanted}`).describe(description);

export const objectNameField = (description: string) =>
  patterned(
    objectNamePattern,
    maxObjectName,
    `a DNS name in lower case, at most ${maxObjectName} characters`,
    description,
  );

export const httpEndpoint = (description: string) =>
  patterned(/^https?:\/\/[^\s/]/, 2048, "an http:// or https:// address, at most 2048 characters", description);

export const conditionType = (description: string) =>
  patterned(
    new RegExp(`^(${dnsSubdomain}/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`),
    316,
    "a CamelCase word, at most 316 characters",
    description,
  );

export const conditionReason = (description: string) =>
  patterned(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/, 1024, "a CamelCase word, at most 1024 characters", description);

export const choiceField = <const Values extends readonly [string, ...string[]]>(values: Values, description: string) =>
  z.enum(values).describe(description);

export const block = <const Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.object(shape).describe(description);

export function withReadFallback<Schema extends z.ZodType>(schema: Schema, value: z.infer<Schema>): Schema {
  readFallbacks.add(schema, { value });
  return schema;
}

/**
 * Labels and annotations. This is no z.record, because zod reports every bad entry: an object with a hundred thousand of
 * them would block the program.
 */
export const stringMap = z.custom<Record<string, string>>(
  (value) => isPlainObject(value) && Object.values(value).every((item) => typeof item === "string"),
);

interface ListBounds {
  readonly longest: number;
  /** The key that identifies an item, and its description for messages. Absent where items may repeat. */
  readonly distinct?: { readonly keyOf: (item: unknown) => unknown; readonly wanted: string };
}

/** The bounds of a list as a whole. A reader retains the items within the bounds. */
export const listBounds = z.registry<ListBounds>();

function list<Item extends z.ZodType>(item: Item, bounds: ListBounds, meta: Readonly<Record<string, unknown>>) {
  const { longest, distinct } = bounds;
  const bounded = z.array(item).max(longest);
  const schema = (
    distinct === undefined
      ? bounded
      : bounded.refine((items) => new Set(items.map(distinct.keyOf)).size === items.length, {
          message: `expected ${distinct.wanted}`,
        })
  ).meta(meta);
  listBounds.add(schema, bounds);
  return schema;
}

/** A list that server-side apply replaces as a whole. */
export const atomicList = <Item extends z.ZodType>(item: Item, longest: number, description: string) =>
  list(item, { longest }, { description, "x-kubernetes-list-type": "atomic" });

/** A list of distinct values. */
export const setList = <Item extends z.ZodType>(item: Item, longest: number, description: string) =>
  list(
    item,
    { longest, distinct: { keyOf: (value) => value, wanted: "a value that no earlier item has" } },
    { description, "x-kubernetes-list-type": "set" },
  );

/** A list of objects identified by one of their fields. Each field manager owns its own entries. */
export const mapList = <const Key extends string, Item extends z.ZodObject<Record<Key, z.ZodType<string>>>>(
  key: Key,
  item: Item,
  longest: number,
  description: string,
) =>
  list(
    item,
    {
      longest,
      distinct: {
        keyOf: (value) => (isPlainObject(value) ? value[key] : undefined),
        wanted: `a ${key} that no earlier item has`,
      },
    },
    { description, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key] },
  );
