import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { redactText } from "../../log/index.ts";
import { loadIdentity } from "./load-identity.ts";

const START = instant(Date.UTC(2029, 11, 31));
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function identityOf(user: object, plugin = "") {
  const folder = mkdtempSync(join(tmpdir(), "joulie-plugin-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "plugin"), `#!/bin/sh\necho x >> "$(dirname "$0")/calls"\n${plugin}\n`);
  chmodSync(join(folder, "plugin"), 0o755);
  const content = {
    "current-context": "here",
    clusters: [{ name: "c", cluster: { server: "https://kube.test:6443" } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
  };
  writeFileSync(join(folder, "config"), JSON.stringify(content));
  const clock = new VirtualClock(START);
  const identity = await loadIdentity({ clock, kubeconfig: join(folder, "config"), environment: {} });
  const calls = () => readFileSync(join(folder, "calls"), "utf8").trim().split("\n").length;
  return { identity, clock, calls };
}

const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./plugin" };
const credential = (token: string) => `echo '${JSON.stringify({ kind: "ExecCredential", status: { token } })}'`;

describe("users with an exec plugin", () => {
  it("run the plugin once for concurrent calls", async () => {
    const { identity, calls } = await identityOf({ exec }, credential("t"));
    const asked = Array.from({ length: 10 }, async () => identity.headers());
    const connecting = identity.tls();
    for (const headers of await Promise.all(asked)) expect(headers).toEqual({ authorization: "Bearer t" });
    await connecting;
    expect(calls()).toBe(1);
  });

  it("call the plugin again after a failure", async () => {
    const { identity, calls } = await identityOf({ exec }, "echo 'not today' >&2; exit 1");
    for (let time = 1; time <= 2; time++) {
      await expect(Promise.all([identity.headers(), identity.headers()])).rejects.toThrow("not today");
      expect(calls()).toBe(time);
    }
  });

  it("fail with a reason that log redaction does not remove", async () => {
    const { identity } = await identityOf({ exec }, "echo 'not today' >&2; exit 1");
    const error: unknown = await identity.headers().catch((reason: unknown) => reason);
    expect(redactText(String(error))).toContain("failed: not today");
  });

  it("fail without the plugin's arguments and output in the message", async () => {
    for (const output of [
      "exit 3",
      "echo hunter2",
      `echo '{"status":{"expirationTimestamp":"2030-01-01T00:00:00Z"}}'`,
    ]) {
      const { identity } = await identityOf({ exec: { ...exec, args: ["hunter2"] } }, output);
      const error: unknown = await identity.headers().catch((reason: unknown) => reason);
      expect(String(error)).toMatch(/exited with status 3|no ExecCredential|neither a token nor a certificate/);
      expect(inspect(error, { depth: 9 })).not.toContain("hunter2");
    }
  });

  it("call the plugin again when the credentials have expired", async () => {
    const issued = `{"status":{"token":"t","expirationTimestamp":"2030-01-01T00:00:00Z"}}`;
    const { identity, clock, calls } = await identityOf({ exec }, `echo '${issued}'`);
    await identity.headers();
    await identity.headers();
    expect(calls()).toBe(1);
    clock.advance(milliseconds(86_400_000));
    await identity.headers();
    expect(calls()).toBe(2);
  });

  it("tell the plugin the version of its answer, and that there is no terminal", async () => {
    const { identity } = await identityOf({ exec }, `echo "$KUBERNETES_EXEC_INFO" >&2; exit 1`);
    await expect(identity.headers()).rejects.toThrow(
      '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}}',
    );
  });

  it("time out after a minute if the plugin hangs, then run it again", async () => {
    const { identity, clock } = await identityOf({ exec: { ...exec, command: "/bin/sleep", args: ["3"] } });
    for (let time = 0; time < 2; time++) {
      const headers = identity.headers();
      headers.catch(() => undefined);
      await clock.advanceAsync(milliseconds(60_000));
      await expect(headers).rejects.toThrow("no answer within 60000 ms");
    }
    expect(clock.waiting).toBe(0);
  });
});

describe("users of an auth-provider", () => {
  it("are told that it is not supported", async () => {
    await expect(identityOf({ "auth-provider": { name: "oidc" } })).rejects.toMatchObject({
      code: "JOULIE_E_KUBECONFIG",
      message: expect.stringContaining('user "u" has the auth-provider oidc, which Joulie does not support'),
    });
  });
});
