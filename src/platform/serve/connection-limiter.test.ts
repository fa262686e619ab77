import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { eventually, VirtualClock } from "../clock/testing/index.ts";
import { ask, raw, TestServers } from "./testing/test-servers.ts";

const ms = milliseconds;
const servers = new TestServers();
afterEach(async () => servers.end());

describe("limits", () => {
  it("disconnects a client that does not finish its request", async () => {
    const served = await servers.start({ limits: { request: ms(40) } });
    const [silent, slow] = await Promise.all([raw(served, ""), raw(served, "GET /livez HTTP/1.1\r\nhost: x\r\n")]);
    expect(silent).toMatch(/^$|408/);
    expect(slow).toContain("HTTP/1.1 408 ");
  });

  it("disconnects a client that does not read its response", async () => {
    async function* text() {
      for (;;) yield "x".repeat(65_536);
    }
    const clock = new VirtualClock();
    const served = await servers.start({ metrics: { contentType: "text/plain", text }, clock });
    const socket = connect(served.address.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n");
    socket.pause();
    // The time limit of the response.
    await eventually(() => clock.waiting > 0);
    clock.advance(ms(30_000));
    socket.resume();
    // Without the limit the response would never end.
    await expect(once(socket, "close")).resolves.toBeDefined();
  });

  it("X-62 evicts silent connections, and rejects neither a keep-alive connection nor a new one", async () => {
    const served = await servers.start({ limits: { connections: 8 } });
    const retained = connect(served.address.port, "127.0.0.1");
    const get = async () => {
      retained.write("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n");
      await once(retained, "data");
    };
    await get();
    // The oldest connection, but not evicted because of another address.
    const elsewhere = Array.from({ length: 4 }, () =>
      connect({ port: served.address.port, host: "127.0.0.1", localAddress: "127.0.0.2" }).on("error", () => undefined),
    );
    await Promise.all(elsewhere.map(async (socket) => once(socket, "connect")));
    const silent = Array.from({ length: 12 }, () => connect(served.address.port, "127.0.0.1"));
    const closed = silent.map(async (socket) => once(socket.on("error", () => undefined).resume(), "close"));
    expect((await ask(served, "/livez")).status).toBe(200);
    // One address keeps half of the limit: three silent connections and the one that completed a request.
    await Promise.all(closed.slice(0, 9));
    expect(silent.map(({ closed: isClosed }) => isClosed)).toEqual(Array.from({ length: 12 }, (_, i) => i < 9));
    expect(elsewhere.map(({ closed: isClosed }) => isClosed)).toEqual([false, false, false, false]);
    await get();
    expect((await ask(served, "/livez")).status).toBe(200);
    for (const socket of [retained, ...silent, ...elsewhere]) socket.destroy();
  });
});

describe("listening and closing", () => {
  it("reports the real port for port 0", async () => {
    const served = await servers.start();
    expect(served.address.port).toBeGreaterThan(0);
    expect(served.url).toBe(`http://127.0.0.1:${served.address.port}`);
    const everywhere = await servers.start({ address: { host: undefined, port: 0 } });
    expect(everywhere.url).toBe(`http://localhost:${everywhere.address.port}`);
    expect((await ask(everywhere, "/livez")).status).toBe(200);
  });

  it("names the address that is in use, and the remedy", async () => {
    const { address } = await servers.start();
    await expect(servers.start({ address })).rejects.toThrow(
      `cannot listen on METRICS_ADDR 127.0.0.1:${address.port}: another program uses this address; stop it, or choose another port`,
    );
    await expect(servers.start({ address: { host: "192.0.2.1", port: 0 }, variable: "EXTENDER_ADDR" })).rejects.toThrow(
      "cannot listen on EXTENDER_ADDR 192.0.2.1:0: this machine does not have this address",
    );
  });

  it("finishes a response in progress, closes idle connections and frees the port", async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const page = async () => {
      begin();
      await gate;
      return "done";
    };
    const served = await servers.start({ pages: { "/debug/slow": page }, limits: { close: ms(10_000) } });
    const idle = connect(served.address.port, "127.0.0.1");
    idle.write("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(idle, "data");
    // A keep-alive connection must not keep the server open after its response.
    const slow = raw(served, "GET /debug/slow HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await begun;
    const closing = served.close();
    await once(idle, "close");
    await expect(ask(served, "/livez")).rejects.toThrow("ECONNREFUSED");
    open();
    await closing;
    expect(await slow).toContain('"done"');
    expect(servers.log).toBe("");
    await served.close();
    await servers.start({ address: served.address });
  });

  it("does not wait for a client longer than the limit", async () => {
    const begun = Promise.withResolvers<void>();
    const served = await servers.start({
      pages: {
        "/debug/never": async () => {
          begun.resolve();
          await new Promise(() => undefined);
        },
      },
      limits: { close: ms(30) },
    });
    const answer = raw(served, "GET /debug/never HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await begun.promise;
    await served.close();
    expect(await answer).toBe("");
    expect(servers.log).toContain("did not read their responses in time");
  });
});
