import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { systemClock } from "../clock/index.ts";
import { RedfishSwitch } from "./redfish-switch.ts";
import { FakeRedfish } from "./testing/fake-redfish.ts";

const never = new AbortController().signal;
const confirmed = async (): Promise<void> => undefined;
const SYSTEM = "/redfish/v1/Systems/1";
const RESET = `${SYSTEM}/Actions/ComputerSystem.Reset`;
const SESSIONS = "/redfish/v1/SessionService/Sessions";

let redfish: FakeRedfish;
let address: string;
let machine: RedfishSwitch;
const open = () => {
  const { credentials } = redfish;
  return new RedfishSwitch({ clock: systemClock, timeout: milliseconds(5000), endpoint: { address }, credentials });
};
beforeEach(async () => {
  redfish = new FakeRedfish();
  address = await redfish.server.listen();
  machine = open();
});
afterEach(async () => {
  await machine.close();
  await redfish.server.close();
});

/** A difference between services that the switch copes with without knowing the vendor. */
interface KnownDifference {
  readonly name: string;
  readonly remedy: string;
  readonly sources: readonly string[];
}

const knownDifferences = {
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

/** The compiler asks for a test of each row. */
const tests: Readonly<Record<keyof typeof knownDifferences, () => Promise<void>>> = {
  resetTypes: async () => {
    redfish.allowed = ["ForceOn", "ForceOff", "PushPowerButton"];
    await expect(machine.shutdown(never, confirmed)).rejects.toMatchObject({ kind: "refused" });
    await machine.forceOff(never, confirmed);
    await machine.on(never, confirmed);
    expect(redfish.resets).toEqual(["ForceOff", "ForceOn"]);
  },
  alreadyThere: async () => {
    for (const status of [400, 409]) {
      redfish.state = "Off";
      // Another hand switches the machine on just before the call.
      redfish.fault = ({ path, method }) => {
        if (path !== RESET || method !== "POST") return undefined;
        redfish.state = "On";
        return { status };
      };
      await machine.on(never, confirmed);
    }
    redfish.state = "Off";
    redfish.fault = ({ path }) => (path === RESET ? { status: 400 } : undefined);
    await expect(machine.on(never, confirmed)).rejects.toMatchObject({ kind: "status", status: 400 });
  },
  betweenStates: async () => {
    for (const state of ["PoweringOn", "PoweringOff"]) {
      redfish.state = state;
      expect(await machine.state(never)).toBe("on");
    }
    await machine.forceOff(never, confirmed);
    expect(redfish.resets).toEqual(["ForceOff"]);
  },
  accepted: async () => {
    redfish.fault = ({ path }) =>
      path === RESET ? { status: 202, headers: { location: "/redfish/v1/TaskService/Tasks/1" }, json: {} } : undefined;
    await machine.shutdown(never, confirmed);
    expect(await machine.state(never)).toBe("on");
  },
  etagRequired: async () => {
    redfish.needsIfMatch = '"of the body"';
    redfish.fault = ({ path, method }) =>
      path === SYSTEM && method === "GET" ? { json: { PowerState: "On", "@odata.etag": '"of the body"' } } : undefined;
    await machine.forceOff(never, confirmed);
    expect(redfish.resets).toEqual(["ForceOff"]);
  },
  etagSpelling: async () => {
    redfish.etag = 'W/"17"';
    for (const needed of ['W/"17"', '"17"', "17"]) {
      redfish.needsIfMatch = needed;
      redfish.state = "On";
      await machine.forceOff(never, confirmed);
    }
    expect(redfish.resets).toHaveLength(3);
  },
  etagRejected: async () => {
    redfish.etag = '"17"';
    redfish.fault = ({ path, headers }) =>
      path === RESET && headers["if-match"] !== undefined ? { status: 412 } : undefined;
    await machine.forceOff(never, confirmed);
    expect(redfish.resets).toEqual(["ForceOff"]);
  },
  fewSessions: async () => {
    redfish.vendor = "Lenovo";
    redfish.fault = ({ path, method }) => (path === SESSIONS && method === "POST" ? { status: 503 } : undefined);
    expect(await machine.state(never)).toBe("on");
    redfish.fault = () => undefined;
    redfish.sessionsOnly = true;
    const other = open();
    await other.state(never);
    expect(redfish.sessions.size).toBe(1);
    await other.close();
    expect(redfish.sessions.size).toBe(0);
  },
  basicNotOffered: async () => {
    await machine.state(never);
    expect(redfish.server.received.filter(({ headers }) => headers.authorization === undefined)).toHaveLength(1);
    expect(redfish.server.received[0]?.path).toBe("/redfish/v1/");
  },
  noSessions: async () => {
    redfish.vendor = "Lenovo";
    redfish.fault = ({ path, method }) => (path === SESSIONS && method === "POST" ? { status: 405 } : undefined);
    expect(await machine.state(never)).toBe("on");
    await machine.forceOff(never, confirmed);
    expect(redfish.server.received.filter(({ path }) => path === SESSIONS)).toHaveLength(1);
  },
};

describe("SLP-06 differences between Redfish services", () => {
  it.each(Object.entries(knownDifferences))("%s", async (name) => {
    await expect(tests[name as keyof typeof knownDifferences]()).resolves.toBeUndefined();
  });

  it.each(Object.values(knownDifferences))("have a source: $name", ({ sources }) => {
    expect(sources.length).toBeGreaterThan(0);
    for (const source of sources) expect(source).toMatch(/^github\.com\/[\w.-]+\/[\w.-]+\/(?:issues|pull)\/\d+$/);
  });
});

describe("SLP-06 the authentication", () => {
  it.each([
    { vendor: "Lenovo", begins: "session" },
    { vendor: "LENOVO ThinkSystem", begins: "session" },
    { vendor: "Novolen", begins: "basic" },
  ])("with $vendor begins with $begins", async ({ vendor, begins }) => {
    redfish.vendor = vendor;
    await machine.state(never);
    expect(redfish.server.received[1]?.path === SESSIONS).toBe(begins === "session");
  });
});
