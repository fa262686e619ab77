import { afterEach, describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { systemClock } from "../../clock/index.ts";
import { eventually, VirtualClock } from "../../clock/testing/index.ts";
import { type ApiResponse, HttpTransport, type Transport } from "../../kube/index.ts";
import { seededRandom } from "../../random/index.ts";
import { FaultyApi } from "./faulty-api.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function textOf({ body }: ApiResponse): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString();
}

/** The error of the fault in memory, and the error of a lost connection over HTTP. */
const broken = /injected fault|terminated|aborted|other side closed|socket/;

const never = () => new AbortController().signal;
const send = async (transport: Transport, path: string, signal = never()) =>
  transport.request({ method: "GET", path, signal, longLived: path.includes("watch") });

async function started(way: string) {
  const api = new FaultyApi({ clock: systemClock, random: seededRandom(1) });
  cleanups.push(async () => api.close());
  if (way === "memory") return { api, transport: api.transport() };
  const { url, token } = await api.listen();
  const transport = new HttpTransport({
    identity: {
      server: url,
      namespace: "default",
      headers: async () => ({ authorization: `Bearer ${token}` }),
      tls: async () => ({}),
      refused: () => undefined,
    },
  });
  cleanups.push(async () => transport.close());
  return { api, transport };
}

describe.each(["memory", "HTTP"])("faults over %s", (way) => {
  it("responds with an error status the given number of times", async () => {
    const { api, transport } = await started(way);
    api.faults.add({ fault: { kind: "status", code: 429, retryAfterSeconds: 7 }, times: 1 });
    api.faults.add({
      fault: { kind: "status", code: 500 },
      times: 1,
      when: ({ path }) => path.startsWith("/api/v1/nodes"),
    });
    const first = await send(transport, "/api/v1/pods");
    expect([first.status, first.headers["retry-after"]]).toEqual([429, "7"]);
    expect(JSON.parse(await textOf(first))).toMatchObject({ kind: "Status", reason: "TooManyRequests", code: 429 });
    const others = [
      await send(transport, "/api/v1/pods"),
      await send(transport, "/api/v1/nodes"),
      await send(transport, "/api/v1/nodes"),
    ];
    expect(others.map(({ status }) => status)).toEqual([200, 500, 200]);
    await Promise.all(others.map(textOf));
  });

  it("truncates a response after the request was executed", async () => {
    const { api, transport } = await started(way);
    api.faults.add({ fault: { kind: "torn", afterBytes: 20 }, times: 1 });
    const request = {
      method: "POST",
      path: "/api/v1/nodes",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ metadata: { name: "made" } }),
      signal: never(),
    } as const;
    await expect(transport.request(request).then(textOf)).rejects.toThrow(broken);
    expect((await send(transport, "/api/v1/nodes/made")).status).toBe(200);
  });

  it("drops the connection on a refusal, and removes a rule", async () => {
    const { api, transport } = await started(way);
    const takeBack = api.faults.add({ fault: { kind: "refused" } });
    await expect(send(transport, "/api/v1/nodes")).rejects.toThrow(broken);
    takeBack();
    expect((await send(transport, "/api/v1/nodes")).status).toBe(200);
  });

  it("drops open watches like a lost connection", async () => {
    const { api, transport } = await started(way);
    const watch = await send(transport, "/api/v1/nodes?watch=1");
    api.faults.dropWatches();
    await expect(textOf(watch)).rejects.toThrow(broken);
  });

  it("ends open watches with 410, and rejects older resourceVersions", async () => {
    const { api, transport } = await started(way);
    const page = JSON.parse(await textOf(await send(transport, "/api/v1/namespaces?limit=1"))) as {
      metadata: { resourceVersion: string };
    };
    const { resourceVersion } = page.metadata;
    const watch = await send(transport, `/api/v1/namespaces?watch=1&resourceVersion=${resourceVersion}`);
    api.faults.expire();
    expect(JSON.parse(await textOf(watch))).toMatchObject({ type: "ERROR", object: { code: 410, reason: "Expired" } });
    const early = await send(transport, `/api/v1/namespaces?watch=1&resourceVersion=${Number(resourceVersion) - 1}`);
    expect(JSON.parse(await textOf(early))).toMatchObject({ type: "ERROR", object: { code: 410 } });
  });

  it("blocks while frozen, continues when thawed, and releases aborted requests", async () => {
    const { api, transport } = await started(way);
    const watch = await send(transport, "/api/v1/nodes?watch=1");
    const line = watch.body[Symbol.asyncIterator]().next();
    api.faults.freeze();
    const abort = new AbortController();
    const abandoned = send(transport, "/api/v1/nodes", abort.signal);
    let answered = false;
    const patient = send(transport, "/api/v1/nodes").then((answer) => {
      answered = true;
      return answer;
    });
    await eventually(() => api.faults.frozen === 2);
    abort.abort(new Error("given up"));
    await expect(abandoned).rejects.toThrow("given up");
    expect(answered).toBe(false);
    api.faults.thaw();
    expect((await patient).status).toBe(200);
    await transport.request({
      method: "POST",
      path: "/api/v1/nodes",
      body: JSON.stringify({ metadata: { name: "n" } }),
      signal: never(),
    });
    const { value } = (await line) as { value: Uint8Array };
    expect(Buffer.from(value).toString()).toContain('"type":"ADDED"');
  });
});

describe("faults on the injected clock", () => {
  it("delays a response as configured, and also the rest of the stream", async () => {
    const clock = new VirtualClock(instant(0));
    const api = new FaultyApi({ clock, random: seededRandom(1) });
    api.faults.add({ fault: { kind: "status", code: 503 }, times: 1 });
    api.faults.add({ fault: { kind: "latency", length: milliseconds(500) } });
    let status = 0;
    const done = send(api.transport(), "/api/v1/nodes").then((answer) => {
      ({ status } = answer);
    });
    await clock.advanceAsync(milliseconds(499));
    expect(status).toBe(0);
    await clock.advanceAsync(milliseconds(1));
    await done;
    expect(status).toBe(503);
  });
});
