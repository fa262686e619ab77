import { expect, it } from "vitest";
import { CodedError, errorCodeOf, JoulieError } from "./errors.ts";

it("finds the code of any error", () => {
  expect(errorCodeOf(new CodedError("JOULIE_E_TLS", "x"))).toBe("JOULIE_E_TLS");
  expect(errorCodeOf(new JoulieError("JOULIE_E_CONFIG_VALUE", "x"))).toBe("JOULIE_E_CONFIG_VALUE");
  const others = [new Error("x"), Object.assign(new Error("x"), { code: "ENOENT" }), undefined, null, "toString"];
  expect(others.map(errorCodeOf)).toEqual(others.map(() => "JOULIE_E_INTERNAL"));
});

it("finds the code of a failed connection", () => {
  const failures = ["ECONNREFUSED", "UND_ERR_HEADERS_TIMEOUT"].map((code) => Object.assign(new Error("x"), { code }));
  expect(failures.map(errorCodeOf)).toEqual(["JOULIE_E_CONNECTION", "JOULIE_E_CONNECTION"]);
});
