import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../platform/clock/index.ts";
import { HttpTransport, KubeClient, loadIdentity, resources, type Transport } from "../../platform/kube/index.ts";
import { systemRandom } from "../../platform/random/index.ts";
import { type ApiThread, startApiThread } from "./api-thread.ts";
import { prepareCluster } from "./prepare-cluster.ts";

/** The cluster that all programs of the demo connect to. */
export interface DemoCluster {
  /** Path of a kubeconfig file for this cluster. */
  readonly kubeconfig: string;
  readonly server: string;
  /** True for a cluster inside this process, which ends with the demo. */
  readonly embedded: boolean;
  /** Namespace of the submitted pods and the scheduler they name. */
  readonly workload: { readonly namespace: string; readonly scheduler: string };
  /** Opens a separate HTTP connection for one program. */
  connect(): Promise<Transport>;
  /** Rejects when the embedded API fails; absent for a real cluster. */
  readonly failed?: Promise<never>;
  /** Sets the time of the timestamps of objects; absent for a real cluster. */
  readonly setTime?: ApiThread["setTime"];
  /** Removes what the demo created. The signal limits the time this may take. */
  close(signal: AbortSignal): Promise<void>;
}

/** No limit in practice: the demo calls its own API. */
export const CALLS = { perSecond: 2000, burst: 2000, queue: 100_000 };
/** Namespace of the operator's lease. */
export const DEMO_NAMESPACE = "joulie-demo";

async function connectTo(kubeconfig: string, allowInsecureToken = false): Promise<Transport> {
  const identity = await loadIdentity({ clock: systemClock, kubeconfig, allowInsecureToken, environment: {} });
  return new HttpTransport({ identity });
}

/** Starts the API in this process. `folder` is private to this demo. */
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
    await clientOf(transport).create(resources.namespaces, { metadata: { name: DEMO_NAMESPACE } });
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
    setTime: (time) => api.setTime(time),
    close: async () => api.close(),
  };
}

/** Connects to an existing cluster. Its scheduler does not call our extender, so pods name the demo's scheduler. */
export async function realCluster(
  kubeconfig: string,
  allowInsecureToken: boolean,
  signal: AbortSignal,
): Promise<DemoCluster> {
  const identity = await loadIdentity({ clock: systemClock, kubeconfig, allowInsecureToken, environment: {} });
  const transport = new HttpTransport({ identity });
  const client = clientOf(transport);
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

/** A client of the demo itself. Its calls take real time. */
export const clientOf = (transport: Transport): KubeClient =>
  new KubeClient({
    transport,
    clock: systemClock,
    random: systemRandom,
    fieldManager: "joulie-demo",
    userAgent: "joulie-demo",
    limit: CALLS,
  });
