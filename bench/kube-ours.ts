// One measurement of bench/kube.ts with Joulie's client, in a separate process.

import { systemClock } from "../src/platform/clock/index.ts";
import {
  HttpTransport,
  type Identity,
  KubeClient,
  type KubeObject,
  Reflector,
  resources,
} from "../src/platform/kube/index.ts";
import { createLogger } from "../src/platform/log/index.ts";
import { systemRandom } from "../src/platform/random/index.ts";
import { eventMeter, measurement, settledMemory } from "./kube-measurement.ts";
import type { SmallPod } from "./kube-objects.ts";

const log = createLogger({ level: "error", program: "bench" });

await measurement(async ({ port, what, events, patches, concurrency }) => {
  const identity: Identity = {
    server: `http://127.0.0.1:${port}`,
    namespace: undefined,
    headers: async () => ({ authorization: "Bearer token" }),
    tls: async () => ({}),
    refused: () => undefined,
  };
  const transport = new HttpTransport({ identity, connections: 16 });
  const limit = { perSecond: 1e6, burst: 1e6, queue: 1e6 };
  const client = new KubeClient({ transport, clock: systemClock, random: systemRandom, fieldManager: "bench", limit });
  const common = { client, clock: systemClock, random: systemRandom, log } as const;

  if (what === "patches") {
    const one = async (index: number) =>
      client.apply(
        resources.nodeTwins,
        { name: `node-${index}` },
        { spec: { nodeName: `node-${index}`, profile: "eco", cpu: { packagePowerCapPctOfMax: 60 } } },
        { force: true },
      );
    await Promise.all(Array.from({ length: concurrency }, async (_, index) => one(index)));
    const start = performance.now();
    let next = 0;
    await Promise.all(
      Array.from({ length: concurrency }, async () => {
        while (next < patches) await one(next++);
      }),
    );
    return { value: (patches * 1000) / (performance.now() - start), close: async () => transport.close() };
  }

  if (what === "nodes") {
    const start = performance.now();
    const reflector = new Reflector({ ...common, resource: resources.nodes, project: (object) => object });
    reflector.start();
    await reflector.synced();
    const took = performance.now() - start;
    if (reflector.store.size !== 5000) throw new Error(`${reflector.store.size} nodes`);
    return { value: took, close: async () => (await reflector.stop(), transport.close()) };
  }

  const meter = eventMeter(events);
  const reflector = new Reflector<SmallPod, "node">({
    ...common,
    resource: resources.pods,
    project: smallPod,
    indexes: { node: ({ node }) => node },
    onChange: (changes) => {
      if (reflector.hasSynced) meter.saw(changes.length);
    },
    ...(what === "events" ? {} : { selection: { labelSelector: "quiet" } }),
  });
  reflector.start();
  await reflector.synced();
  const close = async () => (await reflector.stop(), transport.close());
  if (what === "events") return { ...(await meter.all), close };
  const value = await settledMemory();
  if (reflector.store.size !== 50_000) throw new Error(`${reflector.store.size} pods`);
  return { value, close };
});

function smallPod({ metadata, ...rest }: KubeObject): SmallPod {
  const { spec, status } = rest as {
    spec: { nodeName: string; containers: { resources: { requests: { cpu: string } } }[] };
    status: { phase: string };
  };
  return {
    name: metadata.name,
    namespace: metadata.namespace ?? "",
    node: spec.nodeName,
    phase: status.phase,
    performance: metadata.annotations?.["joulie.io/workload-class"] === "performance",
    cpu: spec.containers[0]?.resources.requests.cpu ?? "",
  };
}
