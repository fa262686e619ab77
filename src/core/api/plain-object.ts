/** An object of fields, as JSON has it: no list, no null. */
export type PlainObject = Readonly<Record<string, unknown>>;

export const isPlainObject = (value: unknown): value is PlainObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Kubernetes takes null for absent. */
export const isNotNullish = (value: unknown): boolean => value !== undefined && value !== null;
