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
  it("X-19 a key that comes twice counts as JSON.parse counts it, and the Nodes are still the bytes that came", async () => {
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

  it("X-19 what JSON.parse reads otherwise than the bytes say is not answered", async () => {
    const clock = new VirtualClock();
    const body = Buffer.from('{"Pod":{},"Pod":{},"NodeNames":["a","b"]}');
    const read = workerWith(clock)
      .readRequestInWorker(body)
      .catch((error: unknown) => error);
    // The thread has its copy once its time runs: from here on it reads another name than we do.
    for (let turn = 0; turn < 100 && clock.waiting === 0; turn++) await Promise.resolve();
    body.write("c", body.indexOf('b"'));
    expect(await read).toMatchObject({ status: 500, message: expect.stringContaining("candidate 1") as string });
  });

  it("reads requests one behind the other in one thread", async () => {
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

  it("refuses what is no request in any way of reading, without asking the thread", async () => {
    const read = async (body: string) => workerWith().readRequestInWorker(Buffer.from(body));
    await expect(read('{"pod":{},"pod":{},"nodenames":["a"')).rejects.toMatchObject({ status: 400 });
    await expect(read('{"pod":{},"Pod":{},"nodenames":["a"]}')).rejects.toThrow(/pod is given twice, once as Pod/);
    await expect(read('{"pod":{},"nodenames":["a"],"nodenames":[1]}')).rejects.toThrow(/NodeNames\[0\]/);
    await expect(read(`{"pod":{},"pod":{},"x":"${"x".repeat(4 << 20)}"}`)).rejects.toMatchObject({ status: 413 });
  });

  it("gives up on a thread that takes too long, and starts another for the next request", async () => {
    const clock = new VirtualClock();
    const worker = workerWith(clock, { timeout: milliseconds(100) });
    const late = worker.readRequestInWorker(twice).catch((error: unknown) => error);
    // The time is over before the thread can have started, let alone answered.
    while (clock.waiting === 0) await Promise.resolve();
    clock.advance(milliseconds(100));
    expect(await late).toMatchObject({ status: 503 });
    expect((await worker.readRequestInWorker(twice)).candidates.count).toBe(2);
    expect(clock.waiting).toBe(0);
  });

  it("lets only so many wait, and refuses all once it is closed", async () => {
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

  it("works from one bundled file", async () => {
    const folder = await mkdtemp(join(import.meta.dirname, "../../../../node_modules/.bundle-"));
    cleanups.push(async () => rm(folder, { recursive: true }));
    const outfile = join(folder, "bundle.mjs");
    // As scripts/bundle.ts bundles: names of functions are kept by calls that a function's source text then contains.
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
