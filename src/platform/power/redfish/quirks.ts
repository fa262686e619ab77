import type { SwitchState } from "../../../core/api/index.ts";

/** How services differ from each other. The first row whose pattern matches the vendor or product of the service counts. */
export interface RedfishQuirk {
  /** Matches `Vendor`, `Product` or the names in `Oem` of the service root. */
  readonly matches: RegExp;
  /** `session`: the service rejects, or may reject, basic authentication. */
  readonly auth?: "session";
  /** Where the difference was reported. */
  readonly source: string;
}

/**
 * Most differences need no row, because the switch copes with them on every service: see `knownDifferences`. A row saves failed
 * attempts, each of which may count towards a lock-out of the account.
 */
export const redfishQuirks: readonly RedfishQuirk[] = [
  // Servers with an XCC denied access with basic authentication.
  { matches: /\blenovo\b/i, auth: "session", source: "github.com/lenovo/python-redfish-lenovo/issues/308" },
];

/** A difference between services that the switch copes with without knowing the vendor. A test exists for each. */
interface KnownDifference {
  readonly name: string;
  readonly remedy: string;
  readonly sources: readonly string[];
}

export const knownDifferences = {
  resetTypes: {
    name: "The reset types differ, and a service may list none, or list them in an ActionInfo.",
    remedy: "Only listed types are sent. Without GracefulShutdown the power is cut after the pods were counted again.",
    sources: [
      "github.com/quadsproject/badfish/issues/66",
      "github.com/openbmc/openbmc-test-automation/issues/1916",
      "github.com/ironcore-dev/metal-operator/pull/129",
    ],
  },
  alreadyThere: {
    name: "A reset to the state that the machine already has, or of a machine that is off, answers 400 or 409.",
    remedy: "The state is read again. If it is the wanted one, the reset counts as done.",
    sources: ["github.com/goldyfruit/ansible-ilo/issues/1"],
  },
  betweenStates: {
    name: "PowerState is PoweringOn or PoweringOff for a while.",
    remedy: "Both count as on: the machine has power. Its next state is read later.",
    sources: ["github.com/openbmc/bmcweb/issues/12"],
  },
  accepted: {
    name: "A reset answers 202 with a task, or 204 before anything has happened.",
    remedy: "No answer counts as a result. The state is read until it changes, or the time is over.",
    sources: ["github.com/device-management-toolkit/console/pull/679"],
  },
  etagRequired: {
    name: "A reset without If-Match answers 412 or 428.",
    remedy: "It is sent again with the ETag of the system: from the header, else from @odata.etag.",
    sources: [
      "github.com/ansible/ansible/issues/60031",
      "github.com/stmcginnis/gofish/issues/171",
      "github.com/ansible/ansible/pull/56150",
    ],
  },
  etagSpelling: {
    name: "A service compares the ETag only without its weakness mark, or without quotes.",
    remedy: "The spellings are tried one after the other.",
    sources: [
      "github.com/ansible-collections/community.general/pull/6434",
      "github.com/ansible-collections/community.general/pull/3268",
    ],
  },
  etagRejected: {
    name: "A service answers 412 to any action with If-Match.",
    remedy: "The first attempt has none.",
    sources: ["github.com/ironcore-dev/metal-operator/issues/1015"],
  },
  fewSessions: {
    name: "A service has few sessions and answers 503 when all are in use.",
    remedy: "A session is deleted after each call. If none is free, basic authentication is tried.",
    sources: ["github.com/stmcginnis/gofish/issues/75", "github.com/quadsproject/badfish/issues/447"],
  },
  basicNotOffered: {
    name: "A service accepts basic authentication, but does not offer it in its answer 401.",
    remedy: "The password is sent with the first call that needs it, not after an offer.",
    sources: ["github.com/dell/iDRAC-Redfish-Scripting/issues/383"],
  },
  noSessions: {
    name: "A service answers 405 to a new session.",
    remedy: "Basic authentication is used.",
    sources: ["github.com/mrlhansen/idrac_exporter/issues/132"],
  },
} as const satisfies Readonly<Record<string, KnownDifference>>;

/** A machine on its way between two states has power. Other texts, such as `Paused`, are unknown. */
export const powerStates: Readonly<Record<string, SwitchState>> = {
  On: "on",
  PoweringOn: "on",
  PoweringOff: "on",
  Off: "off",
};

/** In order of preference. PushPowerButton is never sent: it would switch a machine on that is already off. */
export const resetTypes = {
  on: ["On", "ForceOn"],
  shutdown: ["GracefulShutdown"],
  forceOff: ["ForceOff"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export function quirkOf(names: readonly string[]): Omit<RedfishQuirk, "matches" | "source"> {
  return redfishQuirks.find(({ matches }) => names.some((name) => matches.test(name))) ?? {};
}

/**
 * How a reset is sent again after 412 or 428: with the ETag of the system as it is, without its weakness mark, and without
 * quotes.
 */
export const etagVariants: readonly ((etag: string) => string)[] = [
  (etag) => etag,
  (etag) => etag.replace(/^W\//, ""),
  (etag) => etag.replace(/^W\//, "").replaceAll('"', ""),
];
