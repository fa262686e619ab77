/**
 * Hides secrets by their names and formats. It is the last protection, not the only one: a secret with neither a telling name
 * nor a known format passes. Known gaps: a secret under a neutral name (`value: "hunter2"`, `key`, `pass`); one that is split
 * or encoded (base64 of a whole header, percent signs in a parameter name); `Basic …` without its header name; the rest of an
 * unquoted password after a space; and in escaped text, the part of a password after its own quote.
 */
export const HIDDEN = "***";

const NAMES = String.raw`tokens?|secrets?|passwords?|passwd|passphrase|pwd|credentials?|(?:api|private|secret|access|signing|encryption|shared)[-_]?keys?|client[-_]?key[-_]?data`;

/** Names whose value is a secret, with any prefix: `token`, `bindToken`, `client_secret`, `X-Api-Key`. Not `secretName`. */
const SECRET_NAME = new RegExp(String.raw`(?:${NAMES}|authorization|cookies?|auth|jwt|bearer)$`, "i");

/** Lists that alternate names and values: Node's raw headers, and command arguments. */
const NAMES_AND_VALUES = /(?:headers|trailers|args|argv)$/i;

/** At most two spaces, so that long text takes linear time. */
const SEPARATOR = String.raw`\s{0,2}[:=]\s{0,2}`;
/** How system errors begin: `cannot read token: ENOENT: no such file` contains no secret. */
const SYSTEM_ERROR = "(?!(?-i:E[A-Z]{3,14}): )";

/** Patterns of secrets inside a text; the first group is retained. None looks far ahead, so long text takes linear time. */
const SECRETS_IN_TEXT: readonly RegExp[] = [
  // https://user:pass@host, the password up to the last @ before the path; the user name may be an address with an @
  /(:\/\/[^\s/?#:"<>[\]]*:)[^\s/?#"<>]*(?=@)/g,
  // https://user:pa/ss@host, not a valid URL but often typed; host:8080/path@x stays
  /(:\/\/[^\s/?#:@"<>[\]]*:)(?!\*|\d*(?:[/?#\s"'<>,;)]|$))[^\s"<>]{0,256}(?=@)/g,
  // https://token@host: a user name without a password is usually a token
  /(:\/\/)[^\s/?#:"<>[\]]+(?=@)/g,
  // ?access_token=…&sig=…
  /([?&#](?:[\w.~%-]{0,64}(?:token|key|secret|password|passwd|passphrase|pwd|signature|credential|auth)s?|sig|code|pass|jwt)=)(?:[^\s&#"<>\\]|\\(?!\\{0,8}"))+/gi,
  // -----BEGIN PRIVATE KEY-----…, also where its end is missing
  /(-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----)[^]*?(?=-----END|$)/g,
  // a bare JWT: a header that begins {", a body, a signature
  /()\beyJ[\w-]{8,}\.[\w-]{2,}\.[\w-]*/g,
  // Authorization: Basic …, with or without a scheme
  new RegExp(
    String.raw`(authorization\\{0,8}["']?${SEPARATOR}\\{0,8}["']?(?:(?:basic|bearer|digest|negotiate|token|apikey)\s{1,8})?)${SYSTEM_ERROR}[^\s"'\\]+`,
    "gi",
  ),
  // Bearer …, but not prose about bearer tokens
  /\b(bearer\s{1,8})(?!(?:tokens?|auth\w*|scheme|headers?|credentials?|challenge|realm|error|scope|is|was|not|or|and|for|failed|missing|rejected)\b)[\w.~+/-]+=*/gi,
  // Cookie: a=b; c=d
  new RegExp(String.raw`(cookie\\{0,8}["']?\s{0,2}:\s{0,2}\\{0,8}["']?)[^"'\\\r\n]+`, "gi"),
  // password="two words", {"token":"…"}
  new RegExp(String.raw`((?:${NAMES})["']?${SEPARATOR}")(?:[^"\\]|\\.)+`, "gis"),
  new RegExp(String.raw`((?:${NAMES})["']?${SEPARATOR}')[^']+`, "gi"),
  // {\"token\":\"…\"}, a text inside a text
  new RegExp(String.raw`((?:${NAMES})\\{1,8}"${SEPARATOR}\\{1,8}")[^"\\]+`, "gi"),
  // token: …, password=…
  new RegExp(String.raw`((?:${NAMES})${SEPARATOR})(?!["'\\])${SYSTEM_ERROR}[^\s"&\\]+`, "gi"),
];

/** Fast path: most lines contain no secret. */
const MAY_HOLD_SECRET =
  /:\/\/|bearer|token|secret|passw|passphrase|pwd|auth|cookie|credential|key|jwt|eyJ|[?&#](?:sig|code|pass)=/i;

/** Redacts free text: `https://user:pass@host/path` becomes `https://user:***@host/path`. */
export const redactText = (text: string): string =>
  SECRETS_IN_TEXT.reduce((shown, secret) => shown.replace(secret, `$1${HIDDEN}`), text);

/** Redacts a line of JSON: values under a secret name at any depth, and secrets inside texts. */
export function redactLine(line: string): string {
  if (!MAY_HOLD_SECRET.test(line)) return line;
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    // The line is not JSON. Throwing would lose it, so it is redacted as text.
    return redactText(line);
  }
  return JSON.stringify(fields, redactField) + (line.endsWith("\n") ? "\n" : "");
}

function redactField(name: string, value: unknown): unknown {
  if (typeof value === "string") return SECRET_NAME.test(name) ? HIDDEN : redactText(value);
  if (value === null || value === undefined || typeof value === "boolean") return value;
  if (SECRET_NAME.test(name)) return HIDDEN;
  if (Array.isArray(value)) return NAMES_AND_VALUES.test(name) ? value.map(redactFollower) : value;
  return isNamedSecret(value) ? { ...value, value: HIDDEN } : value;
}

const redactFollower = (entry: unknown, at: number, entries: readonly unknown[]): unknown => {
  const before = entries[at - 1];
  return typeof before === "string" && SECRET_NAME.test(before) ? HIDDEN : entry;
};

/** `{ name: "API_TOKEN", value: … }`, as in the environment of a container; `key` is accepted for `name`. */
function isNamedSecret(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("value" in value)) return false;
  let name: unknown;
  if ("name" in value) name = value.name;
  else if ("key" in value) name = value.key;
  return typeof name === "string" && SECRET_NAME.test(name);
}
