import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { systemClock } from "../../clock/index.ts";
import { FakeRedfish } from "../testing/fake-redfish.ts";
import { knownDifferences, quirkOf, redfishQuirks } from "./quirks.ts";
import { RedfishSwitch } from "./redfish-switch.ts";

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

describe("SLP-06 quirks by vendor", () => {
  it.each(redfishQuirks)("$matches has a source", ({ source }) => {
    expect(source).toMatch(/^github\.com\//);
  });

  it("Lenovo begins with a session, in any spelling; other vendors do not", () => {
    for (const name of ["Lenovo", "LENOVO", "Lenovo ThinkSystem"]) expect(quirkOf([name]).auth).toBe("session");
    expect(quirkOf(["Dell", "HPE", "Supermicro", "Novolen"]).auth).toBeUndefined();
  });
});
