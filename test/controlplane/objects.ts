import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { type Api, ApiFailure } from "./api.ts";

/** Maximum concurrent calls; more would only queue inside the API server. */
const bulkLimit = 48;
const crdFolder = join(import.meta.dirname, "../../charts/joulie/crds");
const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export interface NodeOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Added to 32 CPUs, 128Gi and 110 pods. */
  readonly capacity?: Readonly<Record<string, string>>;
  readonly unschedulable?: boolean;
}

/** A Node with a Ready condition and without a kubelet. */
function fakeNode(name: string, { labels, annotations, capacity, unschedulable }: NodeOptions = {}) {
  const resources = { cpu: "32", memory: "128Gi", pods: "110", ...capacity };
  const now = new Date().toISOString();
  const ready = { type: "Ready", status: "True", reason: "Fake", message: "no kubelet: a node for tests" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, annotations, labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", ...labels } },
    spec: { unschedulable },
    status: {
      capacity: resources,
      allocatable: resources,
      conditions: [{ ...ready, lastHeartbeatTime: now, lastTransitionTime: now }],
    },
  };
}

export interface PodOptions {
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly requests?: Readonly<Record<string, string>>;
  /** Written to the status after the create, because the server creates every pod as Pending. */
  readonly phase?: "Running" | "Succeeded" | "Failed";
  /** Other fields of the spec: nodeName, affinity, nodeSelector … */
  readonly spec?: Readonly<Record<string, unknown>>;
}

function fakePod(name: string, { namespace = "default", labels, annotations, requests, spec }: PodOptions = {}) {
  const resources = { requests: { cpu: "100m", memory: "64Mi", ...requests }, limits: extendedResources(requests) };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels, annotations },
    spec: { containers: [{ name: "main", image: "none", resources }], ...spec },
  };
}

/** The server accepts a GPU request only with an equal limit. */
function extendedResources(requests: PodOptions["requests"]): Record<string, string> {
  return Object.fromEntries(Object.entries(requests ?? {}).filter(([name]) => name.includes("/")));
}

export async function createNodes(
  api: Api,
  names: readonly string[],
  options: NodeOptions | ((name: string, index: number) => NodeOptions) = {},
): Promise<void> {
  await forEach(names, async (name, index) => {
    const own = typeof options === "function" ? options(name, index) : options;
    await api.create("/api/v1/nodes", fakeNode(name, own));
  });
}

export async function createPods(
  api: Api,
  names: readonly string[],
  options: PodOptions | ((name: string, index: number) => PodOptions) = {},
): Promise<void> {
  const wanted = names.map((name, index) => {
    const { phase, ...own } = typeof options === "function" ? options(name, index) : options;
    return { pod: fakePod(name, own), phase };
  });
  const namespaces = new Set(wanted.map(({ pod }) => pod.metadata.namespace));
  for (const namespace of namespaces) await ensureNamespace(api, namespace);
  await forEach(wanted, async ({ pod, phase }) => {
    const pods = `/api/v1/namespaces/${pod.metadata.namespace}/pods`;
    await api.create(pods, pod);
    if (phase !== undefined) await api.mergePatch(`${pods}/${pod.metadata.name}/status`, { status: { phase } });
  });
}

/** Creates the namespace if it is missing. */
export async function ensureNamespace(api: Api, name: string): Promise<void> {
  try {
    await api.create("/api/v1/namespaces", { metadata: { name } });
  } catch (error) {
    if (!(error instanceof ApiFailure && error.status === 409)) throw error;
  }
}

/** Returns `count` names in order: `node-00000`, `node-00001` … */
export function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${String(index).padStart(5, "0")}`);
}

/** Runs the work for every item with bounded concurrency; stops at the first failure. */
async function forEach<Item>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const queue = items.entries();
  let failed = false;
  const worker = async () => {
    for (const [index, item] of queue) {
      if (failed) return;
      try {
        await work(item, index);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(bulkLimit, items.length) }, worker));
}

export interface Crd {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly group: string; readonly names: { readonly kind: string; readonly plural: string } };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Installs the chart's CRDs and waits until the server serves them. */
export async function installCrds(api: Api): Promise<Crd[]> {
  const crds = readdirSync(crdFolder).map((file) => parse(readFileSync(join(crdFolder, file), "utf8")) as Crd);
  return Promise.all(
    crds.map(async (crd) => {
      await api.create(crdPath, crd);
      return eventuallyPasses(async () => {
        const now = await api.get<Crd>(`${crdPath}/${crd.metadata.name}`);
        const served = now.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True");
        if (served === true) return now;
        throw new Error(`${crd.metadata.name} is not established: ${JSON.stringify(now.status?.conditions)}`);
      });
    }),
  );
}
