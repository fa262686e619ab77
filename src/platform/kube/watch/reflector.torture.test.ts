import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { createLogger } from "../../log/index.ts";
import { type RandomSource, seededRandom } from "../../random/index.ts";
import { KubeClient } from "../client/client.ts";
import { keyOf } from "../client/object.ts";
import { resources } from "../client/resources.ts";
import { FakeApi, type FakeApiFault } from "../testing/fake-api.ts";
import type { Watcher } from "../testing/fake-responses.ts";
import type { Change } from "./object-store.ts";
import { Reflector } from "./reflector.ts";

const SEEDS = 40;
const STEPS = 150;

interface Small {
  readonly key: string;
  readonly uid: string;
  readonly version: string;
  readonly node: string;
}

/** One run: objects change while faults are injected; then the faults stop. */
async function storm(seed: number) {
  const random = seededRandom(seed);
  const clock = new VirtualClock();
  const api = new FakeApi(clock);
  api.version = api.compacted = 10_000_000;
  const changes: Change<Small>[] = [];
  const reflector = new Reflector<Small, "node">({
    client: new KubeClient({ transport: api, clock, random: seededRandom(seed + 0.5), fieldManager: "test" }),
    clock,
    random: seededRandom(seed + 0.25),
    log: createLogger({ level: "silent", program: "test" }),
    resource: resources.pods,
    idleLimit: milliseconds(20_000),
    pageSize: 7,
    project: (object) => {
      const { spec } = object as { spec?: { nodeName: string } };
      const { uid = "", resourceVersion = "" } = object.metadata;
      return { key: keyOf(object.metadata), uid, version: resourceVersion, node: spec?.nodeName ?? "" };
    },
    indexes: { node: ({ node }) => node },
    onChange: (more) => changes.push(...more),
  });
  let faults = 0;
  api.fault = () => {
    const fault = requestFault(random);
    if (fault !== undefined) faults++;
    return fault;
  };
  reflector.start();
  for (let step = 0; step < STEPS; step++) {
    for (let count = below(random, 6); count > 0; count--) churn(api, random);
    if (random.next() < 0.5) faults += harm(api, random);
    await clock.advanceAsync(milliseconds(random.next() < 0.1 ? random.next() * 60_000 : random.next() * 2000));
  }
  api.fault = () => undefined;
  await clock.advanceAsync(milliseconds(600_000));
  const settled = snapshot(reflector);
  await reflector.stop();
  return { api, reflector, changes, faults, settled, clock };
}

const below = (random: RandomSource, limit: number) => Math.floor(random.next() * limit);
const snapshot = (reflector: Reflector<Small, "node">) => new Map(reflector.store.entries());

function churn(api: FakeApi, random: RandomSource): void {
  const path = `/api/v1/namespaces/ns-${below(random, 3)}/pods/pod-${below(random, 12)}`;
  const spec = { nodeName: `node-${below(random, 4)}` };
  switch (below(random, 5)) {
    case 0:
      api.remove(path);
      break;
    case 1:
      // Deletes and recreates the object, often at the same time.
      api.remove(path);
      api.put(path, { spec });
      break;
    default:
      api.put(path, { spec, padding: "é".repeat(below(random, 40)) });
  }
}

function requestFault(random: RandomSource): FakeApiFault | undefined {
  if (random.next() < 0.6) return undefined;
  const faults: readonly FakeApiFault[] = [
    { answer: 429, headers: { "retry-after": String(below(random, 4)) } },
    { answer: 500 },
    { answer: 503, headers: { "retry-after": "1" } },
    { answer: 410 },
    { answer: 200, message: "a Status instead of a list" },
    "no connection",
    "silence",
    "torn",
    { late: random.next() * 40_000 },
  ];
  return faults[below(random, faults.length)];
}

function harm(api: FakeApi, random: RandomSource): number {
  const watchers: readonly Watcher[] = [...api.watchers];
  const watcher = watchers[below(random, watchers.length)];
  const reported = api.watchLinesOf("/api/v1/pods");
  switch (below(random, 11)) {
    case 0:
      watcher?.end();
      break;
    case 1:
      watcher?.end(new Error("ECONNRESET"));
      break;
    case 2:
      watcher?.send('{"type":"MODIFIED","object":{"metadata":{"name":"pod-1","resourceVer');
      watcher?.end();
      break;
    case 3:
      watcher?.send("<html>502 Bad Gateway</html>\n");
      break;
    case 4:
      watcher?.send(`${JSON.stringify({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } })}\n`);
      break;
    case 5:
      watcher?.freeze();
      break;
    case 6:
      // Repeats earlier lines, including the last one.
      watcher?.send(reported.at(-1) ?? "");
      for (let count = below(random, 10); count > 0; count--)
        watcher?.send(reported[below(random, reported.length)] ?? "");
      break;
    case 7:
      api.compact();
      break;
    case 8:
      api.restart(api.version + 10_000);
      break;
    case 9:
      api.restart(api.version - 100_000);
      break;
    default:
      api.bookmark();
  }
  return 1;
}

/** The state of a listener after all changes; an inconsistent change is an error. */
function replay(changes: readonly Change<Small>[]): Map<string, Small> {
  const known = new Map<string, Small>();
  for (const change of changes) {
    const { key, type } = change;
    const before = type === "added" ? undefined : change.old;
    if (known.get(key) !== before) throw new Error(`${key} was ${type} from what it was not`);
    if (type === "updated" && (change.new.uid !== change.old.uid || change.new.version === change.old.version)) {
      throw new Error(`${key} was updated from ${JSON.stringify(change.old)} to ${JSON.stringify(change.new)}`);
    }
    if (type === "deleted") known.delete(key);
    else known.set(key, change.new);
  }
  return known;
}

describe("a reflector under random faults", () => {
  it(`ends equal to the server and tells each change once, for ${SEEDS} seeds`, async () => {
    let faults = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const run = await storm(seed);
      faults += run.faults;
      const truth = new Map(
        [...run.api.objects.values()].map((object) => [
          keyOf(object.metadata),
          {
            key: keyOf(object.metadata),
            uid: object.metadata.uid,
            version: object.metadata.resourceVersion,
            node: (object as { spec?: { nodeName: string } }).spec?.nodeName,
          },
        ]),
      );
      expect(sorted(run.settled), `the store with seed ${seed}`).toEqual(sorted(truth));
      expect(sorted(replay(run.changes)), `the changes with seed ${seed}`).toEqual(sorted(truth));
      for (let node = 0; node < 4; node++) {
        const indexed = [...run.reflector.store.by("node", `node-${node}`)].map(({ key }) => key).toSorted();
        const expected = [...truth.values()].filter((pod) => pod.node === `node-${node}`).map(({ key }) => key);
        expect(indexed).toEqual(expected.toSorted());
      }
      expect(run.clock.waiting, "timers left behind").toBe(0);
    }
    expect(faults).toBeGreaterThan(3000);
  });
});

const sorted = (map: ReadonlyMap<string, unknown>) => [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
