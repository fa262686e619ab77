const HIDDEN = "***";

/** Names whose value is a secret, whatever stands before them: `token`, `bindToken`, `client_secret`, `X-Api-Key`. Not `secretName`. */
const SECRET_NAME =
  /(?:token|secret|password|passwd|passphrase|authorization|cookie|credentials?|api[-_]?key|private[-_]?key|client[-_]?key[-_]?data)s?$/i;

const SECRETS_IN_URLS: readonly RegExp[] = [
  // https://user:pass@host, the password up to the last @ before the path; the user's name may be an address with an @
  /(:\/\/[^\s/?#:"<>[\]]*:)[^\s/?#"<>]*(?=@)/g,
  // https://user:pa/ss@host, which is no proper URL but what somebody types; host:8080/path@x stays
  /(:\/\/[^\s/?#:@"<>[\]]*:)(?!\*|\d*(?:[/?#\s"'<>,;)]|$))[^\s"<>]{0,256}(?=@)/g,
  // https://token@host: a name that stands alone is most often a token
  /(:\/\/)[^\s/?#:"<>[\]]+(?=@)/g,
  // ?access_token=…&sig=…
  /([?&#](?:[\w.~%-]{0,64}(?:token|key|secret|password|passwd|passphrase|pwd|signature|credential|auth)s?|sig|code|pass|jwt)=)(?:[^\s&#"<>\\]|\\(?!\\{0,8}"))+/gi,
];

/** The ways a secret stands inside a text; the first group stays. None looks far ahead, so long text stays linear. */
const SECRETS_IN_TEXT: readonly RegExp[] = [
  ...SECRETS_IN_URLS,
  /\b(bearer\s{1,8})[\w.~+/-]{16,}=*/gi,
  // ?access_token=…, password=…, {"token":"…"} inside a message
  /((?:token|secret|password|passwd|api[-_]?key)(?:=|\\{0,8}"\s?:\s?\\{0,8}"))[^\s"&\\]+/gi,
];

/** Most lines hold no secret and go out as they are. */
const MAY_HOLD_SECRET = /:\/\/|bearer|token|secret|passw|passphrase|authorization|cookie|credential|key/i;

/** Free text without its secrets: `https://user:pass@host/path` becomes `https://user:***@host/path`. */
export const redactText = (text: string): string => hide(text, SECRETS_IN_TEXT);

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
  if (value !== null && value !== undefined && typeof value !== "boolean" && SECRET_NAME.test(name)) return HIDDEN;
  return typeof value === "string" ? redactText(value) : value;
}

const hide = (text: string, secrets: readonly RegExp[]): string =>
  secrets.reduce((shown, secret) => shown.replace(secret, `$1${HIDDEN}`), text);
