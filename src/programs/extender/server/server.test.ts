import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import {
  answerTo,
  calmTwinStatus,
  ExtenderHarness,
  type FilterResult,
  type HostScores,
  podOfClass,
  type RunningExtender,
  type RunningExtenderOptions,
} from "../testing/extender-harness.ts";

let harness: ExtenderHarness;
let extender: RunningExtender;
const start = async (variables: Readonly<Record<string, string>> = {}, options: RunningExtenderOptions = {}) => {
  extender = await harness.start(variables, options);
};
beforeEach(() => {
  harness = new ExtenderHarness();
});
afterEach(async () => harness.end());

/** Ignores errors of clients that disconnect. */
const noFaults = () => expect(extender.logs.filter(({ level }) => level === "error")).toEqual([]);

const asked = JSON.stringify({ Pod: podOfClass("standard"), NodeNames: ["a", "b"] });
const answer = [
  { Host: "a", Score: 50 },
  { Host: "b", Score: 50 },
];

/** A request in progress: its headers and the given part of its body are sent. */
function begun(
  body: string,
  {
    length = Buffer.byteLength(asked),
    agent = false,
  }: { readonly length?: number; readonly agent?: Agent | false } = {},
) {
  const { hostname, port } = new URL(String(extender.url));
  const headers = { "content-length": length };
  const one = request({ host: hostname, port, path: "/prioritize", method: "POST", headers, agent });
  one.on("error", () => undefined);
  one.flushHeaders();
  if (body !== "") one.write(body);
  return one;
}

/** Bytes of requests and answers in memory. */
const heldBytes = async () => Number((await extender.series("request_bytes"))[0]?.split(" ")[1]);
const holds = async (bytes: number) => harness.until(async () => (await heldBytes()) === bytes);

/** A client that requests a large answer and does not read it; resolves when the answer is computed. */
async function answerNotTaken(): Promise<Socket> {
  const names = Array.from({ length: 90_000 }, (_, i) => `node-${i}`.padEnd(110, "x"));
  const text = JSON.stringify({ Pod: podOfClass("standard"), NodeNames: names });
  const lazy = connect(Number(new URL(String(extender.url)).port), "127.0.0.1").pause();
  lazy.on("error", () => undefined);
  lazy.write(`POST /prioritize HTTP/1.1\r\nhost: x\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
  await harness.until(async () => (await heldBytes()) > text.length);
  return lazy;
}

describe("pages", () => {
  it("SCH-51 serves /healthz, and /readyz lists what was read", async () => {
    await start();
    expect(await extender.get("/healthz")).toMatchObject({ status: 200, text: "live\n" });
    expect(await extender.get("/readyz")).toMatchObject({ status: 200, text: "[+] synced\n[+] staying\nready\n" });
    for (const page of ["/livez", "/readyz", "/metrics"]) {
      expect((await fetch(`${extender.metricsUrl}${page}`)).status).toBe(200);
    }
  });

  it.each([
    ["GET", "/filter", 405, "POST"],
    ["PUT", "/prioritize", 405, "POST"],
    ["POST", "/healthz", 405, "GET, HEAD"],
    ["GET", "/", 404, undefined],
    ["POST", "/bind", 404, undefined],
    ["GET", "/__proto__", 404, undefined],
  ])("rejects %s %s with %i, in JSON", async (method, path, status, allow) => {
    await start();
    const refused = await extender.ask<{ error: string }>(method, path);
    expect(refused).toMatchObject({ status, headers: { "content-type": "application/json" } });
    expect(refused.headers.allow).toBe(allow);
    expect(refused.body.error).not.toBe("");
    expect(await extender.series("refused_requests_total")).toEqual([
      `joulie_scheduler_refused_requests_total{status="${status}"} 1`,
    ]);
  });
});

describe("bodies", () => {
  it.each([
    ["", /byte 0/],
    ["{", /byte 1/],
    ["[]", /byte 0/],
    ['{"Pod":{},"NodeNames":["a",]}', /byte 27/],
    ['{"Pod":{}}', /neither Nodes nor NodeNames/],
    ['{"NodeNames":[]}', /no Pod/],
    ['{"Pod":{},"Nodes":{"items":[{}]}}', /Nodes\.items\[0\]\.metadata\.name/],
  ])("X-62 rejects a malformed body with 400 and the position: %s", async (body, place) => {
    await start();
    const refused = await extender.post<{ error: string }>("/filter", body);
    expect(refused.status).toBe(400);
    expect(refused.body.error).toMatch(place);
    expect((await extender.get("/debug/decisions")).body).toMatchObject({ decisions: [] });
  });

  it("reads the last one of repeated keys", async () => {
    await start();
    const twice = '{"Pod":{"metadata":{"name":"p"}},"NodeNames":["a"],"NodeNames":["b"]}';
    expect((await extender.post("/prioritize", twice)).body).toEqual([{ Host: "b", Score: 50 }]);
  });

  it("X-62 rejects a larger body with 413 before reading it, and keeps the connection", async () => {
    await start({ EXTENDER_MAX_BODY_BYTES: "1000" });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const large = begun("", { length: 1001, agent });
    const [refused] = (await once(large, "response")) as [IncomingMessage];
    expect(refused.resume().statusCode).toBe(413);
    large.end("x".repeat(1001));
    const next = begun(asked, { agent });
    next.end();
    expect((await answerTo<HostScores>(next)).body).toEqual(answer);
    agent.destroy();
  });

  it("X-62 reads a chunked body up to the limit", async () => {
    await start({ EXTENDER_MAX_BODY_BYTES: "200000" });
    const { hostname, port } = new URL(String(extender.url));
    const chunked = async (text: string) => {
      const one = request({ host: hostname, port, path: "/prioritize", method: "POST", agent: false });
      for (let at = 0; at < text.length; at += 30_000) one.write(text.slice(at, at + 30_000));
      one.end();
      return answerTo<HostScores>(one);
    };
    const padded = asked.replace("{", `{"x":"${"y".repeat(150_000)}",`);
    expect((await chunked(padded)).body).toEqual(answer);
    expect((await chunked(padded.replace("y", "y".repeat(50_001)))).status).toBe(413);
    await holds(0);
  });

  it("keeps connections open for the next request", async () => {
    await start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    for (let i = 0; i < 3; i++) {
      const one = begun(asked, { agent });
      one.on("socket", (socket) => socket.once("connect", () => ports.add(socket.localPort)));
      one.end();
      expect((await answerTo<HostScores>(one)).body).toEqual(answer);
    }
    expect(ports.size).toBe(1);
    agent.destroy();
  });
});

describe("slow clients", () => {
  /** Sends the bytes and nothing more; resolves with the received text when the extender closes the connection. */
  const cutOff = async (bytes: string): Promise<string> => {
    const socket = connect(Number(new URL(String(extender.url)).port), "127.0.0.1");
    let text = "";
    socket.on("error", () => undefined).on("data", (data) => (text += data.toString()));
    socket.write(bytes);
    await once(socket, "close");
    return text;
  };

  it("X-62 closes the connection of an incomplete header and of a silent client", async () => {
    await start({}, { limits: { header: milliseconds(200), request: milliseconds(60_000) } });
    const [half, silent] = await Promise.all([cutOff("POST /filter HTTP/1.1\r\nhos"), cutOff("")]);
    expect(half).toContain("HTTP/1.1 408 ");
    expect(silent).toMatch(/^$|408/);
    noFaults();
  });

  it("X-62 rejects a header that is too long", async () => {
    await start();
    const long = `GET /healthz HTTP/1.1\r\nhost: x\r\nx-long: ${"x".repeat(17_000)}\r\n\r\n`;
    expect(await cutOff(long)).toContain("HTTP/1.1 431 ");
  });

  it("X-62 aborts an incomplete request and releases its memory", async () => {
    await start({}, { limits: { request: milliseconds(300) } });
    const text = await cutOff("POST /filter HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{");
    expect(text).toContain("HTTP/1.1 408 ");
    await holds(0);
    noFaults();
    expect((await extender.post("/prioritize", asked)).body).toEqual(answer);
  });

  it("X-62 drops an answer that the client does not read when another request needs its memory", async () => {
    await start({ EXTENDER_MAX_BODY_BYTES: "12Mi" });
    const lazy = await answerNotTaken();
    await harness.advance(5);
    expect(await heldBytes()).toBeGreaterThan(0);
    expect((await extender.post("/prioritize", asked.padEnd(10_000_000))).body).toEqual(answer);
    await holds(0);
    lazy.destroy();
  });

  it("X-62 drops an answer that the client does not read", async () => {
    await start();
    const lazy = await answerNotTaken();
    await harness.advance(29);
    expect(await heldBytes()).toBeGreaterThan(0);
    await harness.advance(1);
    await holds(0);
    expect((await extender.post("/prioritize", asked)).body).toEqual(answer);
    lazy.destroy();
  });
});

describe("concurrent requests", () => {
  /** That many bytes of an incomplete body. */
  const part = (bytes: number) => "{".padEnd(bytes);

  it("X-62 a request ends a larger body that is still being received, with 503", async () => {
    await start({ EXTENDER_MAX_BODY_BYTES: "1000" });
    const bodies = [begun(part(990), { length: 1000 }), begun(part(990), { length: 1000 })];
    const ended = Promise.race(bodies.map(async (body) => answerTo(body)));
    await holds(1980);
    expect((await extender.post("/prioritize", asked)).body).toEqual(answer);
    expect(await ended).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    expect(await heldBytes()).toBe(990);
    for (const body of bodies) body.destroy();
    await holds(0);
    noFaults();
  });

  it("X-62 announced bodies that do not arrive delay no other request", async () => {
    await start({ EXTENDER_MAX_BODY_BYTES: "10000" });
    const { hostname, port } = new URL(String(extender.url));
    const chunked = request({ host: hostname, port, path: "/filter", method: "POST", agent: false });
    chunked.on("error", () => undefined).write("{");
    const idle = [begun("{", { length: 10_000 }), begun("{", { length: 10_000 }), chunked];
    await holds(3);
    expect((await extender.post("/prioritize", asked)).body).toEqual(answer);
    expect((await extender.post("/prioritize", asked.padEnd(9000))).body).toEqual(answer);
    for (const one of idle) one.destroy();
    await holds(0);
    noFaults();
  });

  it("X-62 rejects a body when the memory is used up, and serves the others", async () => {
    await start({ EXTENDER_MAX_BODY_BYTES: "1000" });
    const late = begun("{", { length: 1000 });
    await holds(1);
    const others = [begun(part(999), { length: 1000 }), begun(part(999), { length: 1000 })];
    await holds(1999);
    late.write(part(10));
    expect((await answerTo(late)).status).toBe(503);
    late.destroy();
    await holds(1998);
    for (const one of others) one.destroy();
    await holds(0);
    noFaults();
  });

  it("X-62 counts the answer as well as its request", async () => {
    await harness.createNode("eco");
    await harness.twin("eco", { ...calmTwinStatus, schedulableClass: "eco" });
    await start({ EXTENDER_MAX_BODY_BYTES: "100000" });
    const names = Array.from({ length: 10_000 }, () => "eco");
    const refused = await extender.post("/filter", { Pod: podOfClass("performance"), NodeNames: names });
    expect(refused.status).toBe(503);
    expect((await extender.post("/filter", { Pod: podOfClass("standard"), NodeNames: names })).status).toBe(200);
    await holds(0);
  });

  it("X-20 X-62 an answer that is read slowly keeps its memory while other requests arrive", async () => {
    await start();
    const bodyOf = (letter: string) => {
      const items = Array.from({ length: 4000 }, (_, i) => ({ metadata: { name: `n${i}` }, own: letter.repeat(5000) }));
      return JSON.stringify({ Pod: podOfClass("performance"), Nodes: { items }, NodeNames: null });
    };
    const slow = bodyOf("s");
    const { hostname, port } = new URL(String(extender.url));
    const ask = (text: string) => {
      const headers = { "content-length": text.length };
      return request({ host: hostname, port, path: "/filter", method: "POST", headers, agent: false }).end(text);
    };
    const [unread] = (await once(ask(slow), "response")) as [IncomingMessage];
    for (const letter of ["a", "b"]) expect((await answerTo(ask(bodyOf(letter)))).status).toBe(200);
    expect(await heldBytes()).toBeGreaterThanOrEqual(slow.length);
    const taken: Buffer[] = [];
    for await (const piece of unread as AsyncIterable<Buffer>) taken.push(piece);
    const { Nodes } = JSON.parse(Buffer.concat(taken).toString()) as FilterResult;
    expect(JSON.stringify(Nodes?.items)).toBe(JSON.stringify((JSON.parse(slow) as FilterResult).Nodes?.items));
    await holds(0);
  });
});

describe("connections", () => {
  it("X-62 limits connections and closes idle ones for a client with a request", async () => {
    await start({}, { limits: { connections: 4 } });
    const agent = new Agent({ keepAlive: true });
    const idle = Array.from({ length: 4 }, () => begun(asked, { agent }).end());
    for (const one of await Promise.all(idle.map(async (sent) => answerTo<HostScores>(sent)))) {
      expect(one.headers["keep-alive"]).toBe("timeout=120");
    }
    const open = () => Object.values(agent.freeSockets).flat().length;
    expect(open()).toBe(4);
    expect((await extender.post("/prioritize", asked)).body).toEqual(answer);
    // One client address may use half of the connections.
    await harness.until(() => open() === 2);
    agent.destroy();
  });
});

it("X-20 concurrent clients, some of which disconnect: each gets its own data back", async () => {
  await start();
  const bodies = Array.from({ length: 60 }, (_, i) => {
    const items = Array.from({ length: 200 }, (_item, n) => ({
      metadata: { name: `n${n}` },
      spec: { own: `${i}-${n}` },
    }));
    return { items, text: JSON.stringify({ Pod: podOfClass("performance"), Nodes: { items }, NodeNames: null }) };
  });
  await Promise.all(
    bodies.map(async ({ items, text }, i) => {
      if (i % 3 === 0) {
        const leaving = begun(text.slice(0, text.length / 2), { length: text.length });
        await new Promise((resolve) => leaving.once("close", resolve).destroy());
        return;
      }
      expect((await extender.post<FilterResult>("/filter", text)).body.Nodes?.items).toEqual(items);
    }),
  );
  await holds(0);
});

describe("SIGTERM", () => {
  it("finishes requests in progress, accepts no new connection, and stops", async () => {
    await start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const idle = begun(asked, { agent });
    idle.end();
    await answerTo(idle);
    const underWay = begun(asked.slice(0, 10));
    await holds(10);
    extender.terminate();
    await harness.until(async () =>
      extender.get("/healthz").then(
        () => false,
        () => true,
      ),
    );
    expect(extender.ended).toBe(false);
    underWay.end(asked.slice(10));
    expect((await answerTo<HostScores>(underWay)).body).toEqual(answer);
    await extender.done;
    agent.destroy();
  });

  it("X-62 silent clients do not delay the shutdown", async () => {
    await start();
    const silent = connect(Number(new URL(String(extender.url)).port), "127.0.0.1");
    silent.on("error", () => undefined).resume();
    await once(silent, "connect");
    const gone = once(silent, "close");
    extender.terminate();
    await harness.advance(0);
    await Promise.all([gone, extender.done]);
    expect(extender.logs.map(({ level }) => level)).not.toContain("warn");
  });

  it("reports not ready and keeps answering during the shutdown delay", async () => {
    await start({}, { shutdownDelay: milliseconds(5000) });
    const agent = new Agent({ keepAlive: true });
    extender.terminate();
    const readiness = async () => [
      await extender.get("/readyz").then(({ status, text }) => ({ status, text })),
      await fetch(`${extender.metricsUrl}/readyz`).then(async (page) => ({
        status: page.status,
        text: await page.text(),
      })),
    ];
    for (const seconds of [0, 4]) {
      await harness.advance(seconds);
      for (const { status, text } of await readiness()) {
        expect(status).toBe(503);
        expect(text).toContain("[-] staying: the extender is shutting down");
      }
      const one = begun(asked, { agent });
      one.end();
      const answered = await answerTo<HostScores>(one);
      expect(answered.body).toEqual(answer);
      expect(answered.headers.connection).toBe("close");
    }
    expect(extender.ended).toBe(false);
    await harness.advance(2);
    await extender.done;
    await expect(extender.get("/healthz")).rejects.toThrow("ECONNREFUSED");
    agent.destroy();
  });

  it("limits how long the shutdown waits for requests", async () => {
    await start({}, { limits: { close: milliseconds(1500) } });
    const stuck = begun("{");
    await holds(1);
    const gone = new Promise((resolve) => stuck.once("close", resolve));
    extender.terminate();
    await harness.advance(1);
    expect(extender.ended).toBe(false);
    await harness.advance(1);
    await gone;
    await extender.done;
    expect(extender.logs.map(({ msg }) => msg)).toContain(
      "closed the connections of requests that were still in progress",
    );
  });
});

it("an address in use ends the extender with a one-line error and closes the other server", async () => {
  await start();
  const { port } = new URL(String(extender.url));
  const free = createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const metrics = `127.0.0.1:${(free.address() as AddressInfo).port}`;
  await new Promise((resolve) => free.close(resolve));
  const second = await harness.start({ EXTENDER_ADDR: `127.0.0.1:${port}`, METRICS_ADDR: metrics }, { synced: false });
  await expect(second.done).rejects.toThrow(
    `cannot listen on EXTENDER_ADDR 127.0.0.1:${port}: another program uses this address`,
  );
  await expect(fetch(`http://${metrics}/livez`)).rejects.toThrow("fetch failed");
});
