import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crdOf, kinds } from "../../core/api/index.ts";
import { type Clock, systemClock } from "../../platform/clock/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import { HttpTransport, KubeClient, loadIdentity, resources, type Transport } from "../../platform/kube/index.ts";
import { systemRandom } from "../../platform/random/index.ts";
import { borrowCluster } from "./borrowed-cluster.ts";

/** The API that all programs talk to. */
export interface Plane {
  /** A kubeconfig file that leads there. */
  readonly kubeconfig: string;
  readonly server: string;
  /** Nobody else is there, and nothing of it outlives the demo. */
  readonly embedded: boolean;
  /** Where pods are submitted, and which scheduler they ask for. */
  readonly workload: { readonly namespace: string; readonly scheduler: string };
  /** A way there of one's own, over HTTP. */
  connect(): Promise<Transport>;
  /** Takes away what was brought, for as long as that may take. */
  close(signal: AbortSignal): Promise<void>;
}

/** Where the operator's lease is. */
export const NAMESPACE = "joulie-demo";

const connectTo = async (kubeconfig: string): Promise<Transport> =>
  new HttpTransport({ identity: await loadIdentity({ clock: systemClock, kubeconfig, environment: {} }) });

export async function embeddedPlane(folder: string): Promise<Plane> {
  const api = new EmbeddedApi({ clock: systemClock, random: systemRandom, crds: kinds.map(crdOf) });
  const listening = await api.listen({ tls: "self-signed" });
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, listening.kubeconfig(), { mode: 0o600 });
  await chmod(kubeconfig, 0o600);
  const client = clientOf(api.transport(), systemClock);
  await client.create(resources.namespaces, { metadata: { name: NAMESPACE } });
  return {
    kubeconfig,
    server: listening.url,
    embedded: true,
    workload: { namespace: "default", scheduler: "default-scheduler" },
    connect: async () => connectTo(kubeconfig),
    close: async () => api.close(),
  };
}

/** Somebody's cluster, whose own scheduler knows nothing of our extender: pods ask for the demo's. */
export async function realPlane(kubeconfig: string, signal: AbortSignal): Promise<Plane> {
  const identity = await loadIdentity({ clock: systemClock, kubeconfig, environment: {} });
  const transport = new HttpTransport({ identity });
  const client = clientOf(transport, systemClock);
  try {
    const giveBack = await borrowCluster(client, NAMESPACE, systemClock, signal);
    return {
      kubeconfig,
      server: identity.server,
      embedded: false,
      workload: { namespace: NAMESPACE, scheduler: "joulie-demo" },
      connect: async () => connectTo(kubeconfig),
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
