import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { createLogger, type LogDestination } from "../../log/index.ts";
import { seededRandom } from "../../random/index.ts";
import { KubeClient } from "../client/client.ts";
import type { KubeObject } from "../client/object.ts";
import { resources } from "../client/resources.ts";
import { FakeApi } from "../testing/fake-api.ts";
import type { Change } from "./object-store.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

const ms = milliseconds;
const node = (name: string) => `/api/v1/nodes/${name}`;
const LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1";

interface Small {
  readonly name: string;
  readonly zone: string;
}

function make(more: Partial<ReflectorOptions<Small, "zone">> = {}) {
  const clock = new VirtualClock();
  const api = new FakeApi(clock);
  const lines: string[] = [];
  const destination: LogDestination = { write: (line) => lines.push(line) };
  const changes: Change<Small>[][] = [];
  const reflector = new Reflector<Small, "zone">({
    client: new KubeClient({ transport: api, clock, random: seededRandom(1), fieldManager: "test" }),
    clock,
    random: seededRandom(2),
    log: createLogger({ level: "info", program: "test", destination }),
    resource: resources.nodes,
    project,
    indexes: { zone: ({ zone }) => zone },
    onChange: (batch) => changes.push([...batch]),
    ...more,
  });
  const reported = () => changes.flat().map(({ type, key }) => `${type} ${key}`);
  const lists = () => api.requests.filter(({ path }) => !path.includes("watch=")).length;
  const watches = () => api.requests.filter(({ path }) => path.includes("watch=")).length;
  const paths = () => api.requests.map(({ path }) => path);
  return { clock, api, reflector, changes, told: reported, lines, lists, watches, paths };
}

function project({ metadata }: KubeObject): Small | undefined {
  const zone = metadata.labels?.zone ?? "";
  if (zone === "broken") throw new Error("unreadable label");
  return zone === "elsewhere" ? undefined : { name: metadata.name, zone };
}

const labelled = (zone: string) => ({ metadata: { labels: { zone } } });

describe("Reflector", () => {
  it("lists in pages, watches from there, and notifies with old and new objects", async () => {
    const { clock, api, reflector, changes, told: reported, watches } = make({ pageSize: 2 });
    for (const name of ["a", "b", "c"]) api.put(node(name), labelled("x"));
    expect([reflector.hasSynced, reflector.silence]).toEqual([false, undefined]);
    reflector.start();
    reflector.start();
    await reflector.synced();
    expect(reflector.hasSynced).toBe(true);
    expect(changes).toHaveLength(1);
    await clock.advanceAsync(ms(10));
    api.put(node("b"), labelled("y"));
    api.remove(node("a"));
    api.put(node("d"), labelled("y"));
    await clock.advanceAsync(ms(10));
    expect(reported()).toEqual(["added a", "added b", "added c", "updated b", "deleted a", "added d"]);
    expect(changes.flat()[3]).toEqual({
      type: "updated",
      key: "b",
      old: { name: "b", zone: "x" },
      new: { name: "b", zone: "y" },
    });
    // The fifth write; versions begin after 1000.
    expect(changes.flat()[4]).toMatchObject({ type: "deleted", old: { name: "a" } });
    expect([...reflector.store.by("zone", "y")].map(({ name }) => name)).toEqual(["b", "d"]);
    expect(reflector.store.getByKey("c")).toEqual({ name: "c", zone: "x" });
    expect(watches()).toBe(1);
    await reflector.stop();
    expect(clock.waiting).toBe(0);
    expect(api.watchers.size).toBe(0);
  });

  it("updates the store before it notifies listeners", async () => {
    const seen: (Small | undefined)[] = [];
    const { clock, api, reflector } = make({
      onChange: (changes) => changes.forEach(({ key }) => seen.push(reflector.store.getByKey(key))),
    });
    reflector.start();
    await clock.advanceAsync(ms(1));
    api.put(node("a"), labelled("x"));
    await clock.advanceAsync(ms(1));
    api.remove(node("a"));
    await clock.advanceAsync(ms(1));
    expect(seen).toEqual([{ name: "a", zone: "x" }, undefined]);
    await reflector.stop();
  });

  it("emits a delete and an add for a recreated object, in a watch and between two lists", async () => {
    const { clock, api, reflector, told: reported } = make();
    api.put(node("a"), labelled("x"));
    reflector.start();
    await clock.advanceAsync(ms(1));
    api.remove(node("a"));
    api.put(node("a"), labelled("y"));
    await clock.advanceAsync(ms(1));
    expect(reported()).toEqual(["added a", "deleted a", "added a"]);
    api.fault = () => "no connection";
    for (const watcher of api.watchers) watcher.end();
    api.remove(node("a"));
    api.put(node("a"), labelled("z"));
    api.compact();
    await clock.advanceAsync(ms(5000));
    api.fault = () => undefined;
    await clock.advanceAsync(ms(60_000));
    expect(reported()).toEqual(["added a", "deleted a", "added a", "deleted a", "added a"]);
    await reflector.stop();
  });

  it("relists after 410 and notifies only of differences", async () => {
    const { clock, api, reflector, told: reported } = make();
    for (const name of ["a", "b", "c"]) api.put(node(name), labelled("x"));
    reflector.start();
    await clock.advanceAsync(ms(1));
    for (const watcher of api.watchers) watcher.end(new Error("reset"));
    api.remove(node("a"));
    api.put(node("b"), labelled("y"));
    api.put(node("d"), labelled("x"));
    api.compact();
    await clock.advanceAsync(ms(5000));
    expect(reported().slice(3)).toEqual(["deleted a", "updated b", "added d"]);
    await reflector.stop();
  });

  it("resumes the watch after a disconnect without a list", async () => {
    const { clock, api, reflector, told: reported, lists } = make();
    api.put(node("a"), labelled("x"));
    reflector.start();
    await clock.advanceAsync(ms(1));
    for (const watcher of api.watchers) {
      watcher.send('{"type":"MODI');
      watcher.end();
    }
    api.put(node("b"), labelled("x"));
    await clock.advanceAsync(ms(2000));
    expect(reported()).toEqual(["added a", "added b"]);
    expect(lists()).toBe(1);
    await reflector.stop();
  });

  it("reports an unparsable object once, keeps its last good state, and continues with the others", async () => {
    const { clock, api, reflector, told: reported, lines } = make();
    api.put(node("a"), labelled("x"));
    api.put(node("b"), labelled("broken"));
    reflector.start();
    await clock.advanceAsync(ms(1));
    api.put(node("a"), labelled("broken"));
    api.put(node("a"), labelled("broken"));
    api.put(node("c"), labelled("x"));
    api.restart(api.version + 100);
    await clock.advanceAsync(ms(5000));
    expect(reported()).toEqual(["added a", "added c", "updated c"]);
    expect(reflector.store.getByKey("a")).toEqual({ name: "a", zone: "x" });
    expect(lines.filter((line) => line.includes("cannot parse object"))).toHaveLength(2);
    api.put(node("a"), labelled("y"));
    api.put(node("b"), labelled("y"));
    await clock.advanceAsync(ms(1));
    expect(reported().slice(3)).toEqual(["updated a", "added b"]);
    api.put(node("a"), labelled("broken"));
    await clock.advanceAsync(ms(1));
    expect(lines.filter((line) => line.includes("cannot parse object"))).toHaveLength(3);
    await reflector.stop();
  });

  it("treats an object that fails indexing as unparsable, in lists and in watches", async () => {
    const {
      clock,
      api,
      reflector,
      told: reported,
      lines,
    } = make({
      indexes: {
        zone: ({ zone }) => {
          if (zone === "nowhere") throw new Error("no place for it");
          return zone;
        },
      },
    });
    api.put(node("a"), labelled("x"));
    api.put(node("b"), labelled("nowhere"));
    api.put(node("c"), labelled("x"));
    reflector.start();
    await clock.advanceAsync(ms(1));
    api.put(node("d"), labelled("x"));
    api.put(node("a"), labelled("nowhere"));
    api.put(node("e"), labelled("x"));
    await clock.advanceAsync(ms(1));
    expect(reported()).toEqual(["added a", "added c", "added d", "added e"]);
    expect(lines.filter((line) => line.includes("no place for it"))).toHaveLength(2);
    api.remove(node("a"));
    api.put(node("b"), labelled("x"));
    await clock.advanceAsync(ms(1));
    expect(reported().slice(4)).toEqual(["deleted a", "added b"]);
    expect([...reflector.store.by("zone", "x")].map(({ name }) => name)).toEqual(["c", "d", "e", "b"]);
    await reflector.stop();
  });

  it("removes objects that no longer match", async () => {
    const { clock, api, reflector, told: reported } = make();
    api.put(node("a"), labelled("x"));
    api.put(node("b"), labelled("elsewhere"));
    reflector.start();
    await clock.advanceAsync(ms(1));
    api.put(node("a"), labelled("elsewhere"));
    await clock.advanceAsync(ms(1));
    expect(reported()).toEqual(["added a", "deleted a"]);
    expect(reflector.store.size).toBe(0);
    await reflector.stop();
  });

  it("continues after a listener throws", async () => {
    const { clock, api, reflector, lines } = make({
      onChange: () => {
        throw new Error("the listener's fault");
      },
    });
    api.put(node("a"), labelled("x"));
    reflector.start();
    await clock.advanceAsync(ms(1));
    api.put(node("b"), labelled("x"));
    await clock.advanceAsync(ms(1));
    expect(reflector.store.size).toBe(2);
    expect(lines.join("")).toContain("the listener's fault");
    await reflector.stop();
  });

  it("passes selectors to both the list and the watch", async () => {
    const { clock, api, reflector } = make({
      selection: { labelSelector: "zone=x", fieldSelector: "metadata.name=a" },
    });
    reflector.start();
    await clock.advanceAsync(ms(1));
    const [list, watch] = api.requests.map(({ path }) => new URL(path, "http://x").searchParams);
    for (const query of [list, watch]) {
      expect([query?.get("labelSelector"), query?.get("fieldSelector")]).toEqual(["zone=x", "metadata.name=a"]);
    }
    expect([list?.get("limit"), watch?.get("allowWatchBookmarks")]).toEqual(["500", "true"]);
    await reflector.stop();
  });

  it.each([20_000, 90_000])("replaces a silently dead connection after %d ms, from the same place", async (limit) => {
    const { clock, api, reflector, told: reported } = make({ idleLimit: ms(limit) });
    reflector.start();
    await clock.advanceAsync(ms(1));
    api.bookmark();
    await clock.advanceAsync(ms(1));
    for (const watcher of api.watchers) watcher.freeze();
    api.put(node("a"), labelled("x"));
    await clock.advanceAsync(ms(limit - 2));
    expect(api.requests).toHaveLength(2);
    await clock.advanceAsync(ms(3));
    expect(reported()).toEqual(["added a"]);
    expect(api.requests.map(({ path }) => path.replace(/&timeoutSeconds=\d+/, ""))).toEqual([
      "/api/v1/nodes?limit=500",
      "/api/v1/nodes?watch=1&allowWatchBookmarks=true&resourceVersion=1000",
      "/api/v1/nodes?limit=1",
      "/api/v1/nodes?watch=1&allowWatchBookmarks=true&resourceVersion=1000",
    ]);
    await reflector.stop();
  });

  it("replaces a silent watch at every limit, and never is silent for longer", async () => {
    const { clock, reflector, watches } = make({ idleLimit: ms(20_000) });
    reflector.start();
    await clock.advanceAsync(ms(200_500));
    expect(watches()).toBe(11);
    expect(reflector.silence).toBeLessThanOrEqual(20_000);
    await reflector.stop();
  });

  it("lists again if the server was restored from a backup", async () => {
    const { clock, api, reflector, paths, told: reported } = make({ idleLimit: ms(20_000) });
    reflector.start();
    await clock.advanceAsync(ms(1));
    api.version = 900;
    api.put(node("a"), labelled("x"));
    await clock.advanceAsync(ms(21_000));
    expect(reported()).toEqual(["added a"]);
    // The server was not asked for a watch from its future.
    expect(paths().filter((path) => path.includes("resourceVersion=1000"))).toHaveLength(1);
    await reflector.stop();
  });

  it("keeps a watch while bookmarks arrive", async () => {
    const { clock, api, reflector } = make({ idleLimit: ms(20_000) });
    reflector.start();
    for (let time = 0; time < 10; time++) {
      await clock.advanceAsync(ms(14_000));
      api.bookmark();
    }
    expect(api.requests).toHaveLength(2);
    await reflector.stop();
  });

  it("detects a dead watch after a change, on a server whose resourceVersion always advances", async () => {
    const { clock, api, reflector, told: reported, paths } = make({ idleLimit: ms(20_000) });
    for (const name of ["a", "b"]) api.put(node(name), labelled("x"));
    reflector.start();
    await clock.advanceAsync(ms(1));
    for (const watcher of api.watchers) watcher.freeze();
    api.put(node("b"), labelled("y"));
    for (let time = 0; time < 21; time++) {
      api.put(LEASE, {});
      await clock.advanceAsync(ms(1000));
    }
    expect(reported()).toEqual(["added a", "added b", "updated b"]);
    // The new watch needed no list.
    expect(paths().filter((path) => path.includes("limit=500"))).toHaveLength(1);
    await reflector.stop();
  });

  it("keeps a quiet watch on a busy server while bookmarks arrive", async () => {
    const { clock, api, reflector, watches } = make();
    api.put(node("a"), labelled("x"));
    reflector.start();
    let silence = 0;
    for (let second = 1; second <= 600; second++) {
      api.put(LEASE, {});
      await clock.advanceAsync(ms(1000));
      if (second % 61 === 0) api.bookmark();
      silence = Math.max(silence, reflector.silence ?? 0);
    }
    expect(watches()).toBe(1);
    expect(silence).toBeLessThanOrEqual(61_000);
    await reflector.stop();
  });

  // A server leaves out bookmarks that are not newer than the start of the watch.
  it("keeps a watch while the first bookmark of a quiet kind takes two minutes, after the start and after every renewal", async () => {
    const { clock, api, reflector, watches, lists } = make();
    reflector.start();
    for (let renewal = 1; renewal <= 3; renewal++) {
      for (let second = 0; second < 600; second++) {
        api.put(LEASE, {});
        if (second >= 120 && second % 60 === 1) api.bookmark();
        await clock.advanceAsync(ms(1000));
      }
      expect([watches(), lists()]).toEqual([renewal, 1]);
      for (const watcher of api.watchers) watcher.end();
      await clock.advanceAsync(ms(1000));
    }
    await reflector.stop();
  });

  it("replaces a new watch that stays silent for two and a quarter minutes", async () => {
    const { clock, api, reflector, watches } = make();
    reflector.start();
    const opened: number[] = [];
    for (let second = 0; second <= 138; second++) {
      opened.push(watches());
      api.put(LEASE, {});
      await clock.advanceAsync(ms(1000));
    }
    expect([opened[134], opened[138]]).toEqual([1, 2]);
    await reflector.stop();
  });

  it.each([
    ["is busy", { answer: 429, headers: { "retry-after": "60" } }],
    ["never answers", "silence"],
  ] as const)("opens a new watch also if a list before it finds that the server %s", async (_, fault) => {
    const { clock, api, reflector, watches } = make({ idleLimit: ms(20_000) });
    reflector.start();
    await clock.advanceAsync(ms(1));
    api.fault = ({ path }) => (path.includes("limit=1") ? fault : undefined);
    await clock.advanceAsync(ms(32_000));
    expect(watches()).toBe(2);
    await reflector.stop();
  });

  it("backs off if every watch expires right after its list", async () => {
    const { clock, api, reflector, lists } = make();
    api.fault = ({ path }) => {
      api.version++;
      return path.includes("watch=") ? { answer: 410 } : undefined;
    };
    reflector.start();
    await clock.advanceAsync(ms(3_600_000));
    expect(lists()).toBeGreaterThan(100);
    expect(lists()).toBeLessThan(200);
    await reflector.stop();
  });

  it("does not queue behind the program's own writes", async () => {
    const clock = new VirtualClock();
    const api = new FakeApi(clock);
    const limit = { perSecond: 1, burst: 1, queue: 100_000 };
    const client = new KubeClient({ transport: api, clock, random: seededRandom(1), fieldManager: "test", limit });
    const { reflector } = make({ client, clock, idleLimit: ms(4000), pageSize: 2 });
    for (let name = 0; name < 20; name++) api.put(node(`n${name}`), labelled("x"));
    const writes = Array.from({ length: 1000 }, async () =>
      client.mergePatch(resources.nodes, { name: "n1" }, {}).catch(() => undefined),
    );
    reflector.start();
    await clock.advanceAsync(ms(1));
    expect([reflector.store.size, api.watchers.size]).toEqual([20, 1]);
    for (const watcher of api.watchers) watcher.freeze();
    await clock.advanceAsync(ms(4000));
    expect(api.requests.filter(({ path }) => path.endsWith("limit=1"))).toHaveLength(1);
    const stopped = reflector.stop();
    await clock.advanceAsync(ms(30_000));
    await Promise.all([stopped, ...writes]);
  });

  it("reports the time since last contact while the server is unavailable, and never gives up", async () => {
    const { clock, api, reflector, told: reported, lines } = make();
    reflector.start();
    await clock.advanceAsync(ms(1));
    api.fault = () => "no connection";
    for (const watcher of api.watchers) watcher.end(new Error("reset"));
    await clock.advanceAsync(ms(3_600_000));
    expect(reflector.silence).toBeGreaterThan(3_500_000);
    expect(reflector.hasSynced).toBe(true);
    const attempts = api.requests.length;
    expect(attempts).toBeGreaterThan(100);
    expect(attempts).toBeLessThan(1500);
    expect(lines.length).toBeLessThan(15);
    api.put(node("a"), labelled("x"));
    api.fault = () => undefined;
    await clock.advanceAsync(ms(60_000));
    expect(reported()).toEqual(["added a"]);
    await reflector.stop();
  });

  it("honours Retry-After", async () => {
    const { clock, api, reflector } = make();
    api.fault = ({ path }) => (path.includes("watch=") ? { answer: 429, headers: { "retry-after": "60" } } : undefined);
    reflector.start();
    await clock.advanceAsync(ms(59_000));
    expect(api.requests).toHaveLength(2);
    await reflector.stop();
  });

  it("backs off from a server that closes watches right after it opens them", async () => {
    const { clock, api, reflector } = make();
    reflector.start();
    for (let time = 0; time < 6000; time++) {
      await clock.advanceAsync(ms(10));
      for (const watcher of api.watchers) watcher.end();
    }
    expect(api.requests.length).toBeLessThan(30);
    await reflector.stop();
  });

  it("stops at once during any wait, and notifies no listener after that", async () => {
    for (const fault of ["silence", "no connection", undefined] as const) {
      const { clock, api, reflector, changes } = make();
      api.put(node("a"), labelled("x"));
      api.fault = () => fault;
      const abort = new AbortController();
      const synced = reflector.synced(abort.signal);
      synced.catch(() => undefined);
      reflector.start();
      await clock.advanceAsync(ms(300));
      await reflector.stop();
      const reported = changes.length;
      api.fault = () => undefined;
      api.put(node("b"), labelled("x"));
      await clock.advanceAsync(ms(60_000));
      expect(changes).toHaveLength(reported);
      expect(clock.waiting).toBe(0);
      abort.abort(new Error("enough"));
    }
  });

  it("lets the caller abort the wait for the first list", async () => {
    const { api, reflector } = make();
    api.fault = () => "silence";
    reflector.start();
    const abort = new AbortController();
    const synced = reflector.synced(abort.signal);
    abort.abort(new Error("not in time"));
    await expect(synced).rejects.toThrow("not in time");
    await expect(reflector.synced(abort.signal)).rejects.toThrow("not in time");
    await reflector.stop();
  });

  it.each([0, -1, Number.NaN])("rejects an idle limit of %d ms", (limit) => {
    expect(() => make({ idleLimit: ms(limit) })).toThrow(RangeError);
  });
});
