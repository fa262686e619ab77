import { HIDDEN, redactText as redactLogText } from "../../../platform/log/index.ts";

/** What stands in place of a value that may be a secret: the mark that the programs use in their logs. */
export const REDACTED = HIDDEN;

/** Names of variables and fields whose values may be secrets. */
const SECRET_NAME =
  /pass$|password|passwd|passphrase|pwd|secret|token|credential|(api|private|access|signing|encryption|shared|client)[-_]?key|bearer|jwt|auth(orization)?$|cookie|signature|tls\.key|\.dockerconfig|(^|[-_.])(pw|pin|login|creds?)$/i;
/** The same in texts, with a number or a word behind it. */
const NAME = String.raw`(?:pass(?:word|wd|phrase)?|pwd|secret|token|credential|(?:api|private|access|signing|encryption|shared|client)[-_ ]?key|cookie|jwt|signature|dockerconfig\w{0,8}|(?<![a-z])(?:pw|pin|login|auth|creds?)(?![a-z]))s?(?:[-_.]?\d{1,3}|[-_.][\w-]{1,16})?`;
/** An equals sign or colon, with quotes around it that may be escaped. */
const IS = String.raw`\\{0,8}["']?\s{0,8}(?:=>|[:=])\s{0,8}\\{0,8}["']?`;
/** Flags of curl, sshpass, ipmitool, mysql, redis-cli and others whose value may be a secret. */
const FLAG = "-[uUpPakwHei]";

/** Words that follow the name of a secret in sentences of programs. */
const PROSE = String.raw`(?!(?:is|was|are|not|and|or|for|in|of|to|by|from|with|without|that|which|may|must|has|have|needs?|sent|wrong|missing|unencrypted|rejected|expired|invalid|refused|changed|review\w*|file|header|scheme|failed|unknown)\b)`;

/**
 * Secrets in a line that the redaction of logs does not know; the first group is kept. A bundle leaves the cluster, so these hide
 * more than they have to. None looks far ahead, so long text takes linear time.
 */
const MORE_SECRETS: readonly RegExp[] = [
  // Formats of well-known tokens.
  /()\b(?:gh[pousr]_\w{16,}|glpat-[\w-]{10,}|xox[abprse]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{20,}|s[kq]_\w{10,})\b/g,
  /\b((?:basic|negotiate|apikey)\s{1,8})(?!auth)[\w.~+/=:-]{4,}/gi,
  /\b(digest\s{1,8}username=).*/gi,
  // "name": "password", "value": "x"
  new RegExp(
    String.raw`((?:name|key)${IS}[\w.-]{0,32}${NAME}[\w.-]{0,32}\\{0,8}["']?\s{0,4}[,;]\s{0,4}\\{0,8}["']?values?${IS})(?!\*)[^\s"',;}\]\\]+`,
    "gi",
  ),
  // -H 'X-Key: x', "-P", "x", -px
  new RegExp(String.raw`((?<![\w-])${FLAG}\s{0,4}["'])[^"',]+`, "gm"),
  new RegExp(String.raw`((?<![\w-])${FLAG}\\{0,8}["']?[\s,=]{0,4}\\{0,8}["']?)(?![-*])[^\s"',\]\\]+`, "gm"),
  // --password x, --user=x
  new RegExp(
    String.raw`((?<![\w-])--?[\w.-]{0,32}(?:${NAME}|user(?:name)?|header)["']?[\s,=:]{1,4}["']?)(?![-*])[^\s"',\]]+`,
    "gi",
  ),
  // auth=("me", "x")
  new RegExp(String.raw`(${NAME}${IS}[([{])[^)\]}]+`, "gi"),
  // password: x, DB_PASS=x, "pin": 4711
  new RegExp(String.raw`(${NAME}${IS})(?![*[{(]|(?-i:E[A-Z]{3,14}): )[^\s"',;&}\]\\]+`, "gi"),
  // password is x, password "x", with password x, password x7
  new RegExp(String.raw`((?!pass\s)${NAME}\s{1,4}(?:is|was)\s{1,4}["']?)${PROSE}[^\s"',;]+`, "gi"),
  /(\b(?:password|passwd|passphrase|pin|api key)\s{1,4}["'])[^"']+/gi,
  new RegExp(String.raw`(with (?:the )?(?:password|passwd|passphrase|pin|token)\s{1,4})${PROSE}[^\s"',;]+`, "gi"),
  /(\b(?:password|passwd|passphrase|pin)\s{1,4})(?=[a-z_-]{0,32}[\d!$%&#@])[^\s"',;]+/gi,
  // me:x@host; not the tag of an image
  /(\b[\w.-]{1,64}:)(?!\*)[^\s:@/"']{1,64}(?=@(?!sha256)[\w[])/g,
];

/** Paths of the API server, of Redfish and of Joulie's own pages. Any other path of a URL may be a secret, as with webhooks. */
const KNOWN_PATH =
  /^\/(?:(?:api|apis|redfish)\/[\w./-]*|debug\/\w+|metrics|livez|readyz|healthz|filter|prioritize|version)?$/;

const redactUrl = (url: string, origin: string, rest: string): string => {
  if (origin.startsWith("file:")) return url;
  const [, address = "", punctuation = ""] = /^(.*?)([.:]*)$/.exec(rest) ?? [];
  const [path = ""] = address.split(/[?#]/, 1);
  const shown = KNOWN_PATH.test(path) ? path : `/${REDACTED}`;
  return origin + shown + (path.length < address.length ? `?${REDACTED}` : "") + punctuation;
};

/** Digests of images, and names like those of files and metrics. */
const HARMLESS_RUN = /^sha256:|^\D+$|^\d+$|^[a-z]+(?:_(?:[a-z]+|\d{1,4}))+$/;
/** Any other long run of letters and digits may be a key. */
const redactRun = (run: string): string => (HARMLESS_RUN.test(run) ? run : REDACTED);

export function redactBundleText(text: string): string {
  const known = MORE_SECRETS.reduce((clean, secret) => clean.replaceAll(secret, `$1${REDACTED}`), text);
  return redactLogText(known)
    .replaceAll(/([a-z][a-z\d+.-]{0,15}:\/\/[^\s/?#"'<>\\]*)([/?#][^\s"'<>,;)\\]*)/gi, redactUrl)
    .replaceAll(/(?:sha256:)?[A-Za-z\d+_=]{20,}/g, redactRun);
}

/** The lines of a log. Lines of JSON, as the programs write them, are redacted by the names of their fields as well. */
export function redactLog(text: string): string {
  return withoutPrivateKeys(text)
    .split("\n")
    .map((line) => {
      const fields = parseObject(line);
      return fields === undefined ? redactBundleText(line) : JSON.stringify(redactValue(fields));
    })
    .join("\n");
}

/** Also keys whose first or last lines are not in the text. */
const withoutPrivateKeys = (text: string): string =>
  text
    .replaceAll(
      /(-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----)[^]*?(-----END [A-Z ]{0,32}PRIVATE KEY-----|$)/g,
      `$1${REDACTED}$2`,
    )
    .replaceAll(/^[A-Za-z\d+/=]{1,76}\n(?=-----END)/gm, `${REDACTED}\n`)
    .replaceAll(/^[A-Za-z\d+/=]{40,76}$/gm, REDACTED);

function parseObject(line: string): object | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line) as object;
  } catch {
    return undefined;
  }
}

/** Whether the value of a variable or field with this name may be a secret. References to Secrets are names. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name) && !/ref$/i.test(name);

/** A copy whose texts are redacted, and without the values of fields with a telling name. */
export function redactValue(value: unknown): unknown {
  if (typeof value === "string") return redactBundleText(value);
  if (Array.isArray(value)) return value.map(redactItem);
  if (typeof value !== "object" || value === null) return value;
  const isNamedSecret = Object.entries(value).some(
    ([name, child]) => /^(name|key)$/i.test(name) && typeof child === "string" && isSecretName(child),
  );
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => {
      const isSecret = isSecretName(name) || (isNamedSecret && /^values?$/i.test(name));
      return [name, isSecret && typeof child !== "boolean" ? REDACTED : redactValue(child)];
    }),
  );
}

const VALUE_FOLLOWS = new RegExp(`^${FLAG}$`);

/** Lists alternate names and values: commands with their flags, and headers. */
function redactItem(item: unknown, at: number, items: readonly unknown[]): unknown {
  const before = items[at - 1];
  const isNamed = typeof before === "string" && (VALUE_FOLLOWS.test(before) || isSecretName(before));
  return isNamed && typeof item !== "object" ? REDACTED : redactValue(item);
}
