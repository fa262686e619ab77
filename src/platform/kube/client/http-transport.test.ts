import { readFileSync } from "node:fs";
import {
  createServer as createPlainServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { systemClock } from "../../clock/index.ts";
import { realWork } from "../../clock/testing/index.ts";
import { systemRandom } from "../../random/index.ts";
import type { Identity, TlsMaterial } from "../auth/identity.ts";
import { KubeClient } from "./client.ts";
import { HttpTransport, type HttpTransportOptions } from "./http-transport.ts";
import { resources } from "./resources.ts";

const pem = (file: string) => readFileSync(join(import.meta.dirname, "../testdata", file), "utf8");
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Served {
  readonly port: number;
  readonly connections: () => number;
}

async function serve(listener: RequestListener, secure = true): Promise<Served> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const tls = {
    cert: pem("server.crt"),
    key: pem("server.key"),
    ca: pem("ca.crt"),
    requestCert: true,
    rejectUnauthorized: false,
  };
  const server = secure ? createServer(tls, listener) : createPlainServer(listener);
  server.on(secure ? "secureConnection" : "connection", (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

function open(identity: Partial<Identity> & Pick<Identity, "server">, more: Partial<HttpTransportOptions> = {}) {
  const whole: Identity = {
    namespace: undefined,
    headers: async () => ({}),
    tls: async () => ({ ca: pem("ca.crt") }),
    refused: () => undefined,
    ...identity,
  };
  const transport = new HttpTransport({ identity: whole, ...more });
  closers.push(async () => transport.close());
  const client = new KubeClient({
    transport,
    clock: systemClock,
    random: systemRandom,
    fieldManager: "test",
    retries: 0,
  });
  return { transport, client };
}

const json = (response: ServerResponse, value: unknown, status = 200) => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
};
const list = { kind: "NodeList", metadata: { resourceVersion: "7" }, items: [] };

describe("HttpTransport", () => {
  it("X-56 gives a free connection to the newest waiting call, which has most of its time left", async () => {
    const first = Promise.withResolvers<void>();
    const paths: string[] = [];
    const { port } = await serve(({ url = "" }, response) => {
      paths.push(url);
      if (url === "/overload") first.resolve();
      else json(response, list);
    });
    const { transport } = open({ server: `https://127.0.0.1:${port}` }, { connections: 1 });
    const overload = new AbortController();
    const never = new AbortController().signal;
    const ask = async (path: string, signal = never) => {
      const { body } = await transport.request({ method: "GET", path, headers: {}, signal });
      for await (const _ of body);
    };
    const aborted = ask("/overload", overload.signal).catch((error: unknown) => error);
    await first.promise;
    const waiting = [ask("/older"), ask("/newer")];
    await realWork();
    overload.abort(new Error("too late"));
    await Promise.all(waiting);
    expect(await aborted).toEqual(new Error("too late"));
    expect(paths).toEqual(["/overload", "/newer", "/older"]);
  });

  it("sends calls over keep-alive TLS connections with HTTP/1.1", async () => {
    const seen: Partial<IncomingMessage>[] = [];
    const { port, connections } = await serve((request, response) => {
      const { method, url, headers, httpVersion } = request;
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        seen.push({ method: method ?? "", url: url ?? "", headers, httpVersion });
        json(response, { metadata: { name: "n" }, echo: body });
      });
    });
    const { client } = open({ server: `https://127.0.0.1:${port}/prefix/` });
    for (let time = 0; time < 20; time++) {
      const answer = await client.mergePatch(resources.nodes, { name: "n" }, { time });
      expect(answer).toMatchObject({ echo: `{"time":${time}}` });
    }
    // The next call may start before the last connection is marked free.
    expect(connections()).toBeLessThanOrEqual(2);
    expect(seen[0]).toMatchObject({
      method: "PATCH",
      url: "/prefix/api/v1/nodes/n?fieldManager=test",
      httpVersion: "1.1",
      headers: { "content-type": "application/merge-patch+json", "content-length": "10" },
    });
  });

  it("limits the number of connections and queues further calls", async () => {
    const { port, connections } = await serve((_request, response) => void realWork().then(() => json(response, list)));
    const { client } = open({ server: `https://127.0.0.1:${port}` }, { connections: 3 });
    const answers = await Promise.all(Array.from({ length: 60 }, async () => client.list(resources.nodes)));
    expect(answers).toHaveLength(60);
    expect(connections()).toBe(3);
  });

  it("does not let watches use the connections of calls", async () => {
    const { port } = await serve((request, response) => {
      if (request.url?.includes("watch=") === true) {
        response.writeHead(200);
        response.flushHeaders();
      } else json(response, list);
    });
    const { client } = open({ server: `https://127.0.0.1:${port}` }, { connections: 1, watchConnections: 4 });
    const abort = new AbortController();
    const watch = async () => client.watch(resources.nodes, { resourceVersion: "7" }, { signal: abort.signal });
    const watches = await Promise.all([watch(), watch(), watch(), watch()]);
    expect((await client.list(resources.nodes)).resourceVersion).toBe("7");
    const ends = watches.map(async (events) => expect(events.next()).rejects.toThrow("enough"));
    abort.abort(new Error("enough"));
    await Promise.all(ends);
  });

  it("requests credentials for each call and notifies the identity after a 401", async () => {
    const tokens = ["old", "new"];
    let refused = 0;
    const { port } = await serve((request, response) => {
      const allowed = request.headers.authorization === "Bearer new";
      json(response, allowed ? list : { kind: "Status", code: 401, message: "Unauthorized" }, allowed ? 200 : 401);
    });
    const { client } = open({
      server: `https://127.0.0.1:${port}`,
      headers: async () => ({ authorization: `Bearer ${tokens[0]}` }),
      refused: () => {
        refused++;
        tokens.shift();
      },
    });
    expect((await client.list(resources.nodes, {}, { retries: 1 })).items).toEqual([]);
    expect(refused).toBe(1);
  });

  it("authenticates with a client certificate and uses a renewed one for new connections", async () => {
    const { port } = await serve((request, response) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate();
      response.setHeader("connection", "close");
      json(response, { metadata: {}, person: subject?.CN ?? "nobody" });
    });
    let material: TlsMaterial = { ca: pem("ca.crt") };
    const { client } = open({ server: `https://127.0.0.1:${port}`, tls: async () => material });
    expect(await client.raw("/")).toMatchObject({ person: "nobody" });
    material = { ...material, cert: pem("person.crt"), key: pem("person.key") };
    expect(await client.raw("/")).toMatchObject({ person: "person" });
  });

  it("verifies the server certificate, with another name or not at all only if configured", async () => {
    const { port } = await serve((_request, response) => json(response, list));
    const reach = async (tls: TlsMaterial, host = "127.0.0.1") =>
      open({ server: `https://${host}:${port}`, tls: async () => tls }).client.list(resources.nodes);
    await expect(reach({})).rejects.toMatchObject({ kind: "network" });
    await expect(reach({ ca: pem("ca.crt"), serverName: "other.test" })).rejects.toMatchObject({ kind: "network" });
    await expect(reach({ ca: pem("ca.crt") }, "localhost")).rejects.toThrow(/altnames/i);
    expect((await reach({ ca: pem("ca.crt"), serverName: "kube.test" }, "localhost")).items).toEqual([]);
    expect((await reach({ insecure: true })).items).toEqual([]);
  });

  it("reports a refused connection as certainly not executed", async () => {
    const { port } = await serve(() => undefined, false);
    for (const close of closers.splice(0)) await close();
    const { client } = open({ server: `http://127.0.0.1:${port}` });
    await expect(client.list(resources.nodes)).rejects.toMatchObject({ kind: "network", notDone: true });
  });

  it("fails a call, not the program, when the identity fails", async () => {
    const { port } = await serve((_request, response) => json(response, list));
    const broken = async () => Promise.reject(new Error("the plugin is broken"));
    const server = `https://127.0.0.1:${port}`;
    await expect(open({ server, headers: broken }).client.list(resources.nodes)).rejects.toThrow(
      "the plugin is broken",
    );
    await expect(open({ server, tls: broken }).client.list(resources.nodes)).rejects.toThrow("the plugin is broken");
  });

  it("times out while the identity hangs", async () => {
    const { port } = await serve((_request, response) => json(response, list));
    const server = `https://127.0.0.1:${port}`;
    const hanging = async () => new Promise<never>(() => undefined);
    const short = { timeout: milliseconds(20) };
    const headless = open({ server, headers: hanging }).client;
    await expect(headless.list(resources.nodes, {}, short)).rejects.toMatchObject({ kind: "timeout" });
  });

  it("releases the connection slot if the certificates never arrive", async () => {
    const { port } = await serve((_request, response) => json(response, list));
    let asked = 0;
    const tls = async () => (++asked === 1 ? new Promise<never>(() => undefined) : { ca: pem("ca.crt") });
    const once = { connections: 1, connectTimeout: milliseconds(200) };
    const { client } = open({ server: `https://127.0.0.1:${port}`, tls }, once);
    await expect(client.list(resources.nodes)).rejects.toThrow("no certificates within 200 ms");
    // A slow machine may need more than one attempt.
    const again = async () => client.list(resources.nodes).catch(String);
    await expect.poll(again).toMatchObject({ items: [] });
  });

  it("distinguishes an aborted response from a complete one", async () => {
    const { port } = await serve((_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write('{"items":[');
      void realWork().then(() => response.destroy());
    }, false);
    const { client } = open({ server: `http://127.0.0.1:${port}` });
    await expect(client.list(resources.nodes)).rejects.toMatchObject({ kind: "network", notDone: false });
  });

  it("aborts pending requests on timeout or when the transport is closed", async () => {
    const { port } = await serve(() => undefined, false);
    const { client, transport } = open({ server: `http://127.0.0.1:${port}` });
    const short = { timeout: milliseconds(20) };
    await expect(client.list(resources.nodes, {}, short)).rejects.toMatchObject({ kind: "timeout" });
    const call = client.list(resources.nodes);
    call.catch(() => undefined);
    await realWork();
    await transport.close();
    await expect(call).rejects.toMatchObject({ kind: "network" });
  });
});
