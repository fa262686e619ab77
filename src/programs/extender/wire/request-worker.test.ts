import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { systemClock, VirtualClock } from "../../../platform/clock/index.ts";
import { readRequest } from "./request.ts";
import { AmbiguousKeyError } from "./request-error.ts";
import { RequestWorker, type WorkerLimits } from "./request-worker.ts";
import { expectSameAsJsonParse } from "./testing/compare-with-json-parse.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

function workerWith(clock = systemClock, limits: WorkerLimits = {}): RequestWorker {
  const worker = new RequestWorker(clock, limits);
  cleanups.push(async () => worker.close());
  return worker;
}

const twice = Buffer.from(
  `{"pod":{"metadata":{"name":"first"}},"pod":{"metadata":{"name":"last"}},"nodes":{"items":[{}],"items":[
    {"metadata":{"name":"x"},"metadata":{"labels":null,"n\\u0061me":"b","labels":{"joulie.io/power-profile":"eco"}}, "z":1 },
    {"metadata":{"name":"a","name":"c","labels":{"joulie.io\\/power-profile":"eco","joulie.io/power-profile":7}}}]}}`,
);

describe("RequestWorker", () => {
  it("X-19 reads a repeated key like JSON.parse, and returns the original bytes of the Nodes", async () => {
    expect(() => readRequest(twice)).toThrow(AmbiguousKeyError);
    const { pod, candidates } = await workerWith().readRequestInWorker(twice);
    expect(pod).toEqual({ metadata: { name: "last" } });
    expect([candidates.name(0), candidates.name(1)]).toEqual(["b", "c"]);
    expect([candidates.powerProfile(0), candidates.powerProfile(1)]).toEqual(["eco", undefined]);
    const raw = candidates.raw(0);
    expect(raw.buffer).toBe(twice.buffer);
    expect(raw.toString()).toMatch(/^\{"metadata":\{"name":"x"\},.* "z":1 \}$/);
    expectSameAsJsonParse({ pod, candidates }, twice);
  });

  it("X-19 rejects a request on which JSON.parse and the byte scan differ", async () => {
    const clock = new VirtualClock();
    const body = Buffer.from('{"Pod":{},"Pod":{},"NodeNames":["a","b"]}');
    const read = workerWith(clock)
      .readRequestInWorker(body)
      .catch((error: unknown) => error);
    // The worker has its copy when its timer runs, so from here on it reads another name.
    for (let turn = 0; turn < 100 && clock.waiting === 0; turn++) await Promise.resolve();
    body.write("c", body.indexOf('b"'));
    expect(await read).toMatchObject({ status: 500, message: expect.stringContaining("candidate 1") as string });
  });

  it("reads requests one after the other in one thread", async () => {
    const worker = workerWith();
    const names = ["a", "b", "c"];
    const requests = await Promise.all(
      names.map(async (name) =>
        worker.readRequestInWorker(Buffer.from(`{"Pod":{},"Pod":{"name":"${name}"},"NodeNames":["${name}"]}`)),
      ),
    );
    expect(requests.map(({ candidates }) => candidates.name(0))).toEqual(names);
    expect(requests.map(({ pod }) => pod)).toEqual(names.map((name) => ({ name })));
  });

  it("rejects an invalid request without starting the thread", async () => {
    const read = async (body: string) => workerWith().readRequestInWorker(Buffer.from(body));
    await expect(read('{"pod":{},"pod":{},"nodenames":["a"')).rejects.toMatchObject({ status: 400 });
    await expect(read('{"pod":{},"Pod":{},"nodenames":["a"]}')).rejects.toThrow(/pod is also given as Pod/);
    await expect(read('{"pod":{},"nodenames":["a"],"nodenames":[1]}')).rejects.toThrow(/NodeNames\[0\]/);
    await expect(read(`{"pod":{},"pod":{},"x":"${"x".repeat(4 << 20)}"}`)).rejects.toMatchObject({ status: 413 });
  });

  it("terminates a thread that takes too long, and starts another for the next request", async () => {
    const clock = new VirtualClock();
    const worker = workerWith(clock, { timeout: milliseconds(100) });
    const late = worker.readRequestInWorker(twice).catch((error: unknown) => error);
    // The timeout expires before the thread can have started.
    while (clock.waiting === 0) await Promise.resolve();
    clock.advance(milliseconds(100));
    expect(await late).toMatchObject({ status: 503 });
    expect((await worker.readRequestInWorker(twice)).candidates.count).toBe(2);
    expect(clock.waiting).toBe(0);
  });

  it("limits waiting requests, and rejects all after close", async () => {
    const worker = workerWith(systemClock, { waiting: 2 });
    const waiting = [worker.readRequestInWorker(twice), worker.readRequestInWorker(twice)];
    await expect(worker.readRequestInWorker(twice)).rejects.toMatchObject({ status: 503 });
    await Promise.all(waiting);
    await worker.readRequestInWorker(twice);
    const last = worker.readRequestInWorker(twice).catch((error: unknown) => error);
    await worker.close();
    expect(await last).toMatchObject({ status: 503 });
    await expect(worker.readRequestInWorker(twice)).rejects.toMatchObject({ status: 503 });
  });

  it("works in a single bundled file", async () => {
    const folder = await mkdtemp(join(import.meta.dirname, "../../../../node_modules/.bundle-"));
    cleanups.push(async () => rm(folder, { recursive: true }));
    const outfile = join(folder, "bundle.mjs");
    // Like scripts/bundle.ts, with keepNames: it inserts calls into the source text of functions.
    await build({
      entryPoints: [join(import.meta.dirname, "request-worker.ts")],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node24",
      minify: true,
      keepNames: true,
      logLevel: "silent",
    });
    const bundled = (await import(pathToFileURL(outfile).href)) as { RequestWorker: typeof RequestWorker };
    const worker = new bundled.RequestWorker(systemClock);
    cleanups.push(async () => worker.close());
    expect((await worker.readRequestInWorker(twice)).candidates.name(1)).toBe("c");
  });
});
