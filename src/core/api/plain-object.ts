/** A JSON object: no list, no null. */
export type PlainObject = Readonly<Record<string, unknown>>;

export const isPlainObject = (value: unknown): value is PlainObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Kubernetes treats null as absent. */
export const isNotNullish = (value: unknown): boolean => value !== undefined && value !== null;
