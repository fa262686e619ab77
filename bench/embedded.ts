import { crdOf, kinds } from "../src/core/api/index.ts";
import { milliseconds } from "../src/core/units/index.ts";
import { systemClock } from "../src/platform/clock/index.ts";
import { EmbeddedApi, Scheduler } from "../src/platform/embedded/index.ts";
import { HttpTransport, KubeClient, resources, type Transport } from "../src/platform/kube/index.ts";
import { createLogger } from "../src/platform/log/index.ts";
import { seededRandom } from "../src/platform/random/index.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const NODES = 5000;
const PODS = 20_000;
/** Concurrent requests, as from 64 agents. */
const AT_ONCE = 64;

const seconds = (start: number): BenchFigure => ({ unit: "s", value: (performance.now() - start) / 1000 });

const nodeBody = (index: number) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: `node-${index}.example.org`,
      labels: {
        "joulie.io/managed": "true",
        "kubernetes.io/hostname": `node-${index}`,
        "joulie.io/rack": `r${index % 100}`,
      },
    },
    spec: {},
    status: {
      capacity: { cpu: "64", memory: "256Gi", pods: "110" },
      allocatable: { cpu: "64", memory: "256Gi", pods: "110" },
      conditions: [
        { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" },
      ],
      nodeInfo: { kubeletVersion: "v1.36.0", osImage: "Debian", kernelVersion: "6.12", architecture: "amd64" },
    },
  });

const podBody = (index: number) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `pod-${index}`,
      labels: { app: `app-${index % 50}` },
      annotations: { "joulie.io/workload-class": "standard" },
    },
    spec: {
      containers: [{ name: "main", image: "example.org/none", resources: { requests: { cpu: "1", memory: "2Gi" } } }],
      tolerations: [{ key: "dedicated", operator: "Exists" }],
    },
  });

async function send(transport: Transport, method: "GET" | "POST", path: string, body?: string): Promise<number> {
  const { signal } = new AbortController();
  const headers = { "content-type": "application/json", "user-agent": "bench/1" };
  const answer = await transport.request({ method, path, headers, signal, ...(body === undefined ? {} : { body }) });
  let bytes = 0;
  for await (const chunk of answer.body) bytes += chunk.length;
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}`);
  return bytes;
}

async function createAll(
  transport: Transport,
  path: string,
  count: number,
  body: (index: number) => string,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await send(transport, "POST", path, body(next++));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function fill(transport: Transport): Promise<void> {
  await createAll(transport, "/api/v1/nodes", NODES, nodeBody);
  await createAll(transport, "/api/v1/namespaces/default/pods", PODS, podBody);
}

const embedded = () => new EmbeddedApi({ clock: systemClock, random: seededRandom(1), crds: kinds.map(crdOf) });

/** Time until every pod has a node. */
async function scheduleAll(transport: Transport): Promise<BenchFigure> {
  const random = seededRandom(2);
  const log = createLogger({ level: "silent", program: "bench" });
  const limit = { perSecond: 1e6, burst: 1e6, queue: 1e6 };
  const client = new KubeClient({ transport, clock: systemClock, random, fieldManager: "bench", limit });
  const scheduler = new Scheduler({ client, clock: systemClock, random, log });
  const start = performance.now();
  scheduler.start();
  for (;;) {
    await systemClock.sleep(milliseconds(250));
    const { items } = await client.list(resources.pods, { fieldSelector: "spec.nodeName=", limit: 1 });
    if (items.length === 0) break;
  }
  const took = (performance.now() - start) / 1000;
  await scheduler.stop();
  return { unit: "pods/s", value: PODS / took };
}

export const scenario: Scenario = {
  about: `The embedded API: ${NODES} nodes and ${PODS} pods, over memory and over loopback HTTP`,
  repeats: 1,
  measure: async () => {
    const begin = performance.now();
    const api = embedded();
    const transport = api.transport();
    await send(transport, "GET", "/api/v1/nodes");
    const start = seconds(begin);
    const filling = performance.now();
    await fill(transport);
    const created = seconds(filling);
    const listing = performance.now();
    const bytes = await send(transport, "GET", "/api/v1/nodes");
    const firstList = seconds(listing);
    const again = performance.now();
    await send(transport, "GET", "/api/v1/nodes");
    const nextList = seconds(again);
    const scheduled = await scheduleAll(transport);
    await api.close();

    const served = embedded();
    const { url, token } = await served.listen();
    const http = new HttpTransport({
      identity: {
        server: url,
        namespace: "default",
        headers: async () => ({ authorization: `Bearer ${token}` }),
        tls: async () => ({}),
        refused: () => undefined,
      },
      connections: AT_ONCE,
    });
    const overHttp = performance.now();
    await fill(http);
    const createdOverHttp = seconds(overHttp);
    const listingOverHttp = performance.now();
    await send(http, "GET", "/api/v1/nodes");
    const listOverHttp = seconds(listingOverHttp);
    await http.close();
    await served.close();
    return {
      "start until the first answer": start,
      "create all, memory": created,
      "create all, HTTP": createdOverHttp,
      [`list of ${NODES} nodes, memory`]: firstList,
      "the same again": nextList,
      [`list of ${NODES} nodes, HTTP`]: listOverHttp,
      "size of that list": { unit: "MB", value: bytes / 1e6 },
      "pods given a node": scheduled,
      "memory of the process": { unit: "MB", value: process.memoryUsage().rss / 1e6 },
    };
  },
  goals: [
    { says: "start (s)", of: (figures) => figures["start until the first answer"] ?? Number.NaN, atMost: 0.5 },
    { says: "create all over HTTP (s)", of: (figures) => figures["create all, HTTP"] ?? Number.NaN, atMost: 30 },
    { says: "list over HTTP (s)", of: (figures) => figures[`list of ${NODES} nodes, HTTP`] ?? Number.NaN, atMost: 0.5 },
  ],
};
