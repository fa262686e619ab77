import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/index.ts";
import { redactText } from "../../log/index.ts";
import type { Identity } from "./identity.ts";
import { loadIdentity } from "./load-identity.ts";

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
  const clock = new VirtualClock();
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

const issuer = "https://idp.test";

/** A provider that accepts each refresh token once. */
function provider(): { readonly used: string[] } {
  const used: string[] = [];
  vi.stubGlobal("fetch", async (url: string, { body }: { body?: unknown }) => {
    if (new URL(url).pathname !== "/token") {
      return Response.json({ issuer, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` });
    }
    const token = new URLSearchParams(String(body)).get("refresh_token") ?? "";
    used.push(token);
    if (token !== `r${used.length - 1}`) return Response.json({ error: "invalid_grant" }, { status: 400 });
    return Response.json({
      access_token: "a",
      token_type: "bearer",
      expires_in: 3600,
      refresh_token: `r${used.length}`,
      id_token: jwt(`${used.length}`, 9_999_999_999),
    });
  });
  closers.push(() => vi.unstubAllGlobals());
  return { used };
}

function jwt(sub: string, exp: number): string {
  const parts = [{ alg: "RS256" }, { iss: issuer, sub, aud: "joulie", iat: 1, exp }];
  return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.c2ln`;
}

const subjectOf = async (identity: Identity): Promise<unknown> => {
  const [, claims = ""] = ((await identity.headers()).authorization ?? "").split(".");
  return (JSON.parse(Buffer.from(claims, "base64url").toString()) as { sub: unknown }).sub;
};

describe("users of an OIDC provider", () => {
  it("keep the refresh token of the last renewal, and renew only when necessary", async () => {
    const { used } = provider();
    const { identity } = await identityOf({
      "auth-provider": {
        name: "oidc",
        config: {
          "client-id": "joulie",
          "client-secret": "s",
          "id-token": jwt("0", 1),
          "refresh-token": "r0",
          "idp-issuer-url": issuer,
        },
      },
    });
    expect(await Promise.all([subjectOf(identity), subjectOf(identity)])).toEqual(["1", "1"]);
    expect(await subjectOf(identity)).toBe("1");
    identity.refused();
    expect(await subjectOf(identity)).toBe("2");
    expect(used).toEqual(["r0", "r1"]);
  });
});
