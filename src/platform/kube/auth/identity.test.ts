import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inspect } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { loadIdentity } from "./load-identity.ts";

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A folder with these files; objects become YAML. */
function files(content: Readonly<Record<string, unknown>>): string {
  const folder = mkdtempSync(join(tmpdir(), "joulie-identity-"));
  folders.push(folder);
  for (const [name, value] of Object.entries(content)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), typeof value === "string" ? value : stringify(value));
  }
  return folder;
}

const pod = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "6443" };
const account = { token: "first\n", "ca.crt": "the authority\n", namespace: "joulie-system" };

const config = (user: object = { token: "secret" }, cluster: object = {}) => ({
  "current-context": "here",
  clusters: [{ name: "c", cluster: { server: "https://kube.test:6443", ...cluster } }],
  users: [{ name: "u", user }],
  contexts: [{ name: "here", context: { cluster: "c", user: "u", namespace: "team" } }],
});
const base64 = (text: string) => Buffer.from(text).toString("base64");

async function load(content: unknown, more: Readonly<Record<string, unknown>> = {}, context?: string) {
  const folder = files({ config: content, ...more });
  const clock = new VirtualClock();
  const kubeconfig = join(folder, "config");
  return { folder, clock, identity: await loadIdentity({ clock, kubeconfig, context, environment: {} }) };
}

describe("a pod's own identity", () => {
  const load = async (
    content: Readonly<Record<string, unknown>>,
    environment: Readonly<Record<string, string>> = pod,
  ) => {
    const serviceAccount = files(content);
    const clock = new VirtualClock();
    return {
      serviceAccount,
      clock,
      identity: await loadIdentity({ clock, environment, serviceAccount, home: "/nowhere" }),
    };
  };

  it("is the service account of the pod", async () => {
    const { identity } = await load(account);
    expect(identity).toMatchObject({ server: "https://10.0.0.1:6443", namespace: "joulie-system" });
    expect(await identity.headers()).toEqual({ authorization: "Bearer first" });
    expect(await identity.tls()).toEqual({ ca: "the authority" });
  });

  it.each([
    [{ KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" }, "https://[fd00::1]:443"],
    [{ KUBERNETES_SERVICE_HOST: "[fd00::1]", KUBERNETES_SERVICE_PORT: "443" }, "https://[fd00::1]:443"],
    [{ KUBERNETES_SERVICE_HOST: "kube.test" }, "https://kube.test:443"],
  ])("reaches the server of %j", async (environment, server) => {
    const { identity } = await load(account, environment);
    expect(identity.server).toBe(server);
    expect(new URL(identity.server).hostname).not.toBe("");
  });

  it("rereads its token within a minute, at once after a 401, and keeps the old one while the file is missing", async () => {
    const { identity, clock, serviceAccount } = await load(account);
    const token = async () => (await identity.headers()).authorization;
    const write = (text: string) => writeFileSync(join(serviceAccount, "token"), text);
    write("second");
    clock.advance(milliseconds(59_000));
    expect(await token()).toBe("Bearer first");
    clock.advance(milliseconds(1000));
    expect(await token()).toBe("Bearer second");
    write("third");
    identity.refused();
    expect(await token()).toBe("Bearer third");
    write("");
    clock.advance(milliseconds(60_000));
    expect(await token()).toBe("Bearer third");
    rmSync(join(serviceAccount, "token"));
    identity.refused();
    expect(await token()).toBe("Bearer third");
  });

  it("returns new TLS material only when the CA changes", async () => {
    const { identity, clock, serviceAccount } = await load(account);
    const first = await identity.tls();
    clock.advance(milliseconds(120_000));
    expect(await identity.tls()).toBe(first);
    writeFileSync(join(serviceAccount, "ca.crt"), "another authority");
    clock.advance(milliseconds(120_000));
    expect(await identity.tls()).toEqual({ ca: "another authority" });
  });

  it("fails at startup with the file name if a file is missing or empty", async () => {
    await expect(load({ ...account, token: " \n" })).rejects.toMatchObject({ code: "JOULIE_E_KUBE_IDENTITY" });
    await expect(load({ token: "x" })).rejects.toThrow(/ca\.crt: ENOENT/);
    await expect(load(account, { ...pod, KUBERNETES_SERVICE_PORT: "tcp://x" })).rejects.toThrow("tcp://x");
  });
});

describe("the source of an identity", () => {
  it("prefers the given kubeconfig, then the service account of the pod, then the user's kubeconfig", async () => {
    const home = files({ ".kube/config": config({ token: "own" }) });
    const given = join(files({ config: config({ token: "given" }) }), "config");
    const serviceAccount = files(account);
    const clock = new VirtualClock();
    const from = async (kubeconfig: string | undefined, environment: Readonly<Record<string, string>>) =>
      (await loadIdentity({ clock, kubeconfig, environment, serviceAccount, home })).headers();
    expect(await from(given, pod)).toEqual({ authorization: "Bearer given" });
    expect(await from("", pod)).toEqual({ authorization: "Bearer first" });
    expect(await from(undefined, {})).toEqual({ authorization: "Bearer own" });
  });

  it("reports every source that was tried when there is no identity", async () => {
    const none = loadIdentity({
      clock: new VirtualClock(),
      environment: {},
      serviceAccount: "/no/sa",
      home: "/no/home",
    });
    await expect(none).rejects.toMatchObject({ code: "JOULIE_E_KUBE_IDENTITY" });
    await expect(none).rejects.toThrow("KUBECONFIG is not set");
  });
});

describe("an identity from a kubeconfig", () => {
  it("uses the current context or the requested one", async () => {
    const two = config();
    two.clusters.push({ name: "c2", cluster: { server: "http://127.0.0.1:8001/base" } });
    two.contexts.push({ name: "there", context: { cluster: "c2", user: "u", namespace: "other" } });
    expect((await load(two)).identity).toMatchObject({ server: "https://kube.test:6443", namespace: "team" });
    expect((await load(two, {}, "there")).identity).toMatchObject({ server: "http://127.0.0.1:8001/base" });
  });

  it.each([
    [{ token: "t" }, { authorization: "Bearer t" }],
    [{}, {}],
  ])("authenticates with %j", async (user, headers) => {
    expect(await (await load(config(user))).identity.headers()).toEqual(headers);
  });

  it("reads a token file relative to the kubeconfig", async () => {
    const { identity, folder } = await load(config({ tokenFile: "sub/token", token: "ignored" }), {
      "sub/token": "one\n",
    });
    expect(await identity.headers()).toEqual({ authorization: "Bearer one" });
    writeFileSync(join(folder, "sub/token"), "two");
    identity.refused();
    expect(await identity.headers()).toEqual({ authorization: "Bearer two" });
  });

  it("reads certificates from data or from files", async () => {
    const data = await load(
      config(
        { "client-certificate-data": base64("cert"), "client-key-data": base64("key") },
        { "certificate-authority-data": base64("ca"), "tls-server-name": "name.test" },
      ),
    );
    expect(await data.identity.tls()).toEqual({ ca: "ca", cert: "cert", key: "key", serverName: "name.test" });
    const named = await load(
      config({ "client-certificate": "c.crt", "client-key": "c.key" }, { "certificate-authority": "ca.crt" }),
      { "c.crt": "cert", "c.key": "key", "ca.crt": "ca" },
    );
    expect(await named.identity.tls()).toEqual({ ca: "ca", cert: "cert", key: "key" });
    const careless = await load(config({}, { "insecure-skip-tls-verify": true }));
    expect(await careless.identity.tls()).toEqual({ insecure: true });
  });

  it("merges several files as kubectl does: the first entry wins, missing files are skipped", async () => {
    const first = { "current-context": "here", users: [{ name: "u", user: { token: "first" } }] };
    const folder = files({ a: first, b: config({ token: "second" }) });
    const kubeconfig = ["missing", "a", "b"].map((name) => join(folder, name)).join(":");
    const identity = await loadIdentity({ clock: new VirtualClock(), kubeconfig, environment: {} });
    expect(await identity.headers()).toEqual({ authorization: "Bearer first" });
    expect(identity.server).toBe("https://kube.test:6443");
  });

  it.each<[string, unknown, RegExp]>([
    ["broken YAML", "a: [", /kubeconfig .*config: /],
    ["an empty file", "", /no current context/],
    ["a list", "- 1", /expected object/],
    ["no current context", { ...config(), "current-context": "" }, /no current context/],
    ["an unknown context", { ...config(), "current-context": "x" }, /no context "x"; it has "here"/],
    ["an unknown cluster", { ...config(), clusters: null }, /no cluster "c"; it has none/],
    ["an unknown user", { ...config(), users: [] }, /no user "u"; it has none/],
    ["a cluster without a server", config({}, { server: 7 }), /clusters\.0\.cluster\.server/],
    ["a server that is no address", config({}, { server: "kube.test" }), /not an http or https address: kube.test/],
    ["a proxy", config({}, { "proxy-url": "http://proxy" }), /proxy-url/],
    ["a user to impersonate", config({ as: "someone" }), /impersonation is not supported/],
  ])("explains what is wrong with %s", async (_case, content, message) => {
    const loading = load(content);
    await expect(loading).rejects.toMatchObject({ code: "JOULIE_E_KUBECONFIG" });
    await expect(loading).rejects.toThrow(message);
  });

  it.each(["users: [{name: u, user: {token: hunter2", "token: *hunter2", "token: !!float hunter2\ntoken: 'hunter2"])(
    "keeps possible secrets out of the error for %j",
    async (content) => {
      const failure = await load(content).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: "JOULIE_E_KUBECONFIG", cause: undefined });
      expect(inspect(failure, { depth: 9 }).replace(/at .*/g, "")).not.toContain("hunter2");
      expect(String(failure)).toMatch(/config: this is not YAML/);
    },
  );

  it("reports the position of a YAML error and why a file cannot be read", async () => {
    await expect(load("a: 1\nb: [")).rejects.toThrow(/BAD_INDENT|FLOW|MISSING.* in line 2/);
    const folder = files({ "config/x": "" });
    const loading = loadIdentity({ clock: new VirtualClock(), kubeconfig: join(folder, "config"), environment: {} });
    await expect(loading).rejects.toThrow(/kubeconfig .*: EISDIR/);
  });

  it("names the file in which a certificate or token is missing", async () => {
    await expect(load(config({ tokenFile: "nope" }))).rejects.toThrow(/nope: ENOENT/);
    await expect(load(config({}, { "certificate-authority": "nope.crt" }))).rejects.toThrow(/nope\.crt: ENOENT/);
    await expect(
      loadIdentity({ clock: new VirtualClock(), kubeconfig: "/no/such/file", environment: {} }),
    ).rejects.toThrow("/no/such/file: no such file");
  });

  it("sends no token over http:// unless the user allows it or the server is on loopback", async () => {
    const over = (server: string, user?: object) => config(user, { server });
    for (const user of [{ token: "secret" }, { tokenFile: "t" }])
      await expect(load(over("http://kube.test:8080", user), { t: "secret" })).rejects.toThrow(
        /cluster "c" is http:\/\/kube.test:8080.*use https, or set ALLOW_INSECURE_TOKEN to true/,
      );
    await expect(load(over("http://kube.test:8080", { token: "s3cret" }))).rejects.not.toThrow("s3cret");
    for (const server of ["http://127.0.0.1:8001", "http://[::1]:8001", "http://localhost:8001", "https://kube.test"])
      expect(await (await load(over(server))).identity.headers()).toEqual({ authorization: "Bearer secret" });
    expect(await (await load(over("http://kube.test", {}))).identity.headers()).toEqual({});
    const kubeconfig = join(files({ config: over("http://kube.test") }), "config");
    const allowed = { clock: new VirtualClock(), kubeconfig, environment: {}, allowInsecureToken: true };
    expect(await (await loadIdentity(allowed)).headers()).toEqual({ authorization: "Bearer secret" });
  });

  it("runs an exec plugin, caches its credentials, reruns it after a 401, and accepts certificates from it", async () => {
    const plugin = [
      "#!/bin/sh",
      'echo x >> "$(dirname "$0")/calls"',
      `n=$(wc -l < "$(dirname "$0")/calls" | tr -d ' ')`,
      'echo "{\\"kind\\":\\"ExecCredential\\",\\"apiVersion\\":\\"client.authentication.k8s.io/v1\\",\\"status\\":{\\"token\\":\\"$GREETING-$n\\",\\"clientCertificateData\\":\\"cert\\",\\"clientKeyData\\":\\"key\\"}}"',
    ].join("\n");
    const folder = files({
      config: config({
        exec: {
          apiVersion: "client.authentication.k8s.io/v1",
          command: "./plugin",
          args: ["get-token"],
          env: [{ name: "GREETING", value: "hello" }],
        },
      }),
      plugin,
    });
    chmodSync(join(folder, "plugin"), 0o755);
    const identity = await loadIdentity({
      clock: new VirtualClock(),
      kubeconfig: join(folder, "config"),
      environment: {},
    });
    expect(await identity.headers()).toEqual({ authorization: "Bearer hello-1" });
    expect(await identity.headers()).toEqual({ authorization: "Bearer hello-1" });
    expect(await identity.tls()).toEqual({ cert: "cert", key: "key" });
    identity.refused();
    expect(await identity.headers()).toEqual({ authorization: "Bearer hello-2" });
    expect(readFileSync(join(folder, "calls"), "utf8")).toBe("x\nx\n");
  });

  it("names a plugin that fails", async () => {
    const { identity } = await load(config({ exec: { apiVersion: "x", command: "/no/such/plugin" } }));
    await expect(identity.headers()).rejects.toMatchObject({ code: "JOULIE_E_KUBE_IDENTITY" });
    await expect(identity.headers()).rejects.toThrow('/no/such/plugin, the plugin of user "u",');
  });
});
