import { describe, expect, it } from "vitest";
import { REDACTED, redactObject, redactText } from "./redact.ts";

const isPlain = (name: string) => name === "POLICY_TYPE" || name === "TELEMETRY_HTTP_TOKEN";
const jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl";

describe("redaction", () => {
  it("CLI-08 removes tokens, keys and passwords from texts, and leaves other texts alone", () => {
    for (const secret of [jwt, "AKIAABCDEFGHIJKLMNOP", "ghp_abcdefghijklmnopqrst", "xoxb-1234567890-ab"])
      expect(redactText(`before ${secret} after`)).toBe(`before ${REDACTED} after`);
    for (const scheme of ["Bearer", "Basic"])
      expect(redactText(`before ${scheme} abcdefghij123 after`)).toBe(`before ${scheme} ${REDACTED} after`);
    const key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
    expect(redactText(`before ${key} after`)).not.toContain("MIIE");
    expect(redactText("GET http://admin:hunter2@bmc/redfish")).toBe(`GET http://admin:${REDACTED}@bmc/redfish`);
    expect(redactText('{"msg":"login","password":"hunter2"}')).toBe(`{"msg":"login","password":"${REDACTED}"}`);
    expect(redactText("token=abc next=1")).toBe(`token=${REDACTED} next=1`);
    expect(redactText("GET https://s3cret@prometheus:9090/x")).toBe(`GET https://${REDACTED}@prometheus:9090/x`);
    expect(redactText("GET https://u:p@ss@host/x")).toBe(`GET https://u:${REDACTED}@host/x`);
    expect(redactText('"password": "correct horse", "n": 1')).toBe(`"password": "${REDACTED}", "n": 1`);
    const nested = JSON.stringify({ body: JSON.stringify({ token: "hunter2", n: 1 }) });
    expect(redactText(nested)).toBe(JSON.stringify({ body: JSON.stringify({ token: REDACTED, n: 1 }) }));
    const harmless = "210 W per package at http://10.0.0.1:9876/filter";
    expect(redactText(harmless)).toBe(harmless);
  });

  it.each(["code", "sig", "key", "access_key", "pwd", "X-Amz-Signature"])(
    "CLI-08 removes the parameter %s of an address, as the programs do in their logs",
    (name) => {
      expect(redactText(`GET https://host/x?a=1&${name}=hunter2&b=2 failed`)).toBe(
        `GET https://host/x?a=1&${name}=${REDACTED}&b=2 failed`,
      );
      expect(redactText(`GET https://host/x?${name}=hunter2`)).not.toContain("hunter2");
    },
  );

  it("CLI-08 removes assigned passwords and the values of headers", () => {
    const texts = [
      "pwd=hunter2 x",
      "pass=hunter2 x",
      '{"pass":"hunter2"}',
      "pass: hunter2",
      "DB_PASS=hunter2",
      "password:    hunter2",
      "Cookie: session=hunter2",
      "Authorization: Digest hunter2",
    ];
    for (const text of texts) expect(redactText(text)).not.toContain("hunter2");
    expect(redactObject({ accessKey: "hunter2", pwd: "hunter2", jwt: "hunter2" }, isPlain)).toEqual({
      accessKey: REDACTED,
      pwd: REDACTED,
      jwt: REDACTED,
    });
  });

  it("CLI-08 keeps only values of Joulie's own variables, and none with a telling name", () => {
    const container = {
      env: [
        { name: "POLICY_TYPE", value: "static_partition" },
        { name: "TELEMETRY_HTTP_TOKEN", value: "abc" },
        { name: "SOMETHING_ELSE", value: "hunter2" },
        { name: "FROM_SECRET", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
      ],
      args: ["agent", "--token=abc", "--log-level=info", "--password", "hunter2", "--log-level", "info"],
    };
    expect(redactObject(container, isPlain)).toEqual({
      env: [
        { name: "POLICY_TYPE", value: "static_partition" },
        { name: "TELEMETRY_HTTP_TOKEN", value: REDACTED },
        { name: "SOMETHING_ELSE", value: REDACTED },
        { name: "FROM_SECRET", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
      ],
      args: ["agent", `--token=${REDACTED}`, "--log-level=info", "--password", REDACTED, "--log-level", "info"],
    });
  });

  it("CLI-08 removes the data of Secrets, and annotations that repeat an object", () => {
    const secret = {
      kind: "Secret",
      metadata: {
        name: "s",
        annotations: {
          "kubectl.kubernetes.io/last-applied-configuration": '{"data":{"x":"aHVudGVyMg=="}}',
          "kapp.k14s.io/original": '{"env":[{"name":"DB","value":"aHVudGVyMg=="}]}',
        },
        managedFields: [{}],
      },
      data: { x: "aHVudGVyMg==" },
    };
    const text = JSON.stringify(redactObject(secret, isPlain));
    expect(text).not.toContain("aHVudGVyMg");
    expect(text).toContain('"name":"s"');
  });

  it("CLI-08 keeps the names of Secrets that objects refer to", () => {
    const endpoint = { spec: { redfish: { credentialsSecretRef: { name: "bmc" }, address: "https://u:p@host" } } };
    expect(redactObject(endpoint, isPlain)).toEqual({
      spec: { redfish: { credentialsSecretRef: { name: "bmc" }, address: `https://u:${REDACTED}@host` } },
    });
  });
});
