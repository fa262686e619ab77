import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../clock/index.ts";
import { metric, ProgramMetrics } from "../metrics/index.ts";
import type { ServeOptions } from "./index.ts";
import { ask, raw, TestServers } from "./testing/test-servers.ts";

const trial = new TestServers();
afterEach(async () => trial.end());

describe("/metrics", () => {
  it("serves Prometheus text, thousands of nodes long", async () => {
    const metrics = new ProgramMetrics(systemClock);
    const watts = metric({ name: "joulie_watts", help: "Watts.", type: "gauge", labels: ["node"] });
    const column = metrics.nodes.gauge(watts).column();
    for (let node = 0; node < 5000; node++) column.set(metrics.nodes.join(`node-${node}`), node);
    const answer = await ask(await trial.start({ metrics }), "/metrics");
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(answer.body).toMatch(/^# HELP joulie_watts Watts\.\n# TYPE joulie_watts gauge\n/);
    expect(answer.body.match(/^joulie_watts\{node="node-\d+"\} \d+$/gm)).toHaveLength(5000);
  });

  it("breaks off where the page breaks, so that nobody takes half of it for all, and goes on serving", async () => {
    async function* text() {
      yield "joulie_watts 1\n";
      throw new Error("no more");
    }
    const served = await trial.start({ metrics: { contentType: "text/plain", text } });
    await expect(ask(served, "/metrics")).rejects.toThrow(/aborted|hang up/);
    expect(trial.log).toContain("no more");
    expect((await ask(served, "/livez")).status).toBe(200);
  });

  it("stops making the page when its reader goes away", async () => {
    const { promise: stopped, resolve } = Promise.withResolvers<void>();
    async function* text() {
      try {
        for (;;) yield "x".repeat(65_536);
      } finally {
        resolve();
      }
    }
    const served = await trial.start({ metrics: { contentType: "text/plain", text } });
    const socket = connect(served.address.port, "127.0.0.1");
    socket.write("GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(socket, "data");
    socket.destroy();
    await expect(stopped).resolves.toBeUndefined();
  });
});

describe("health", () => {
  it("says 200 and every check's name while all hold", async () => {
    const served = await trial.start({ live: { loop: () => undefined }, ready: { caches: () => undefined } });
    expect(await ask(served, "/livez")).toMatchObject({ status: 200, body: "[+] loop\nlive\n" });
    expect(await ask(served, "/readyz")).toMatchObject({ status: 200, body: "[+] caches\nready\n" });
  });

  it("says 503 and why where one does not, and asks anew each time", async () => {
    const reasons: (string | undefined)[] = ["no list of nodes yet", undefined];
    const served = await trial.start({ ready: { leader: () => undefined, caches: () => reasons.shift() } });
    const answer = await ask(served, "/readyz?verbose");
    expect(answer.status).toBe(503);
    expect(answer.body).toBe("[+] leader\n[-] caches: no list of nodes yet\nnot ready: 1 of 2 checks failed\n");
    expect((await ask(served, "/readyz")).status).toBe(200);
  });

  it("takes a check that throws for one that failed, on one line and without secrets", async () => {
    const broken = () => {
      throw new Error("GET https://me:hunter2@host\nfailed");
    };
    const answer = await ask(await trial.start({ live: { api: broken } }), "/livez");
    expect(answer.status).toBe(503);
    expect(answer.body).toContain("[-] api: the check itself failed: GET https://me:***@host\\nfailed\n");
  });

  it("needs no checks", async () => {
    expect(await ask(await trial.start(), "/readyz")).toMatchObject({ status: 200, body: "ready\n" });
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

  it("are JSON, on one line or for people", async () => {
    const served = await trial.start({ pages });
    const answer = await ask(served, "/debug/plan?node=a%20b");
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.body).toBe('{"node":"a b","profile":"eco"}\n');
    expect((await ask(served, "/debug/plan?pretty")).body).toBe('{\n  "node": null,\n  "profile": "eco"\n}\n');
  });

  it("are closed to a page in a browser that leads here by a name of its own; metrics and health are not", async () => {
    const served = await trial.start({ pages });
    const asked = async (path: string) =>
      raw(served, `GET ${path} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n`);
    const refused = await asked("/debug/plan");
    expect(refused).toMatch(/^HTTP\/1\.1 403 [^]*DEBUG_ENDPOINTS=true/);
    expect(refused).not.toContain("eco");
    for (const path of ["/livez", "/readyz", "/metrics"]) expect(await asked(path)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("say when nothing is known", async () => {
    expect((await ask(await trial.start({ pages }), "/debug/none")).status).toBe(404);
  });

  it.each(["/debug/broken", "/debug/endless"])("fail in words, with the reason in the log alone: %s", async (path) => {
    const answer = await ask(await trial.start({ pages }), path);
    expect(answer.status).toBe(500);
    expect(answer.body).toBe("this page failed; the program's log says why\n");
    expect(trial.log).toMatch(/a detail for the log|BigInt/);
  });

  it.each(["", "?pretty"])("show no secrets %s", async (query) => {
    const { body } = await ask(await trial.start({ pages }), `/debug/secret${query}`);
    expect(body).not.toContain("hunter2");
    expect(JSON.parse(body)).toEqual({ token: "***", from: "http://me:***@host/x" });
  });

  it.each(["/metrics", "debug", "/a?b", "/a b"])("cannot be at %s", async (path) => {
    await expect(trial.start({ pages: { [path]: () => 1 } })).rejects.toThrow("a page cannot be at");
  });
});

describe("requests", () => {
  it.each(["/", "/nope", "/metrics/", "/__proto__", "/constructor", "//metrics", "/%2e%2e/etc/passwd"])(
    "for what is not there are told what is: %s",
    async (path) => {
      const answer = await ask(await trial.start({ pages: { "/debug/plan": () => 1 } }), path);
      expect(answer.status).toBe(404);
      expect(answer.body).toBe("there is no such page here; there are /debug/plan, /livez, /metrics, /readyz\n");
    },
  );

  it.each(["POST", "PUT", "DELETE", "OPTIONS"])("that would change something are refused: %s", async (method) => {
    const answer = await ask(
      await trial.start(),
      "/metrics",
      method,
      method === "POST" ? "x".repeat(100_000) : undefined,
    );
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe("GET, HEAD");
    expect(answer.body).toBe("/metrics can only be read: use GET\n");
  });

  it("by HEAD get the head alone, and no page is made for them", async () => {
    let made = 0;
    async function* text() {
      made++;
      yield "x\n";
    }
    const served = await trial.start({
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
  ])("that are no requests do no harm: %s", async (_what, bytes, status) => {
    const served = await trial.start();
    expect(await raw(served, bytes)).toContain(`HTTP/1.1 ${status} `);
    expect((await ask(served, "/livez")).status).toBe(200);
  });
});
