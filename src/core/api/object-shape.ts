/**
 * The API server's rule for object names and for the prefix of a label key (apimachinery, IsDNS1123Subdomain): dotted
 * lower-case labels, 253 characters in total. Unlike DNS it does not limit a label to 63 characters. A node may therefore
 * have a longer label, and Joulie's objects for that node must accept it.
 */
export const dnsSubdomain = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
export const objectNamePattern = new RegExp(`^${dnsSubdomain}$`);
export const maxObjectName = 253;

export const isObjectName = (text: string): boolean => text.length <= maxObjectName && objectNamePattern.test(text);

/** A JSON object: no list, no null. */
export type PlainObject = Readonly<Record<string, unknown>>;

export const isPlainObject = (value: unknown): value is PlainObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Kubernetes treats null as absent. */
export const isNotNullish = (value: unknown): boolean => value !== undefined && value !== null;
