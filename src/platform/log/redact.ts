/**
 * Hides secrets by the names they go by and by the forms they have. It is the last gate and not the only one: what is neither
 * named nor shaped like a secret passes. Known to pass: a secret under a name that says nothing (`value: "hunter2"`, `key`,
 * `pass`); one in pieces, or encoded (base64 of a whole header, percent signs in a parameter's name); `Basic …` without its
 * header's name; the rest of a bare password after a blank; and of one that an escaped text quotes, what follows its own quote.
 */
const HIDDEN = "***";

const NAMES = String.raw`tokens?|secrets?|passwords?|passwd|passphrase|pwd|credentials?|(?:api|private|secret|access|signing|encryption|shared)[-_]?keys?|client[-_]?key[-_]?data`;

/** Names whose value is a secret, whatever stands before them: `token`, `bindToken`, `client_secret`, `X-Api-Key`. Not `secretName`. */
const SECRET_NAME = new RegExp(String.raw`(?:${NAMES}|authorization|cookies?|auth|jwt|bearer)$`, "i");

/** Lists where a name and its value take turns: Node's raw headers, and a command's arguments. */
const NAMES_AND_VALUES = /(?:headers|trailers|args|argv)$/i;

/** A blank or two at most, so that long text stays linear. */
const SEPARATOR = String.raw`\s{0,2}[:=]\s{0,2}`;
/** How errors of the system begin: `cannot read token: ENOENT: no such file` tells the reason and no secret. */
const SYSTEM_ERROR = "(?!(?-i:E[A-Z]{3,14}): )";

/** The ways a secret stands inside a text; the first group stays. None looks far ahead, so long text stays linear. */
const SECRETS_IN_TEXT: readonly RegExp[] = [
  // https://user:pass@host, the password up to the last @ before the path; the user's name may be an address with an @
  /(:\/\/[^\s/?#:"<>[\]]*:)[^\s/?#"<>]*(?=@)/g,
  // https://user:pa/ss@host, which is no proper URL but what somebody types; host:8080/path@x stays
  /(:\/\/[^\s/?#:@"<>[\]]*:)(?!\*|\d*(?:[/?#\s"'<>,;)]|$))[^\s"<>]{0,256}(?=@)/g,
  // https://token@host: a name that stands alone is most often a token
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
  // Bearer …, but not what is said about bearers
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

/** Most lines hold no secret and go out as they are. */
const MAY_HOLD_SECRET =
  /:\/\/|bearer|token|secret|passw|passphrase|pwd|auth|cookie|credential|key|jwt|eyJ|[?&#](?:sig|code|pass)=/i;

/** Free text without its secrets: `https://user:pass@host/path` becomes `https://user:***@host/path`. */
export const redactText = (text: string): string =>
  SECRETS_IN_TEXT.reduce((shown, secret) => shown.replace(secret, `$1${HIDDEN}`), text);

/** A line of JSON without its secrets: those under a telling name at any depth, and those inside texts. */
export function redactLine(line: string): string {
  if (!MAY_HOLD_SECRET.test(line)) return line;
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    // Not JSON after all: a log that throws would be worse than one that knows no names.
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

/** `{ name: "API_TOKEN", value: … }`, as in the environment of a container; `value` may also stand under a `key`. */
function isNamedSecret(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("value" in value)) return false;
  const name = "name" in value ? value.name : "key" in value ? value.key : undefined;
  return typeof name === "string" && SECRET_NAME.test(name);
}
