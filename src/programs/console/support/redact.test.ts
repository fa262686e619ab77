import { describe, expect, it } from "vitest";
import { REDACTED, redactBundleText, redactLog, redactValue } from "./redact.ts";

describe("redactText", () => {
  it.each(["code", "sig", "key", "access_key", "pwd", "X-Amz-Signature", "anything"])(
    "CLI-08 removes the parameter %s of an address",
    (name) => {
      expect(redactBundleText(`GET https://host/api/x?a=1&${name}=hunter2&b=2 failed`)).toBe(
        `GET https://host/api/x?${REDACTED} failed`,
      );
    },
  );

  it("CLI-08 keeps paths of the API server, of Redfish and of Joulie, and no others", () => {
    for (const path of [
      "/apis/joulie.io/v1alpha1/nodetwins",
      "/redfish/v1/Systems/1",
      "/debug/plan",
      "/filter",
      "/",
      "",
    ])
      expect(redactBundleText(`GET https://10.0.0.1:8443${path} failed`)).toBe(
        `GET https://10.0.0.1:8443${path} failed`,
      );
    expect(redactBundleText("POST https://hooks.example/T0/abc")).toBe(`POST https://hooks.example/${REDACTED}`);
  });

  it.each([
    "210 W per package at http://10.0.0.1:9876/filter",
    "the wake of node worker-17.rack-2.example.com took 184.2 s",
    "cannot read token: ENOENT: no such file",
    "the user name or the password is wrong",
    "to name Secret bmc in a PowerEndpoint you need the verb get or use for it",
    "Secret bmc does not name the host 10.9.0.7 in its annotation joulie.io/hosts",
    "the last pass was 3 s ago",
    "pulled ghcr.io/x/joulie:0.1.0@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "lease joulie-operator is held by joulie-operator-7d9f8b6c5-x2x4z_0f8fad5b-d9cb-469f-a165-70867728950e",
    "joulie unpin worker-17",
    "/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw is 210000000",
  ])("CLI-08 leaves other texts alone: %s", (text) => {
    expect(redactBundleText(text)).toBe(text);
  });

  it("CLI-08 takes linear time", () => {
    for (const piece of ["a", "password ", "-u ", "-----BEGIN ", "name:", "x:", "https://", "{", '\\"', "key: ["])
      expect(redactLog(piece.repeat(200_000 / piece.length)).length).toBeGreaterThan(0);
  });
});

describe("redactLog", () => {
  it("CLI-08 keeps lines of JSON readable, and hides fields with a telling name", () => {
    const line = (fields: object) => JSON.stringify({ level: "info", node: "a", watts: 210, ...fields });
    expect(redactLog(line({ msg: "applied" }))).toBe(line({ msg: "applied" }));
    expect(redactLog(line({ bmc: { pass: "x", user: "root" } }))).toBe(line({ bmc: { pass: REDACTED, user: "root" } }));
  });

  it("CLI-08 hides a private key whose first line is not in the text", () => {
    const body = "MIIEowIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9OiJjRazXBZ1BjP5CE/Wm/Rr500P";
    expect(redactLog(`${body}\nLas7\n-----END RSA PRIVATE KEY-----\nnext`)).toBe(
      `${REDACTED}\n${REDACTED}\n-----END RSA PRIVATE KEY-----\nnext`,
    );
  });
});

it("CLI-08 redactValue keeps whether something is a secret, and names of Secrets", () => {
  const value = { hasToken: true, credentialsSecretRef: { name: "bmc" }, token: 4711, list: ["-P", "x", "power"] };
  expect(redactValue(value)).toEqual({ ...value, token: REDACTED, list: ["-P", REDACTED, "power"] });
});
