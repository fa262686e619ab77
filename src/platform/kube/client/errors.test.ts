import { describe, expect, it } from "vitest";
import { instant } from "../../../core/units/index.ts";
import { errorFromNetwork, errorFromResponse, errorFromStatus, isApiError, retryAfterOf } from "./errors.ts";

const call = { method: "PATCH", path: "/apis/joulie.io/v1alpha1/nodetwins/n1?fieldManager=x" } as const;
const now = instant(Date.parse("2026-01-01T00:00:00Z"));
const status = (fields: object) => JSON.stringify({ kind: "Status", apiVersion: "v1", ...fields });
const of = (code: number, text = "", headers = {}) => errorFromResponse(call, { status: code, headers }, text, now);

describe("errorOfAnswer", () => {
  it.each([
    [400, "badRequest"],
    [401, "unauthorized"],
    [403, "forbidden"],
    [404, "notFound"],
    [405, "badRequest"],
    [409, "conflict"],
    [410, "gone"],
    [413, "tooLarge"],
    [415, "badRequest"],
    [422, "invalid"],
    [429, "tooMany"],
    [500, "internal"],
    [502, "unavailable"],
    [503, "unavailable"],
    [504, "timeout"],
    [599, "internal"],
  ])("maps status %d to %s", (code, kind) => {
    expect(of(code)).toMatchObject({ kind, status: code, name: "ApiError" });
  });

  it("contains the call and the message of the server", () => {
    const error = of(409, status({ code: 409, reason: "Conflict", message: "the object has been modified" }));
    expect(error.message).toBe("PATCH /apis/joulie.io/v1alpha1/nodetwins/n1: 409 the object has been modified");
    expect(error.reason).toBe("Conflict");
    expect(isApiError(error, "conflict", "gone")).toBe(true);
    expect(isApiError(error, "gone")).toBe(false);
    expect(isApiError(new Error("x"))).toBe(false);
  });

  it("distinguishes AlreadyExists from Conflict", () => {
    expect(of(409, status({ reason: "AlreadyExists", message: "leases already exists" })).kind).toBe("alreadyExists");
  });

  it("shows the start of a response that is not a Status", () => {
    expect(of(502, `<html>${"x".repeat(10_000)}`).message).toMatch(/: 502 <html>x{494}$/);
    expect(of(502).message).toMatch(/: 502 no explanation$/);
  });

  it("reads the retry delay from the header or the Status, if any", () => {
    expect(of(429, "", { "retry-after": "7" }).retryAfter).toBe(7000);
    expect(of(500, status({ details: { retryAfterSeconds: 3 } })).retryAfter).toBe(3000);
    expect(of(429).retryAfter).toBeUndefined();
  });

  it("recognises requests that were refused before they were executed", () => {
    expect([of(429), of(401), of(503), of(500)].map(({ notDone }) => notDone)).toEqual([true, true, false, false]);
  });
});

describe("retryAfterOf", () => {
  it.each([
    ["0", 0],
    [" 12 ", 12_000],
    ["Thu, 01 Jan 2026 00:00:30 GMT", 30_000],
    ["Wed, 31 Dec 2025 23:00:00 GMT", 0],
    ["soon", undefined],
    ["", undefined],
    ["1.5e", undefined],
    [undefined, undefined],
  ])("reads %j as %s ms", (header, expected) => {
    expect(retryAfterOf(header, now)).toBe(expected);
  });
});

describe("errorOfStatus", () => {
  it("derives the error kind from the code of the Status", () => {
    const error = errorFromStatus(call, { kind: "Status", code: 410, reason: "Expired", message: "too old" });
    expect(error).toMatchObject({ kind: "gone", status: 410, message: expect.stringContaining("410 too old") });
  });

  it.each([undefined, null, 7, {}, { kind: "Pod" }])("handles %j", (object) => {
    expect(errorFromStatus(call, object)).toMatchObject({ kind: "internal", status: 500 });
  });
});

describe("errorOfNetwork", () => {
  const coded = (code: string) => Object.assign(new Error(code), { code });

  it.each([
    ["ECONNREFUSED", true],
    ["ENOTFOUND", true],
    ["UND_ERR_CONNECT_TIMEOUT", true],
    ["ECONNRESET", false],
    ["UND_ERR_SOCKET", false],
  ])("%s: certainly not sent is %s", (code, notDone) => {
    expect(errorFromNetwork(call, coded(code))).toMatchObject({ kind: "network", notDone });
    expect(errorFromNetwork(call, new Error("fetch failed", { cause: coded(code) })).notDone).toBe(notDone);
  });

  it("considers every address that was tried", () => {
    const both = (a: string, b: string) => errorFromNetwork(call, new AggregateError([coded(a), coded(b)])).notDone;
    expect(both("ECONNREFUSED", "ENETUNREACH")).toBe(true);
    expect(both("ECONNREFUSED", "ECONNRESET")).toBe(false);
    expect(errorFromNetwork(call, new AggregateError([])).notDone).toBe(false);
  });

  it("handles a value that is not an error", () => {
    expect(errorFromNetwork(call, "boom")).toMatchObject({ message: expect.stringContaining("boom"), notDone: false });
  });
});
