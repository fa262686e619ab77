/** How services differ from each other. The first row whose pattern matches the vendor or product of the service counts. */
export interface RedfishQuirk {
  /** Matches `Vendor`, `Product` or the names in `Oem` of the service root. */
  readonly matches: RegExp;
  /** `session`: the service rejects, or may reject, basic authentication. */
  readonly auth?: "basic" | "session";
  /** Reset types in order of preference, if they differ from the default. */
  readonly on?: readonly string[];
  readonly shutdown?: readonly string[];
  readonly forceOff?: readonly string[];
}

/**
 * Most differences need no row: the service lists the reset types it allows, a 401 for basic authentication leads to a session,
 * and a 412 or 428 leads to the next ETag variant. A row saves failed attempts. PushPowerButton is in no row: it would switch a
 * machine on that is already off.
 *
 * Lenovo XCC can disable basic authentication, and counts each failed login towards a lock-out of the account.
 */
const redfishQuirks: readonly RedfishQuirk[] = [{ matches: /\blenovo\b/i, auth: "session" }];

export const defaultResetTypes = {
  on: ["On", "ForceOn"],
  shutdown: ["GracefulShutdown"],
  forceOff: ["ForceOff"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export function quirkOf(names: readonly string[]): Omit<RedfishQuirk, "matches"> {
  return redfishQuirks.find(({ matches }) => names.some((name) => matches.test(name))) ?? {};
}

/**
 * How a reset is sent again after 412 or 428: with the ETag of the system as it is, without its weakness mark (strict services
 * reject weak tags), and without quotes (some services compare the bare text).
 */
export const etagVariants: readonly ((etag: string) => string)[] = [
  (etag) => etag,
  (etag) => etag.replace(/^W\//, ""),
  (etag) => etag.replace(/^W\//, "").replaceAll('"', ""),
];
