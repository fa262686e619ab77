import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../core/units/index.ts";
import { systemClock } from "../clock/index.ts";
import { eventually, VirtualClock } from "../clock/testing/index.ts";
import type { PowerSwitchError } from "./power-switch.ts";
import { RedfishSwitch } from "./redfish-switch.ts";
import type { FakeAnswer, FakeRequest } from "./testing/fake-http-server.ts";
import { FakeRedfish } from "./testing/fake-redfish.ts";

const never = new AbortController().signal;
const confirmed = async (): Promise<void> => undefined;

describe("a faulty Redfish service", () => {
  let redfish: FakeRedfish;
  let address: string;
  let opened: RedfishSwitch[] = [];
  beforeEach(async () => {
    redfish = new FakeRedfish();
    address = await redfish.server.listen();
    opened = [];
  });
  afterEach(async () => {
    await Promise.all(opened.map(async (machine) => machine.close()));
    await redfish.server.close();
  });
  const open = (more: object = {}, credentials: FakeRedfish["credentials"] | undefined = redfish.credentials) => {
    const endpoint = { address, ...more };
    const machine = new RedfishSwitch({ clock: systemClock, timeout: milliseconds(5000), endpoint, credentials });
    opened.push(machine);
    return machine;
  };
  const failureOf = async (call: Promise<unknown>): Promise<PowerSwitchError> => {
    const error = await call.then(() => undefined).catch((caught: unknown) => caught as PowerSwitchError);
    if (error === undefined) throw new Error("the call succeeded");
    return error;
  };
  const on = (path: string, answer: FakeAnswer | null) => (request: FakeRequest) =>
    request.path === path ? answer : undefined;

  it("SLP-06 reports a wrong password as such", async () => {
    const error = await failureOf(open({}, { username: "joulie", password: "wrong" }).state(never));
    expect(error).toMatchObject({ kind: "credentials", code: "JOULIE_E_POWER_CREDENTIALS", status: 401 });
  });

  it("SLP-06 logs in with a session where basic authentication is disabled, and logs out", async () => {
    redfish.sessionsOnly = true;
    const machine = open();
    expect(await machine.state(never)).toBe("on");
    expect(redfish.sessions.size).toBe(1);
    await machine.shutdown(never, confirmed);
    await machine.close();
    expect(redfish.sessions.size).toBe(0);
    expect(redfish.resets).toEqual(["GracefulShutdown"]);
  });

  it("SLP-06 begins with a session where the quirk table says so", async () => {
    redfish.vendor = "Lenovo";
    await open().state(never);
    expect(redfish.server.received.some(({ headers }) => headers.authorization !== undefined)).toBe(false);
  });

  it("SLP-06 sends the password neither to the service root nor with a log-in", async () => {
    redfish.sessionsOnly = true;
    await open().state(never);
    const open401 = ["/redfish/v1/", "/redfish/v1/SessionService/Sessions"];
    const early = redfish.server.received.filter(
      ({ path, method }) => path === open401[0] || (path === open401[1] && method === "POST"),
    );
    expect(early).toHaveLength(2);
    expect(early.every(({ headers }) => headers.authorization === undefined)).toBe(true);
  });

  it.each([
    ['W/"abc"', 'W/"abc"'],
    ['W/"abc"', '"abc"'],
    ['"abc"', "abc"],
  ])("SLP-06 sends the ETag %s as %s where a reset needs it", async (etag, needed) => {
    redfish.etag = etag;
    redfish.needsIfMatch = needed;
    await open().forceOff(never, confirmed);
    expect(redfish.resets).toEqual(["ForceOff"]);
  });

  it.each<[string, () => void]>([
    ["with an ETag", () => void (redfish.needsIfMatch = '"abc"')],
    ["after a log-in", () => void (redfish.sessionsOnly = true)],
  ])("X-130 asks for confirmation again before it repeats a reset %s", async (_, change) => {
    const machine = open();
    redfish.etag = '"abc"';
    await machine.state(never);
    change();
    const order: string[] = [];
    redfish.fault = ({ path }) => void (path.endsWith("/ComputerSystem.Reset") && order.push("reset"));
    await machine.forceOff(never, async () => void order.push("confirm"));
    expect(order).toEqual(["confirm", "reset", "confirm", "reset"]);
    expect(redfish.resets).toEqual(["ForceOff"]);
  });

  it("SLP-26 reads the UUID of the system, and no other text", async () => {
    const machine = open();
    for (const [given, expected] of [
      ["4C4C4544-0034-5910-8052-B7C04F4E3332", "4c4c4544-0034-5910-8052-b7c04f4e3332"],
      ["<b>hostile</b>", undefined],
      [{ $ref: 1 }, undefined],
      [undefined, undefined],
    ]) {
      redfish.uuid = given;
      await machine.state(never);
      expect(machine.facts?.systemUuid).toBe(expected);
    }
  });

  it("SLP-27 says that a service offers no way to switch off, while the machine is on", async () => {
    const machine = open();
    redfish.allowed = ["On", "PushPowerButton"];
    await machine.state(never);
    expect(machine.facts?.keepsPower).toMatch(/offers no reset type/);
    for (const [allowed, state] of [
      [["On", "ForceOff"], "On"],
      [undefined, "On"],
      [["On"], "Off"],
    ] as const) {
      redfish.allowed = allowed;
      redfish.state = state;
      await machine.state(never);
      expect(machine.facts?.keepsPower).toBeUndefined();
    }
  });

  it("SLP-06 uses only reset types that the service allows", async () => {
    redfish.allowed = ["ForceOn", "ForceOff", "PushPowerButton"];
    redfish.state = "Off";
    await open().on(never, confirmed);
    expect(redfish.resets).toEqual(["ForceOn"]);
    expect(await failureOf(open().shutdown(never, confirmed))).toMatchObject({
      kind: "refused",
      code: "JOULIE_E_POWER_REFUSED",
    });
    expect(redfish.resets).toEqual(["ForceOn"]);
  });

  it("SLP-06 tries the usual reset type where the service lists none", async () => {
    redfish.allowed = undefined;
    await open().shutdown(never, confirmed);
    expect(redfish.resets).toEqual(["GracefulShutdown"]);
  });

  it("SLP-06 needs systemId where the service has several systems", async () => {
    redfish.systems = ["/redfish/v1/Systems/1", "/redfish/v1/Systems/2"];
    expect(await failureOf(open().state(never))).toMatchObject({ kind: "refused" });
    expect(await open({ systemId: "1" }).state(never)).toBe("on");
  });

  it("SLP-07 reports 503 and keeps its body out of the message", async () => {
    redfish.fault = on("/redfish/v1/Systems/1", { status: 503, text: "secret-of-the-body" });
    const error = await failureOf(open().state(never));
    expect(error).toMatchObject({ kind: "status", status: 503, code: "JOULIE_E_POWER_SWITCH" });
    expect(JSON.stringify([error.message, error.stack])).not.toContain("secret-of-the-body");
  });

  it("SLP-07 gives up on a service that does not answer", async () => {
    redfish.fault = on("/redfish/v1/", null);
    const clock = new VirtualClock(instant(0));
    const machine = new RedfishSwitch({ clock, timeout: milliseconds(20_000), endpoint: { address } });
    opened.push(machine);
    const call = failureOf(machine.state(never));
    await eventually(() => redfish.server.received.length > 0);
    await clock.advanceAsync(milliseconds(20_001));
    expect(await call).toMatchObject({ kind: "timeout" });
  });

  it("SLP-07 gives up on a service that is not running", async () => {
    await redfish.server.close();
    expect(await failureOf(open().state(never))).toMatchObject({ kind: "network" });
    await redfish.server.listen();
  });

  it("SLP-07 follows no redirect", async () => {
    redfish.fault = on("/redfish/v1/Systems", { status: 307, headers: { location: "http://127.0.0.1:1/steal" } });
    expect(await failureOf(open().state(never))).toMatchObject({ kind: "redirect" });
  });

  it("SLP-07 rejects a response of more than a megabyte", async () => {
    redfish.fault = on("/redfish/v1/Systems/1", { text: `{"PowerState":"${"x".repeat(2 ** 20)}"}` });
    expect(await failureOf(open().state(never))).toMatchObject({ kind: "too_large" });
  });

  it.each<[string, unknown]>([
    ["no object", []],
    ["text", "On"],
    ["null", null],
    ["no JSON", undefined],
  ])("SLP-07 rejects a system that is %s", async (_, json) => {
    redfish.fault = on("/redfish/v1/Systems/1", { text: json === undefined ? "<html>" : JSON.stringify(json) });
    expect(await failureOf(open().state(never))).toMatchObject({ kind: "garbled" });
  });

  it.each<[unknown]>([["Paused"], [7], [null], [{ toString: "On" }], ["constructor"]])(
    "SLP-07 reports unknown for the power state %j",
    async (PowerState) => {
      redfish.fault = on("/redfish/v1/Systems/1", { json: { PowerState } });
      expect(await open().state(never)).toBe("unknown");
    },
  );

  it.each([["http://evil.example/x"], ["//evil.example/x"], ["/\\evil.example"], ["relative"], [7], [{}]])(
    "SLP-07 never sends credentials to a link that leaves the service: %j",
    async (link) => {
      redfish.fault = on("/redfish/v1/Systems", { json: { Members: [{ "@odata.id": link }] } });
      expect(await failureOf(open().state(never))).toMatchObject({ kind: "not_found" });
      expect(redfish.server.received.map(({ path }) => path)).toEqual(["/redfish/v1/", "/redfish/v1/Systems"]);
    },
  );

  it("SLP-07 sends a reset to its own origin although the target names another", async () => {
    const target = "http://evil.example/reset";
    redfish.fault = (request) =>
      request.path === "/redfish/v1/Systems/1" && request.method === "GET"
        ? { json: { PowerState: "On", Actions: { "#ComputerSystem.Reset": { target } } } }
        : undefined;
    await open().forceOff(never, confirmed);
    expect(redfish.resets).toEqual(["ForceOff"]);
  });

  it("SLP-08 sends no password over http:// to another machine, unless told to", () => {
    const endpoint = { address: "http://bmc.example" };
    const options = { clock: systemClock, timeout: milliseconds(1000), credentials: redfish.credentials };
    expect(() => new RedfishSwitch({ ...options, endpoint })).toThrow("would send the password unencrypted");
    opened.push(new RedfishSwitch({ ...options, endpoint: { ...endpoint, insecureSkipVerify: true } }));
  });
});
