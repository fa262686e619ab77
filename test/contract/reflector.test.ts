// The product's client and reflector on an embedded API with injected faults: the cache must end equal to the store.
import { describe, expect, it } from "vitest";
import { crdOf, kinds } from "../../src/core/api/index.ts";
import { instant, milliseconds } from "../../src/core/units/index.ts";
import { VirtualClock } from "../../src/platform/clock/index.ts";
import { FaultyApi, type InjectedFault } from "../../src/platform/embedded/testing/index.ts";
import { KubeClient, Reflector, resources } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { seededRandom } from "../../src/platform/random/index.ts";
import { Hand, ok } from "./hand.ts";
import { paths, twin } from "./samples.ts";

const log = createLogger({ level: "silent", program: "test" });
const ms = milliseconds;

async function torture(seed: number) {
  const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  const random = seededRandom(seed);
  const api = new FaultyApi({ clock, random, crds: kinds.map(crdOf), historyLimit: 40 });
  const limit = { perSecond: 1e6, burst: 1e6, queue: 1e6 };
  const client = new KubeClient({ transport: api.transport(), clock, random, fieldManager: "test", limit });
  const seen = new Map<string, string>();
  const reflector = new Reflector({
    client,
    clock,
    random,
    log,
    resource: resources.nodeTwins,
    project: ({ metadata }) => metadata.resourceVersion ?? "",
    pageSize: 5,
    onChange: (changes) => {
      for (const change of changes) {
        if (change.type === "deleted") seen.delete(change.key);
        else seen.set(change.key, change.new);
      }
    },
  });
  reflector.start();
  const hand = new Hand(api.transport());
  const pick = (count: number) => Math.floor(random.next() * count);
  const faults: InjectedFault[] = [
    { kind: "status", code: 429, retryAfterSeconds: 1 },
    { kind: "status", code: 500 },
    { kind: "torn", afterBytes: 30 },
    { kind: "torn", afterBytes: 2000 },
    { kind: "latency", length: ms(3000) },
    { kind: "refused" },
  ];
  const agent = ({ headers }: { readonly headers?: Readonly<Record<string, string>> }) =>
    headers?.["user-agent"] !== "contract";
  const mischief = [
    () => api.faults.dropWatches(),
    () => api.faults.expire(),
    () =>
      void api.faults.add({
        fault: faults[pick(faults.length)] ?? { kind: "refused" },
        times: 1 + pick(3),
        when: agent,
      }),
  ];
  for (let step = 0; step < 150; step++) {
    const path = `${paths.twins}/n${pick(20)}`;
    const name = path.slice(path.lastIndexOf("/") + 1);
    const change = pick(3);
    if (change === 0) await hand.send("DELETE", path);
    else ok(await hand.apply(path, twin(name, { policy: { name: `p${step}` } }), "churn"));
    if (pick(4) === 0) mischief[pick(mischief.length)]?.();
    if (pick(20) === 0) {
      api.faults.freeze();
      await clock.advanceAsync(ms(pick(90_000)));
      api.faults.thaw();
    }
    await clock.advanceAsync(ms(pick(2000)));
  }
  api.faults.clear();
  await clock.advanceAsync(ms(300_000));
  const { items } = ok(await hand.get(paths.twins));
  const truth = new Map<string, string>(
    items.map(({ metadata }: { metadata: { name: string; resourceVersion: string } }) => [
      metadata.name,
      metadata.resourceVersion,
    ]),
  );
  const stored = new Map(reflector.store.entries());
  const stopping = reflector.stop();
  await clock.advanceAsync(ms(60_000));
  await stopping;
  await api.close();
  return { truth, stored, seen };
}

describe("Reflector on a misbehaving embedded API", () => {
  it.each(Array.from({ length: 10 }, (_, seed) => seed))("converges to the server's objects, seed %d", async (seed) => {
    const { truth, stored, seen } = await torture(seed);
    expect(truth.size).toBeGreaterThan(0);
    expect(stored).toEqual(truth);
    expect(seen).toEqual(truth);
  });
});
