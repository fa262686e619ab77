import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { systemClock } from "../../clock/index.ts";
import { eventually, VirtualClock } from "../../clock/testing/index.ts";
import type { EndpointRange } from "../../config/index.ts";
import { TelemetryError } from "../errors.ts";
import { FakeServer, type Handler } from "../testing/fake-server.ts";
import { EndpointAccess } from "./endpoint-access.ts";
import { HttpClient, type HttpClientOptions } from "./http-client.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function open(handler: Handler, options: Partial<HttpClientOptions> = {}) {
  const server = new FakeServer(handler);
  const port = await server.listen();
  const http = new HttpClient({ clock: systemClock, timeout: milliseconds(10_000), ...options });
  closers.push(
    async () => server.close(),
    async () => http.close(),
  );
  return { server, http, at: (path: string) => new URL(path, `http://127.0.0.1:${port}`) };
}

const accessTo = (allowed: readonly EndpointRange[]) =>
  new EndpointAccess({ variables: [], allowed, hasToken: true, insecureToken: false });

/** The URL of a server, whose port is known only after it listens. */
const trusted = { of: () => ({ token: true }) } as unknown as EndpointAccess;

function file(name: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "joulie-telemetry-"));
  closers.push(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

describe("HttpClient", () => {
  it("returns JSON and reports other responses as errors", async () => {
    const { http, at } = await open(({ path }) => {
      if (path === "/good") return { json: { watts: 1 } };
      return path === "/html" ? { text: "<html>log in</html>" } : { status: 503, text: "later\n" };
    });
    expect(await http.json({ url: at("/good") })).toEqual({ watts: 1 });
    await expect(http.json({ url: at("/html") })).rejects.toMatchObject({ kind: "garbled" });
    await expect(http.json({ url: at("/bad?token=x") })).rejects.toMatchObject({
      kind: "status",
      status: 503,
      message: expect.stringMatching(/^GET http:\/\/127\.0\.0\.1:\d+\/bad: status 503$/),
    });
  });

  it("keeps response bodies out of its errors, because they appear in status and logs", async () => {
    const { http, at } = await open(({ path }) => {
      if (path === "/redirect") return { status: 302, headers: { location: "http://h/?k=s3cret" }, text: "s3cret" };
      return path === "/text" ? { text: "s3cret" } : { status: 500, text: "s3cret" };
    });
    for (const path of ["/redirect", "/text", "/error"]) {
      const error = await http.json({ url: at(path) }).catch((one: unknown) => one);
      expect(error).toBeInstanceOf(TelemetryError);
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("s3cret");
    }
    const ssh = createServer((socket) => socket.end("SSH-2.0-s3cret\r\n"));
    await new Promise<void>((resolve) => {
      ssh.listen(0, "127.0.0.1", resolve);
    });
    closers.push(() => ssh.close());
    const { port } = ssh.address() as AddressInfo;
    const error = await http.json({ url: new URL(`http://127.0.0.1:${port}/`) }).catch((one: unknown) => one);
    expect(error).toMatchObject({ kind: "network" });
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("s3cret");
  });

  it("does not call refused endpoints and sends the token only to permitted ones", async () => {
    const { http, at, server } = await open(() => ({ json: 1 }), {
      tokenFile: file("token", "s3cret"),
      access: accessTo([{ kind: "network", address: "127.0.0.1", prefix: 32, family: "ipv4" }]),
    });
    const elsewhere = new URL("http://127.0.0.2:1/");
    await expect(http.json({ url: elsewhere })).rejects.toMatchObject({
      kind: "not_allowed",
      message: "http://127.0.0.2:1 is not an allowed endpoint: add it to TELEMETRY_ALLOWED_ENDPOINTS",
    });
    await http.json({ url: at("/x") });
    const open2 = await open(() => ({ json: 1 }), { tokenFile: file("token", "s3cret") });
    await open2.http.json({ url: open2.at("/x") });
    expect([...server.received, ...open2.server.received].map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      undefined,
    ]);
  });

  it("names the host that refuses a connection", async () => {
    const { http, at, server } = await open(() => ({ json: 1 }));
    await server.close();
    await expect(http.json({ url: at("/x") })).rejects.toMatchObject({
      kind: "network",
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });

  it("follows no redirect, so that the token does not reach another host", async () => {
    const other = await open(() => ({ json: {} }));
    const tokenFile = file("token", "secret\n");
    const { http, at } = await open(() => ({ status: 307, headers: { location: other.at("/steal").href }, text: "" }), {
      tokenFile,
      access: trusted,
    });
    await expect(http.json({ url: at("/x") })).rejects.toMatchObject({ kind: "redirect", status: 307 });
    expect(other.server.received).toHaveLength(0);
  });

  it.each([
    ["says nothing", undefined],
    ["stops in the middle", { headers: { "content-length": "100" }, text: "half" }],
  ])("times out on a server that %s, and leaves no timer behind", async (_name, reply) => {
    const clock = new VirtualClock();
    const { http, at, server } = await open(() => reply, { clock, timeout: milliseconds(2000) });
    const caught = http.send({ url: at("/x") }).catch((error: unknown) => error);
    await eventually(() => server.received.length === 1);
    clock.advance(milliseconds(2000));
    expect(await caught).toMatchObject({ kind: "timeout", message: expect.stringContaining("2s") });
    expect(clock.waiting).toBe(0);
  });

  it("rejects with the caller's abort reason", async () => {
    const { http, at, server } = await open(() => undefined);
    const abort = new AbortController();
    const caught = http.send({ url: at("/x"), signal: abort.signal }).catch((error: unknown) => error);
    const reason = new Error("shutting down");
    await eventually(() => server.received.length === 1);
    abort.abort(reason);
    expect(await caught).toBe(reason);
    await expect(http.send({ url: at("/x"), signal: abort.signal })).rejects.toBe(reason);
  });

  it("limits the size of a response", async () => {
    const { http, at } = await open(({ path }) => ({ text: "x".repeat(Number(path.slice(1))) }), {
      maxBodyBytes: 1000,
    });
    expect((await http.send({ url: at("/1000") })).text).toHaveLength(1000);
    await expect(http.send({ url: at("/1001") })).rejects.toMatchObject({ kind: "too_large" });
    await expect(http.send({ url: at("/9999999") })).rejects.toMatchObject({ kind: "too_large" });
  });

  it("limits the connections per host", async () => {
    const { http, at, server } = await open(() => ({ json: 1 }), { connections: 3 });
    await Promise.all(Array.from({ length: 50 }, async () => http.json({ url: at("/x") })));
    expect(server.received).toHaveLength(50);
    expect(server.connections).toBe(3);
  });

  it("sends the token and reads the file again after a 401", async () => {
    const tokenFile = file("token", "old\n");
    const { http, at, server } = await open(
      ({ headers }) => ({ status: headers.authorization === "Bearer new" ? 200 : 401, text: "{}" }),
      { tokenFile, access: trusted },
    );
    await expect(http.json({ url: at("/x") })).rejects.toMatchObject({ status: 401 });
    writeFileSync(tokenFile, "new");
    expect(await http.json({ url: at("/x") })).toEqual({});
    // A half-written file: the last token stays in use.
    writeFileSync(tokenFile, "");
    expect(await http.json({ url: at("/x") })).toEqual({});
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer old",
      "Bearer new",
      "Bearer new",
    ]);
  });

  it("names an unusable token file", async () => {
    const { http, at, server } = await open(() => ({ json: 1 }), {
      tokenFile: "/nowhere/token",
      access: trusted,
    });
    await expect(http.json({ url: at("/x") })).rejects.toMatchObject({
      kind: "credentials",
      message: expect.stringContaining("/nowhere/token"),
    });
    expect(server.received).toHaveLength(0);
  });

  it("sends URL credentials as a header and keeps them out of messages", async () => {
    const { http, at, server } = await open(() => ({ status: 500, text: "" }));
    const url = at("/x");
    url.username = "me";
    url.password = "p@ss";
    const failure = http.json({ url });
    await expect(failure).rejects.toThrow("status 500");
    await expect(failure).rejects.not.toThrow(/p@ss|p%40ss/);
    expect(server.received[0]?.headers.authorization).toBe(`Basic ${Buffer.from("me:p@ss").toString("base64")}`);
  });

  it("trusts the CA certificates of the file only", async () => {
    const pem = (name: string) => readFileSync(join(import.meta.dirname, "../../kube/testdata", name), "utf8");
    const server = new FakeServer(() => ({ json: "trusted" }), { cert: pem("server.crt"), key: pem("server.key") });
    const url = new URL(`https://127.0.0.1:${await server.listen()}/`);
    const client = (caFile?: string) => {
      const http = new HttpClient({ clock: systemClock, timeout: milliseconds(10_000), caFile });
      closers.push(async () => http.close());
      return http;
    };
    closers.push(async () => server.close());
    expect(await client(file("ca.crt", pem("ca.crt"))).json({ url })).toBe("trusted");
    await expect(client().json({ url })).rejects.toMatchObject({ kind: "network" });
    await expect(client("/nowhere/ca.crt").json({ url })).rejects.toMatchObject({
      message: expect.stringContaining("/nowhere/ca.crt"),
    });
  });
});
