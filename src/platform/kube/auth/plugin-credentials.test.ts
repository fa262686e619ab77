import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { inspect } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/index.ts";
import { redactText } from "../../log/index.ts";
import type { Identity } from "./identity.ts";
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

  it("support impersonation", async () => {
    const { identity } = await identityOf({ exec, as: "someone", "as-uid": "7" }, credential("t"));
    expect(await identity.headers()).toEqual({
      authorization: "Bearer t",
      "impersonate-user": "someone",
      "impersonate-uid": "7",
    });
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

interface RenewalCall {
  readonly authorization: string | undefined;
  readonly form: Readonly<Record<string, string>>;
}

/** A provider that accepts each refresh token once; the path of the first call shows where its endpoint is. */
async function provider(): Promise<{ readonly issuer: string; readonly calls: RenewalCall[] }> {
  const calls: RenewalCall[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url === "/realm/.well-known/openid-configuration") {
      response.end(JSON.stringify({ token_endpoint: `${issuer}/token` }));
      return;
    }
    const form = Object.fromEntries(new URLSearchParams(await text(request)));
    calls.push({ authorization: request.headers.authorization, form });
    const isNewest = form["refresh_token"] === `r${calls.length - 1}`;
    const renewed = { refresh_token: `r${calls.length}`, id_token: jwt(`${calls.length}`, 9_999_999_999) };
    response.statusCode = isNewest ? 200 : 400;
    response.end(JSON.stringify(isNewest ? renewed : { error: "invalid_grant", token: "hunter2" }));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(async () => new Promise((resolve) => server.close(resolve)));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/realm`;
  return { issuer, calls };
}

function jwt(sub: string, exp: number): string {
  const parts = [{ alg: "RS256" }, { sub, exp }];
  return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.c2ln`;
}

const subjectOf = async (identity: Identity): Promise<unknown> => {
  const [, claims = ""] = ((await identity.headers()).authorization ?? "").split(".");
  return (JSON.parse(Buffer.from(claims, "base64url").toString()) as { sub: unknown }).sub;
};

const oidc = (config: Readonly<Record<string, string>>) => ({
  "auth-provider": { name: "oidc", config: { "client-id": "joulie", "id-token": jwt("0", 1), ...config } },
});

describe("users of an OIDC provider", () => {
  it("keep the refresh token of the last renewal, and renew only when necessary", async () => {
    const { issuer, calls } = await provider();
    const { identity } = await identityOf(oidc({ "refresh-token": "r0", "idp-issuer-url": `${issuer}/` }));
    expect(await Promise.all([subjectOf(identity), subjectOf(identity)])).toEqual(["1", "1"]);
    expect(await subjectOf(identity)).toBe("1");
    identity.refused();
    expect(await subjectOf(identity)).toBe("2");
    expect(calls.map(({ form }) => form)).toEqual([
      { grant_type: "refresh_token", refresh_token: "r0", client_id: "joulie" },
      { grant_type: "refresh_token", refresh_token: "r1", client_id: "joulie" },
    ]);
  });

  it("authenticate the client by its secret if it has one", async () => {
    const { issuer, calls } = await provider();
    const { identity } = await identityOf(
      oidc({ "refresh-token": "r0", "idp-issuer-url": issuer, "client-secret": "s:1" }),
    );
    expect(await subjectOf(identity)).toBe("1");
    expect(calls).toEqual([
      {
        authorization: `Basic ${Buffer.from("joulie:s%3A1").toString("base64")}`,
        form: { grant_type: "refresh_token", refresh_token: "r0" },
      },
    ]);
  });

  it("fail without the provider's answer in the message", async () => {
    const { issuer } = await provider();
    const { identity } = await identityOf(oidc({ "refresh-token": "old", "idp-issuer-url": issuer }));
    await expect(identity.headers()).rejects.toThrow(
      `the oidc provider of user "u" failed: ${issuer}/token answered with status 400`,
    );
  });

  it("send no refresh token over http:// to another machine", async () => {
    const { identity } = await identityOf(oidc({ "refresh-token": "r0", "idp-issuer-url": "http://idp.test" }));
    await expect(identity.headers()).rejects.toThrow(/"http:\/\/idp.test\/.*" is not an https address/);
  });

  it("without a refresh token use the id-token until it expires", async () => {
    const valid = await identityOf(oidc({ "id-token": jwt("0", 9_999_999_999) }));
    valid.identity.refused();
    expect(await subjectOf(valid.identity)).toBe("0");
    const expired = await identityOf(oidc({}));
    await expect(expired.identity.headers()).rejects.toThrow("its id-token has expired and there is no refresh-token");
  });
});

describe("users of another provider", () => {
  it("are told that it is not supported", async () => {
    await expect(identityOf({ "auth-provider": { name: "gcp" } })).rejects.toMatchObject({
      code: "JOULIE_E_KUBECONFIG",
      message: expect.stringContaining('user "u" has the auth-provider gcp, which Joulie does not support'),
    });
  });
});
