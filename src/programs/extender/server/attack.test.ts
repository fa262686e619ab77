// Attacks from the scheduler's own address, so that a limit per client address cannot distinguish the two. Real time: on a
// virtual clock no timeout would expire.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, type ClientRequest, type RequestOptions, request } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../platform/clock/index.ts";
import { answerTo, ExtenderHarness, podOfClass, type RunningExtender } from "../testing/extender-harness.ts";

const MI = 1024 * 1024;
/** How many connections an attacker reopens, to keep the test bounded. */
const MAX_OPENED = 4000;
/** Far longer than that of kube-scheduler, because the time of an answer on a busy machine says nothing about the attack. */
const SCHEDULER_TIMEOUT = 60_000;

let harness: ExtenderHarness;
let extender: RunningExtender;
let attackers: Attackers;
let scheduler: Scheduler;
beforeEach(() => {
  harness = new ExtenderHarness();
  scheduler = new Scheduler();
});
afterEach(async () => {
  attackers.stop();
  scheduler.stop();
  await harness.end();
});

const start = async (variables: Readonly<Record<string, string>> = {}) => {
  extender = await harness.start(variables, { ioClock: systemClock, synced: false });

  attackers = new Attackers(Number(new URL(String(extender.url)).port));
  await harness.until(async () => (await fetch(`${extender.metricsUrl}/readyz`)).status === 200);
};

/** Sockets that reconnect as soon as they are closed. */
class Attackers {
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  #opened = 0;
  #stopped = false;

  constructor(port: number) {
    this.#port = port;
  }

  /** Resolves when all of them have connected and sent their data. */
  async open(count: number, attack: (socket: Socket) => void): Promise<void> {
    await Promise.all(Array.from({ length: count }, async () => this.#one(attack)));
  }

  stop(): void {
    this.#stopped = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  async #one(attack: (socket: Socket) => void): Promise<void> {
    const socket = connect(this.#port, "127.0.0.1");
    this.#opened++;
    this.#sockets.add(socket);
    socket.on("error", () => undefined).resume();
    socket.once("connect", () => attack(socket));
    socket.once("close", () => {
      this.#sockets.delete(socket);
      if (!this.#stopped && this.#opened < MAX_OPENED) void this.#one(attack);
    });
    await once(socket, "connect").catch(() => undefined);
  }
}

const silent = () => undefined;
const halfAHeader = (socket: Socket) => socket.write("POST /filter HTTP/1.1\r\nhos");
/** Sends all of a body but its last byte. */
const stalledBody = (bytes: number) => {
  const most = Buffer.alloc(bytes - 1, "{");
  return (socket: Socket) => {
    socket.write(`POST /filter HTTP/1.1\r\nhost: x\r\ncontent-length: ${bytes}\r\n\r\n`);
    socket.write(most);
  };
};
/** Completes a simple request first, so that the connection counts as proven. */
const idleAfterOneRequest = (socket: Socket) => socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");

const asked = JSON.stringify({
  Pod: podOfClass("standard"),
  NodeNames: Array.from({ length: 200 }, (_, i) => `node-${i}`),
});

/** About 4 KiB each. */
const wholeNodes = (count: number): string => {
  const items = Array.from({ length: count }, (_, i) => ({
    metadata: { name: `node-${i}` },
    filler: "x".repeat(4096),
  }));
  return JSON.stringify({ Pod: podOfClass("standard"), Nodes: { items }, NodeNames: null });
};

/** A client like kube-scheduler: two keep-alive connections. */
class Scheduler {
  readonly #agent: Agent;
  readonly #request: (options: RequestOptions) => ClientRequest;
  /** All keep-alive connections that it opened. */
  readonly kept = new Set<Socket>();

  constructor(ca?: string) {
    const keeping = { keepAlive: true, maxSockets: 2 };
    this.#agent = ca === undefined ? new Agent(keeping) : new TlsAgent({ ...keeping, ca });
    this.#request = ca === undefined ? request : (options) => tlsRequest({ ...options, ca });
  }

  /** Sends that many requests, every other one over a new connection. Returns failures by reason. */
  async failures(requests: number, body = asked, newConnections = true): Promise<Record<string, number>> {
    const failures: Record<string, number> = {};
    const worker = async (first: number) => {
      for (let i = first; i < requests; i += 4) {
        const agent = newConnections && i % 2 === 1 ? false : this.#agent;
        const reason = await this.#ask(i % 8 < 4 ? "/filter" : "/prioritize", agent, body);
        if (reason !== undefined) failures[reason] = (failures[reason] ?? 0) + 1;
      }
    };
    await Promise.all([0, 1, 2, 3].map(worker));
    return failures;
  }

  stop(): void {
    this.#agent.destroy();
  }

  /** Returns the reason of a failure. */
  async #ask(path: string, agent: Agent | false, body: string): Promise<string | undefined> {
    const { hostname, port } = new URL(String(extender.url));
    const sent = this.#request({ host: hostname, port, path, method: "POST", agent, timeout: SCHEDULER_TIMEOUT });
    if (agent !== false) sent.once("socket", (socket) => this.kept.add(socket));
    sent.once("timeout", () => sent.destroy(new Error(`no answer within ${SCHEDULER_TIMEOUT} ms`)));
    sent.end(body);
    try {
      const { status, text } = await answerTo(sent);
      return status === 200 ? undefined : `${status} ${text}`;
    } catch (error) {
      return String(error);
    }
  }
}

describe("X-62 under attack no request of the scheduler fails", () => {
  it("with 160 silent sockets and three stalled bodies of 64 MiB: 0 of 1,000 fail", async () => {
    await start();

    await attackers.open(160, silent);
    await attackers.open(3, stalledBody(64 * MI));
    await harness.until(async () => Number((await extender.series("request_bytes"))[0]?.split(" ")[1]) > 64 * MI);
    expect(await scheduler.failures(1000)).toEqual({});
  });

  it.each([
    ["silent ones", silent],
    ["ones that send half a header", halfAHeader],
    ["ones that asked once and fell silent", idleAfterOneRequest],
    ["ones that stall in a body", stalledBody(1000)],
  ])("with more sockets than the extender keeps: %s", async (_, attack) => {
    await start();
    await attackers.open(700, attack);
    expect(await scheduler.failures(100)).toEqual({});
    expect(scheduler.kept.size).toBe(2);
    expect(await extender.series("closed_connections_total")).not.toEqual([
      "joulie_scheduler_closed_connections_total 0",
    ]);
  });

  it("with stalled small bodies that fill the memory", async () => {
    await start({ EXTENDER_MAX_BODY_BYTES: "1Mi" });
    await attackers.open(200, stalledBody(32 * 1024));
    expect(await scheduler.failures(40)).toEqual({});
  });

  it("with stalled bodies while the scheduler sends whole Nodes over its keep-alive connection", async () => {
    await start({ EXTENDER_MAX_BODY_BYTES: "2Mi" });
    const body = wholeNodes(300);
    expect(await scheduler.failures(4, body, false)).toEqual({});
    await attackers.open(3, stalledBody(2 * MI));
    expect(await scheduler.failures(40, body, false)).toEqual({});
  });

  it("with larger bodies that fill the memory after its own body has started, over a new connection", async () => {
    await start({ EXTENDER_MAX_BODY_BYTES: "1Mi" });
    const held = async () => Number((await extender.series("request_bytes"))[0]?.split(" ")[1]);
    const body = wholeNodes(120);
    const sent = request(`${extender.url}/filter`, { method: "POST", headers: { "content-length": body.length } });
    const answer = answerTo(sent);
    sent.write(body.slice(0, 1));
    await harness.until(async () => (await held()) > 0);
    await attackers.open(2, stalledBody(MI));
    await harness.until(async () => (await held()) > 1.9 * MI);
    sent.end(body.slice(1));
    expect((await answer).status).toBe(200);
  });

  it("with TLS, and sockets without a handshake", async () => {
    const certificates = join(import.meta.dirname, "../../../platform/kube/testdata");
    await start({
      EXTENDER_TLS_CERT_FILE: join(certificates, "server.crt"),
      EXTENDER_TLS_KEY_FILE: join(certificates, "server.key"),
    });
    await attackers.open(700, silent);
    scheduler = new Scheduler(readFileSync(join(certificates, "ca.crt"), "utf8"));
    expect(await scheduler.failures(100)).toEqual({});
  });
});
