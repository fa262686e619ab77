import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../clock/index.ts";
import { metric, ProgramMetrics } from "../metrics/index.ts";
import type { ServeOptions } from "./index.ts";
import { ask, raw, TestServers } from "./testing/test-servers.ts";

const servers = new TestServers();
afterEach(async () => servers.end());

describe("/metrics", () => {
  it("serves Prometheus text, thousands of nodes long", async () => {
    const metrics = new ProgramMetrics(systemClock);
    const watts = metric({ name: "joulie_watts", help: "Watts.", type: "gauge", labels: ["node"] });
    const column = metrics.nodes.gauge(watts).column();
    for (let node = 0; node < 5000; node++) column.set(metrics.nodes.join(`node-${node}`), node);
    const answer = await ask(await servers.start({ metrics }), "/metrics");
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(answer.body).toMatch(/^# HELP joulie_watts Watts\.\n# TYPE joulie_watts gauge\n/);
    expect(answer.body.match(/^joulie_watts\{node="node-\d+"\} \d+$/gm)).toHaveLength(5000);
  });

  it("X-142 on loopback refuses a Host header of another name, which a web page can make a browser send", async () => {
    const served = await servers.start();
    const statusFor = async (host: string) =>
      raw(served, `GET /metrics HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    for (const host of ["evil.example", `evil.example:${served.address.port}`, "127.0.0.1.evil.example", "10.0.0.1"])
      expect(await statusFor(host)).toMatch(/^HTTP\/1.1 403 /);
    for (const host of ["localhost", "127.0.0.1:8080", "[::1]:8080"])
      expect(await statusFor(host)).toMatch(/^HTTP\/1.1 200 /);
  });

  it("X-142 on all addresses answers to every name, as Prometheus may use any", async () => {
    const served = await servers.start({ address: { host: undefined, port: 0 } });
    expect(await raw(served, "GET /metrics HTTP/1.1\r\nhost: node-1.example\r\nconnection: close\r\n\r\n")).toMatch(
      /^HTTP\/1.1 200 /,
    );
  });

  it("aborts the response if the page fails halfway, and keeps serving", async () => {
    async function* text() {
      yield "joulie_watts 1\n";
      throw new Error("no more");
    }
    const served = await servers.start({ metrics: { contentType: "text/plain", text } });
    await expect(ask(served, "/metrics")).rejects.toThrow(/aborted|hang up/);
    expect(servers.log).toContain("no more");
    expect((await ask(served, "/livez")).status).toBe(200);
  });

  it("stops producing the page when the client disconnects", async () => {
    const { promise: stopped, resolve } = Promise.withResolvers<void>();
    async function* text() {
      try {
        for (;;) yield "x".repeat(65_536);
      } finally {
        resolve();
      }
    }
    const served = await servers.start({ metrics: { contentType: "text/plain", text } });
    const socket = connect(served.address.port, "127.0.0.1");
    socket.write("GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await once(socket, "data");
    socket.destroy();
    await expect(stopped).resolves.toBeUndefined();
  });
});

describe("health", () => {
  it("returns 200 and every check's name while all pass", async () => {
    const served = await servers.start({ live: { loop: () => undefined }, ready: { caches: () => undefined } });
    expect(await ask(served, "/livez")).toMatchObject({ status: 200, body: "[+] loop\nlive\n" });
    expect(await ask(served, "/readyz")).toMatchObject({ status: 200, body: "[+] caches\nready\n" });
  });

  it("returns 503 with the reason if one fails, and checks again on each request", async () => {
    const reasons: (string | undefined)[] = ["no list of nodes yet", undefined];
    const served = await servers.start({ ready: { leader: () => undefined, caches: () => reasons.shift() } });
    const answer = await ask(served, "/readyz?verbose");
    expect(answer.status).toBe(503);
    expect(answer.body).toBe("[+] leader\n[-] caches: no list of nodes yet\nnot ready: 1 of 2 checks failed\n");
    expect((await ask(served, "/readyz")).status).toBe(200);
  });

  it("reports a check that throws as failed, on one line and without secrets", async () => {
    const broken = () => {
      throw new Error("GET https://me:hunter2@host\nfailed");
    };
    const answer = await ask(await servers.start({ live: { api: broken } }), "/livez");
    expect(answer.status).toBe(503);
    expect(answer.body).toContain("[-] api: the check threw an error: GET https://me:***@host\\nfailed\n");
  });

  it("works without checks", async () => {
    expect(await ask(await servers.start(), "/readyz")).toMatchObject({ status: 200, body: "ready\n" });
  });
});

describe("debug pages", () => {
  const pages: ServeOptions["pages"] = {
    "/debug/plan": async (query) => ({ node: query.get("node"), profile: "eco" }),
    "/debug/none": () => undefined,
    "/debug/broken": () => {
      throw new Error("a detail for the log");
    },
    "/debug/endless": () => 1n,
    "/debug/secret": () => ({ token: "hunter2", from: "http://me:hunter2@host/x" }),
  };

  it("are JSON, on one line or indented", async () => {
    const served = await servers.start({ pages });
    const answer = await ask(served, "/debug/plan?node=a%20b");
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.body).toBe('{"node":"a b","profile":"eco"}\n');
    expect((await ask(served, "/debug/plan?pretty")).body).toBe('{\n  "node": null,\n  "profile": "eco"\n}\n');
  });

  it("may be streams, with the same access rules", async () => {
    async function* pieces() {
      yield "[1,";
      yield "2]";
    }
    const streamed = (query: URLSearchParams) =>
      query.has("unknown") ? undefined : { status: 200, type: "application/json", body: pieces() };
    const served = await servers.start({ streamedPages: { "/debug/stream": streamed } });
    expect((await ask(served, "/debug/stream")).body).toBe("[1,2]");
    expect((await ask(served, "/debug/stream?unknown")).status).toBe(404);
    const foreign = "GET /debug/stream HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    expect(await raw(served, foreign)).toMatch(/^HTTP\/1\.1 403 /);
  });

  it("are refused to a browser that uses a foreign host name; health is not", async () => {
    const served = await servers.start({ pages });
    const asked = async (path: string) =>
      raw(served, `GET ${path} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n`);
    const refused = await asked("/debug/plan");
    expect(refused).toMatch(/^HTTP\/1\.1 403 [^]*DEBUG_ENDPOINTS=true/);
    expect(refused).not.toContain("eco");
    for (const path of ["/livez", "/readyz"]) expect(await asked(path)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("return 404 if there is nothing for the query", async () => {
    expect((await ask(await servers.start({ pages }), "/debug/none")).status).toBe(404);
  });

  it.each(["/debug/broken", "/debug/endless"])(
    "report a failure, with the reason in the log only: %s",
    async (path) => {
      const answer = await ask(await servers.start({ pages }), path);
      expect(answer.status).toBe(500);
      expect(answer.body).toBe("this page failed; see the program's log\n");
      expect(servers.log).toMatch(/a detail for the log|BigInt/);
    },
  );

  it.each(["", "?pretty"])("redact secrets %s", async (query) => {
    const { body } = await ask(await servers.start({ pages }), `/debug/secret${query}`);
    expect(body).not.toContain("hunter2");
    expect(JSON.parse(body)).toEqual({ token: "***", from: "http://me:***@host/x" });
  });

  it.each(["/metrics", "debug", "/a?b", "/a b"])("are rejected at the path %s", async (path) => {
    await expect(servers.start({ pages: { [path]: () => 1 } })).rejects.toThrow("invalid or duplicate page path");
  });
});

describe("requests", () => {
  it.each(["/", "/nope", "/metrics/", "/__proto__", "/constructor", "//metrics", "/%2e%2e/etc/passwd"])(
    "for an unknown page get a list of the pages: %s",
    async (path) => {
      const answer = await ask(await servers.start({ pages: { "/debug/plan": () => 1 } }), path);
      expect(answer.status).toBe(404);
      expect(answer.body).toBe("page not found; available pages: /debug/plan, /livez, /metrics, /readyz\n");
    },
  );

  it.each(["POST", "PUT", "DELETE", "OPTIONS"])("with a writing method are rejected: %s", async (method) => {
    const answer = await ask(
      await servers.start(),
      "/metrics",
      method,
      method === "POST" ? "x".repeat(100_000) : undefined,
    );
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe("GET, HEAD");
    expect(answer.body).toBe("/metrics is read-only: use GET\n");
  });

  it("with HEAD get the headers only, and produce no page", async () => {
    let made = 0;
    async function* text() {
      made++;
      yield "x\n";
    }
    const served = await servers.start({
      metrics: { contentType: "text/plain", text },
      pages: { "/p": () => ({ a: 1 }) },
    });
    expect(await ask(served, "/metrics", "HEAD")).toMatchObject({ status: 200, body: "" });
    expect(made).toBe(0);
    const page = await ask(served, "/p", "HEAD");
    expect(page.headers["content-length"]).toBe("8");
    expect(page.body).toBe("");
  });

  it.each([
    ["garbage", "\0\x01\x02\r\n\r\n", "400"],
    ["no host", "GET /livez HTTP/1.1\r\n\r\n", "400"],
    ["endless headers", `GET /livez HTTP/1.1\r\nhost: x\r\nx: ${"x".repeat(40_000)}\r\n\r\n`, "431"],
    ["a URL that is none", "GET http://[ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", "404"],
    ["TLS", "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", "400"],
  ])("that are malformed do no harm: %s", async (_what, bytes, status) => {
    const served = await servers.start();
    expect(await raw(served, bytes)).toContain(`HTTP/1.1 ${status} `);
    expect((await ask(served, "/livez")).status).toBe(200);
  });
});
