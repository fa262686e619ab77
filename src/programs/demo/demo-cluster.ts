import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../platform/clock/index.ts";
import { HttpTransport, KubeClient, loadIdentity, resources, type Transport } from "../../platform/kube/index.ts";
import { systemRandom } from "../../platform/random/index.ts";
import { type ApiThread, startApiThread } from "./api-thread.ts";

export interface DemoCluster {
  readonly kubeconfig: string;
  readonly server: string;
  connect(): Promise<Transport>;
  readonly failed: Promise<never>;
  readonly setTime: ApiThread["setTime"];
  close(): Promise<void>;
}

/** No limit in practice: the demo calls its own API. */
export const CALLS = { perSecond: 2000, burst: 2000, queue: 100_000 };
export const DEMO_NAMESPACE = "joulie-demo";

async function connectTo(kubeconfig: string): Promise<Transport> {
  const identity = await loadIdentity({ clock: systemClock, kubeconfig, environment: {} });
  return new HttpTransport({ identity });
}

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
    connect: async () => connectTo(plain),
    failed: api.failed,
    setTime: (time) => api.setTime(time),
    close: async () => api.close(),
  };
}

export const clientOf = (transport: Transport): KubeClient =>
  new KubeClient({
    transport,
    clock: systemClock,
    random: systemRandom,
    fieldManager: "joulie-demo",
    userAgent: "joulie-demo",
    limit: CALLS,
  });
