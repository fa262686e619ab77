import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock, type ThreadLoad } from "../../platform/clock/index.ts";
import { HttpTransport, KubeClient, loadIdentity, resources, type Transport } from "../../platform/kube/index.ts";
import { systemRandom } from "../../platform/random/index.ts";
import { type ApiThread, startApiThread } from "./api-thread.ts";
import { prepareCluster } from "./prepare-cluster.ts";

/** The API that all programs talk to. */
export interface DemoCluster {
  /** A kubeconfig file that leads there. */
  readonly kubeconfig: string;
  readonly server: string;
  /** Nobody else is there, and nothing of it outlives the demo. */
  readonly embedded: boolean;
  /** Where pods are submitted, and which scheduler they ask for. */
  readonly workload: { readonly namespace: string; readonly scheduler: string };
  /** A way there of one's own, over HTTP. */
  connect(): Promise<Transport>;
  /** Rejects when it is no longer there; never for one that is somebody else's. */
  readonly failed?: Promise<never>;
  /** How busy it is; nobody knows of one that is somebody else's. */
  readonly load?: ThreadLoad;
  /** Takes away what was brought, for as long as that may take. */
  close(signal: AbortSignal): Promise<void>;
}

/** Where the operator's lease is. */
export const DEMO_NAMESPACE = "joulie-demo";

async function connectTo(kubeconfig: string, allowInsecureToken = false): Promise<Transport> {
  const identity = await loadIdentity({ clock: systemClock, kubeconfig, allowInsecureToken, environment: {} });
  return new HttpTransport({ identity });
}

/** An API of this process; `folder` is nobody else's. */
export async function embeddedCluster(folder: string, startApi = startApiThread): Promise<DemoCluster> {
  const api = await startApi();
  try {
    return await planeIn(folder, api);
  } catch (error) {
    await api.close();
    throw error;
  }
}

async function planeIn(folder: string, api: ApiThread): Promise<DemoCluster> {
  const [kubeconfig, plain] = [join(folder, "kubeconfig"), join(folder, "kubeconfig-of-programs")];
  await writeFile(kubeconfig, api.kubeconfig, { mode: 0o600 });
  await writeFile(plain, api.plainKubeconfig, { mode: 0o600 });
  const transport = await connectTo(plain);
  try {
    await clientOf(transport, systemClock).create(resources.namespaces, { metadata: { name: DEMO_NAMESPACE } });
  } finally {
    await transport.close();
  }
  return {
    kubeconfig,
    server: api.url,
    embedded: true,
    workload: { namespace: "default", scheduler: "default-scheduler" },
    connect: async () => connectTo(plain),
    failed: api.failed,
    load: api.load,
    close: async () => api.close(),
  };
}

/** Somebody's cluster, whose own scheduler knows nothing of our extender: pods ask for the demo's. */
export async function realCluster(
  kubeconfig: string,
  allowInsecureToken: boolean,
  signal: AbortSignal,
): Promise<DemoCluster> {
  const identity = await loadIdentity({ clock: systemClock, kubeconfig, allowInsecureToken, environment: {} });
  const transport = new HttpTransport({ identity });
  const client = clientOf(transport, systemClock);
  try {
    const giveBack = await prepareCluster(client, DEMO_NAMESPACE, systemClock, signal);
    return {
      kubeconfig,
      server: identity.server,
      embedded: false,
      workload: { namespace: DEMO_NAMESPACE, scheduler: "joulie-demo" },
      connect: async () => connectTo(kubeconfig, allowInsecureToken),
      close: async (limit) => {
        try {
          await giveBack(limit);
        } finally {
          await transport.close();
        }
      },
    };
  } catch (error) {
    await transport.close();
    throw error;
  }
}

const clientOf = (transport: Transport, clock: Clock): KubeClient =>
  new KubeClient({ transport, clock, random: systemRandom, fieldManager: "joulie-demo", userAgent: "joulie-demo" });
