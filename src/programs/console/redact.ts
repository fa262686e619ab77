import { HIDDEN, redactText as redactLogText } from "../../platform/log/index.ts";

/** What stands in place of a value that may be a secret: the mark that the programs use in their logs. */
export const REDACTED = HIDDEN;

/** Names of fields, variables and annotations whose values may be secrets. */
const SECRET_NAME =
  /(pass(word|wd|phrase)?|pwd|secret|token|credential|(api|private|access|signing|encryption|shared)[-_]?key|bearer|jwt|auth(orization)?$|cookie|signature|tls\.key|client[-_]?key|\.dockerconfig)/i;
/** What the redaction of logs does not know: values that are secrets whatever their name is, and short names. */
const MORE_SECRETS: readonly RegExp[] = [
  /()\b(?:gh[pousr]_\w{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16})\b/g,
  /\b(basic\s{1,8})[\w.~+/=-]{8,}/gi,
  /((?:pass(?:word|wd|phrase)?|secret|token|credential)s?\\*["']?\s{0,32}[:=]\s{0,32}\\*["']?)[^\s"',;&}\\*][^\s"',;&}\\]*/gi,
];

/** A text without what may be a secret in it. */
export const redactText = (text: string): string =>
  MORE_SECRETS.reduce((clean, secret) => clean.replaceAll(secret, `$1${REDACTED}`), redactLogText(text));

/** Annotations that repeat the whole object, with what was removed elsewhere: kubectl's, and those of other tools. */
const repeatsObject = (key: string, value: unknown): boolean =>
  key === "kubectl.kubernetes.io/last-applied-configuration" || (typeof value === "string" && /^\s*[{[]/.test(value));
/** References to Secrets are names, not values: they help to find mistakes. */
const isReference = (key: string): boolean => /ref$|name$|keyref$/i.test(key);

/**
 * A copy without secrets: objects of kind Secret lose their data, environment variables all values that are not of Joulie's
 * own configuration, and fields with a telling name their value. `isPlainVariable` says which variables hold no secret.
 */
export function redactObject(value: unknown, isPlainVariable: (name: string) => boolean): unknown {
  return redacted(value, isPlainVariable, "");
}

function redacted(value: unknown, isPlain: (name: string) => boolean, key: string): unknown {
  if (typeof value === "string") return SECRET_NAME.test(key) && !isReference(key) ? REDACTED : redactText(value);
  if (Array.isArray(value)) {
    const items = value as unknown[];
    if (key === "env") return items.map((item) => redactedVariable(item, isPlain));
    if (key === "command" || key === "args") return items.map((item, at) => redactedArgument(item, items[at - 1]));
    return items.map((item) => redacted(item, isPlain, key));
  }
  if (typeof value !== "object" || value === null) return value;
  const object = value as Record<string, unknown>;
  const isSecret = object["kind"] === "Secret";
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, child]) => {
      if (name === "managedFields" || (key === "annotations" && repeatsObject(name, child))) return [];
      if (isSecret && (name === "data" || name === "stringData")) return [[name, REDACTED]];
      if (name === "binaryData") return [[name, REDACTED]];
      return [[name, redacted(child, isPlain, name)]];
    }),
  );
}

function redactedVariable(item: unknown, isPlain: (name: string) => boolean): unknown {
  if (typeof item !== "object" || item === null) return REDACTED;
  const { name, value, ...rest } = item as { name?: unknown; value?: unknown };
  if (value === undefined) return item;
  const known = typeof name === "string" && isPlain(name) && !SECRET_NAME.test(name);
  return { name, value: known && typeof value === "string" ? redactText(value) : REDACTED, ...rest };
}

/** `--token=x`, and `x` after `--token`. */
function redactedArgument(item: unknown, before: unknown): unknown {
  if (typeof item !== "string") return item;
  if (typeof before === "string" && /^--?[^=]+$/.test(before) && SECRET_NAME.test(before) && !item.startsWith("-"))
    return REDACTED;
  const [flag = "", ...rest] = item.split("=");
  return rest.length > 0 && SECRET_NAME.test(flag) ? `${flag}=${REDACTED}` : redactText(item);
}
