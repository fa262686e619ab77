import { describe, expect, it } from "vitest";
import { instant, milliseconds, percent, watts } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { type HttpAnswer, type HttpCall, TelemetryError } from "../../telemetry/index.ts";
import { powerCapCases } from "../testing/power-cap-contract.ts";
import { throttleCases } from "../testing/throttle-contract.ts";
import { HttpCapBackend, HttpThrottleBackend } from "./http-backends.ts";
import { HttpControlClient } from "./http-control.ts";
import { readTelemetry } from "./http-readings.ts";

/** An in-memory control service for one node. */
class Service {
  readonly calls: {
    readonly url: string;
    readonly body: Record<string, unknown>;
    readonly timeout: number | undefined;
  }[] = [];
  readonly clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  cap = 700;
  throttle = 0;
  answer: HttpAnswer | Error | undefined;

  async send({ url, body = "{}", timeout }: HttpCall): Promise<HttpAnswer> {
    const command = JSON.parse(body) as Record<string, unknown>;
    this.calls.push({ url: url.href, body: command, timeout });
    if (this.answer instanceof Error) throw this.answer;
    if (this.answer !== undefined) return this.answer;
    this.cap = Number(command["capWatts"] ?? command["capWattsPerGpu"] ?? this.cap);
    this.throttle = Number(command["throttlePct"] ?? this.throttle);
    return answered({ result: "applied", message: "" });
  }

  control(endpoint = "http://service/control/{node}"): HttpControlClient {
    return new HttpControlClient({
      http: this,
      clock: this.clock,
      node: "rack/1",
      endpoint,
      timeout: milliseconds(2000),
    });
  }

  caps(kind: "cpu" | "gpu"): HttpCapBackend {
    const device = { min: watts(100), max: watts(700) };
    const devices = () => ({ device, maxPower: watts(700), count: 2, seen: { cap: watts(this.cap) } });
    return new HttpCapBackend({ kind, control: this.control(), devices });
  }

  forbid(): void {
    this.answer = answered({ result: "blocked", message: "not on this model" });
  }

  spoil(): void {
    this.answer = new TelemetryError("network", "POST http://service/control/rack%2F1: no answer: ECONNREFUSED");
  }
}

const answered = (body: unknown, status = 200): HttpAnswer => ({ status, text: JSON.stringify(body) });

describe.each(["cpu", "gpu"] as const)("an HTTP control service fulfils the power-cap contract: %s", (kind) => {
  const fixture = () => {
    const service = new Service();
    return {
      backend: service.caps(kind),
      boards: [kind === "cpu" ? "packages" : "gpus"],
      within: watts(300),
      beyond: [watts(701)],
      truth: () => watts(service.cap),
      state: () => service.cap,
      writes: () => service.calls.length,
      lose: () => undefined,
      forbid: () => service.forbid(),
      spoil: () => service.spoil(),
      ignore: () => undefined,
      vanish: () => undefined,
    };
  };
  // One board for all devices. Its result is trusted until telemetry contradicts it. Its loss shows on the next call.
  const lacking = ["several", "lose", "ignore", "vanish"] as const;
  it.each(powerCapCases(fixture, lacking))("%s", async (_, check) => {
    await expect(check()).resolves.toBeUndefined();
  });
});

describe("an HTTP control service fulfils the throttle contract", () => {
  const fixture = () => {
    const service = new Service();
    return {
      backend: new HttpThrottleBackend(service.control()),
      truth: () => service.throttle,
      state: () => service.throttle,
      writes: () => service.calls.length,
      forbid: () => service.forbid(),
      spoil: () => service.spoil(),
      ignore: () => undefined,
      vanish: () => undefined,
    };
  };
  it.each(throttleCases(fixture, ["ignore", "vanish"]))("%s", async (_, check) => {
    await expect(check()).resolves.toBeUndefined();
  });
});

describe("a control service", () => {
  it("AGT-15 AGT-37 AGT-43 X-09 receives one command with the time, the node's name escaped in the URL", async () => {
    const service = new Service();
    await service.caps("cpu").cap("packages", watts(240));
    await service.caps("gpu").cap("gpus", watts(400));
    await new HttpThrottleBackend(service.control()).throttle(percent(40));
    expect(service.calls).toEqual(
      [
        { action: "rapl.set_power_cap_watts", capWatts: 240 },
        { action: "gpu.set_power_cap_watts", capWattsPerGpu: 400 },
        { action: "dvfs.set_throttle_pct", throttlePct: 40 },
      ].map((command) => ({
        url: "http://service/control/rack%2F1",
        body: { node: "rack/1", ts: "2030-01-01T00:00:00.000Z", ...command },
        timeout: 2000,
      })),
    );
  });

  it.each([
    [answered({ result: "blocked" }), "blocked", "the control service returned blocked without a reason"],
    [answered({ result: "blocked", message: "locked" }, 403), "blocked", "locked"],
    [answered({ result: "applied" }, 500), "error", "returned 500 with the result applied"],
    [answered({ result: "fine" }), "error", "returned 200 without a result"],
    [answered(null), "error", "returned 200 without a result"],
    [{ status: 200, text: "" }, "error", "returned 200 without a result"],
    [{ status: 502, text: "<html>bad gateway</html>" }, "error", "returned 502 without a result"],
  ] as const)("X-18 uses the result in the body: %o is %s", async (answer, result, expectedText) => {
    const service = new Service();
    service.answer = answer;
    const outcome = await service.caps("cpu").cap("packages", watts(240));
    expect(outcome.result).toBe(result);
    expect(outcome.message).toContain(expectedText);
  });

  it("X-18 passes on only its message: on one line, shortened, without control characters", async () => {
    const service = new Service();
    const cap = async (answer: HttpAnswer) => {
      service.answer = answer;
      return service.caps("cpu").cap("packages", watts(240));
    };
    for (const body of ["s3cret", { secret: "s3cret" }, { result: "s3cret", message: "s3cret" }])
      for (const status of [200, 401, 500])
        expect(JSON.stringify(await cap(answered(body, status)))).not.toContain("s3cret");
    const message = `\u001b]0;title\u0007 \u009b2J\u202etxt\u2066\u2028next\r\nline ${"x".repeat(9000)}`;
    const outcome = await cap(answered({ result: "blocked", message, extra: "s3cret" }));
    expect(outcome.message).toMatch(/^\]0;title 2J txt next line x+…$/);
    expect(outcome.message?.length).toBeLessThan(100);
  });

  it("is blocked if no variable allows its endpoint", async () => {
    const service = new Service();
    service.answer = new TelemetryError("not_allowed", "http://service is not an allowed endpoint");
    expect(await service.caps("cpu").cap("packages", watts(240))).toEqual({
      result: "blocked",
      message: "http://service is not an allowed endpoint",
    });
  });

  it("is not called again in the same tick after a timeout", async () => {
    const service = new Service();
    const control = service.control();
    service.answer = new TelemetryError("timeout", "no answer within 2s");
    expect(await control.send({ action: "rapl.set_power_cap_watts", capWatts: 240 })).toMatchObject({
      result: "error",
    });
    expect(await control.send({ action: "dvfs.set_throttle_pct", throttlePct: 10 })).toEqual({
      result: "error",
      message: "no answer within 2s",
    });
    expect(service.calls).toHaveLength(1);
    service.clock.advance(milliseconds(10_000));
    service.answer = undefined;
    expect(await control.send({ action: "dvfs.set_throttle_pct", throttlePct: 10 })).toEqual({ result: "applied" });
  });

  it("X-123 gets each command with a later time stamp, and again if another agent's clock is ahead", async () => {
    const service = new Service();
    const control = service.control();
    const sent = () => service.calls.map(({ body: { ts } }) => ts);
    const lift = async () => control.send({ action: "rapl.set_power_cap_watts", capWatts: 350 });
    await lift();
    await lift();
    expect(sent()).toEqual(["2030-01-01T00:00:00.000Z", "2030-01-01T00:00:00.001Z"]);
    service.answer = answered({ result: "error", message: "too late", newest: "2030-01-01T00:10:00.000Z" }, 409);
    expect(await lift()).toEqual({ result: "error", message: "too late" });
    // Once, and not until the service agrees.
    expect(sent().slice(2)).toEqual(["2030-01-01T00:00:00.002Z", "2030-01-01T00:10:00.001Z"]);
    // A time after which there is no later one is not followed.
    service.answer = answered({ result: "error", message: "too late", newest: "+275760-09-13T00:00:00.000Z" }, 409);
    expect(await lift()).toEqual({ result: "error", message: "too late" });
    expect(sent()).toHaveLength(5);
  });

  it("X-123 is unsettled after a command without an answer, until it says that it keeps the order, or five minutes later", async () => {
    const service = new Service();
    const control = service.control();
    const lift = async (capWatts: number) => control.sendLast({ action: "rapl.set_power_cap_watts", capWatts });
    const timesOut = async (instead?: HttpAnswer) => {
      service.answer = instead ?? new TelemetryError("timeout", "no answer within 2s");
      await control.send({ action: "rapl.set_power_cap_watts", capWatts: 240 });
      service.answer = undefined;
      service.clock.advance(milliseconds(10_000));
    };
    await timesOut();
    const message: unknown = expect.stringContaining("may still lower it");
    const unsettled = { result: "error", message, isUnsettled: true };
    expect(await lift(350)).toEqual(unsettled);
    // The same limit again, or a lower one, is in force whatever comes late.
    expect([await lift(240), await lift(200)]).toEqual([{ result: "applied" }, { result: "applied" }]);
    expect(await lift(241)).toEqual(unsettled);
    const gpus = { action: "gpu.set_power_cap_watts", capWattsPerGpu: 700 } as const;
    expect(await control.sendLast(gpus)).toEqual({ result: "applied" });
    service.answer = answered({ result: "applied", ordered: true });
    expect(await lift(350)).toEqual({ result: "applied" });
    await timesOut();
    service.clock.advance(milliseconds(289_000));
    expect(await lift(350)).toEqual(unsettled);
    service.clock.advance(milliseconds(1000));
    expect(await lift(350)).toEqual({ result: "applied" });
    // A gateway that gives up says nothing about the service behind it.
    await timesOut({ status: 504, text: "<html>gateway timeout</html>" });
    expect(await lift(350)).toEqual(unsettled);
    service.clock.advance(milliseconds(289_000));
    service.clock.advance(milliseconds(1000));
    expect(await lift(350)).toEqual({ result: "applied" });
  });

  it("X-49 is restored at the endpoint of the cap, even after the route changed", async () => {
    const service = new Service();
    const { original = "" } = await service.caps("gpu").original("gpus");
    const elsewhere = new HttpCapBackend({
      kind: "gpu",
      control: service.control("http://other/{node}"),
      devices: () => ({ device: {}, count: 1 }),
    });
    await elsewhere.restore("gpus", original);
    expect(service.calls.map(({ url }) => url)).toEqual(["http://service/control/rack%2F1"]);
    const throttle = new HttpThrottleBackend(service.control());
    const { original: way = "" } = await throttle.original();
    await new HttpThrottleBackend(service.control("http://other/{node}")).restore(way);
    expect(service.calls.at(-1)).toMatchObject({
      url: "http://service/control/rack%2F1",
      body: { action: "dvfs.set_throttle_pct", throttlePct: 0 },
    });
  });

  it("restores the device's maximum or an unreachable limit, or a higher reported cap", async () => {
    const service = new Service();
    const wattsOf = async (
      devices: Omit<ReturnType<ConstructorParameters<typeof HttpCapBackend>[0]["devices"]>, "device" | "count">,
    ) => {
      const caps = new HttpCapBackend({
        kind: "cpu",
        control: service.control(),
        devices: () => ({ device: {}, count: 1, ...devices }),
      });
      const { original = "{}" } = await caps.original("packages");
      return (JSON.parse(original) as { watts: number }).watts;
    };
    expect(await wattsOf({ maxPower: watts(350), seen: { cap: watts(120) } })).toBe(350);
    expect(await wattsOf({ maxPower: watts(350), seen: { cap: watts(400) } })).toBe(400);
    expect(await wattsOf({ seen: { cap: watts(120) } })).toBe(1000);
    expect(await wattsOf({ seen: { cap: watts(1200) } })).toBe(1200);
    for (const cap of [0, -5, Number.NaN]) expect(await wattsOf({ seen: { cap: watts(cap) } })).toBe(1000);
    expect(await wattsOf({})).toBe(1000);
  });

  it("reads a reported total as the cap of each package", async () => {
    const service = new Service();
    let seen = { cap: watts(700) };
    const caps = new HttpCapBackend({
      kind: "cpu",
      control: service.control(),
      devices: () => ({ device: {}, count: 2, seen }),
    });
    await caps.cap("packages", watts(240));
    // A reading from before the cap says nothing about it.
    expect(await caps.limit("packages")).toHaveProperty("unreadable");
    seen = { cap: watts(480) };
    expect(await caps.limit("packages")).toEqual({ limit: 240 });
    seen = { cap: watts(350) };
    expect(await caps.limit("packages")).toEqual({ limit: 350 });
  });
});

describe("telemetry of an HTTP service", () => {
  const read = async (payload: unknown) =>
    readTelemetry(
      { json: async () => payload },
      "a",
      { endpoint: "http://service/telemetry/{node}", timeout: milliseconds(1000) },
      () => instant(Date.UTC(2030, 0, 1)),
    );

  it("X-17 AGT-23 contains CPU power, caps and throttle", async () => {
    const cpu = { packagePowerWatts: 210, capWatts: 240, throttlePct: 10 };
    const gpu = { powerWattsTotal: 900, capWattsPerGpuApplied: 400, count: 4 };
    expect(await read({ packagePowerWatts: 1110, cpu, gpu })).toEqual({
      cpuPower: 210,
      gpuPower: 900,
      gpuCount: 4,
      cpuCap: 240,
      gpuCap: 400,
      throttlePct: 10,
    });
  });

  it.each([null, [], "x", 7, {}, { cpu: { packagePowerWatts: -1, capWatts: "much", throttlePct: Number.NaN } }])(
    "treats invalid values as missing, never as 0 W: %o",
    async (payload) => {
      const reading = await read(payload);
      expect(reading.cpuPower).toBeUndefined();
      expect(reading.missing).toBeDefined();
      expect(reading.cpuCap).toBeUndefined();
      expect(reading.throttlePct).toBeUndefined();
    },
  );

  it("ignores a stale reading", async () => {
    expect(await read({ packagePowerWatts: 100, ts: "2029-12-31T00:00:00Z" })).toEqual({
      missing: "the reading of the telemetry service is stale",
    });
  });

  it("reports a failure", async () => {
    const http = {
      json: async () => {
        throw new TelemetryError("timeout", "no answer within 1s");
      },
    };
    const endpoint = { endpoint: "http://service/{node}", timeout: milliseconds(1000) };
    expect(await readTelemetry(http, "a", endpoint, () => instant(0))).toEqual({ failed: "no answer within 1s" });
    expect(await readTelemetry(http, "..", endpoint, () => instant(0))).toHaveProperty("failed");
  });
});
