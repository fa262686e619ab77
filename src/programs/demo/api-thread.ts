import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { crdOf, kinds } from "../../core/api/index.ts";
import { systemClock, type ThreadLoad, threadLoad } from "../../platform/clock/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import { systemRandom } from "../../platform/random/index.ts";

/** Where an API in a thread of its own is to be found. */
interface Serving {
  /** For people: kubectl sends its token over TLS only. */
  readonly url: string;
  readonly kubeconfig: string;
  /** For programs of this process, which need not hide their words from themselves. */
  readonly plainKubeconfig: string;
}

export interface ApiThread extends Serving {
  /** Rejects when the thread has ended by itself. */
  readonly failed: Promise<never>;
  readonly load: ThreadLoad;
  close(): Promise<void>;
}

const ROLE = "joulie-api";

/**
 * A Kubernetes API in a thread of its own: half of all the work in a large cluster is the server's, and in one thread with it
 * every program would wait for it. Source file or bundle, the thread runs the file that this stands in.
 */
export async function startApiThread(): Promise<ApiThread> {
  const worker = new Worker(new URL(import.meta.url), { name: ROLE, workerData: ROLE });
  const serving = Promise.withResolvers<Serving>();
  const failed = Promise.withResolvers<never>();
  const fail = (why: string) => failed.reject(new Error(`the Kubernetes API cannot go on: ${why}`));
  worker.once("message", serving.resolve);
  worker.once("error", (error) => fail(error instanceof Error ? error.message : String(error)));
  worker.once("exit", () => fail("its thread has ended"));
  // Whoever waits for it hears of it; without one it is no accident.
  failed.promise.catch(() => undefined);
  const close = async (): Promise<void> => void (await worker.terminate());
  const found = await Promise.race([serving.promise, failed.promise]);
  return { ...found, failed: failed.promise, load: threadLoad(worker.performance), close };
}

async function serveIn(port: NonNullable<typeof parentPort>): Promise<void> {
  const api = new EmbeddedApi({ clock: systemClock, random: systemRandom, crds: kinds.map(crdOf) });
  const [secure, plain] = await Promise.all([api.listen({ tls: "self-signed" }), api.listen()]);
  const serving: Serving = {
    url: secure.url,
    kubeconfig: secure.kubeconfig(),
    plainKubeconfig: plain.kubeconfig(),
  };
  port.postMessage(serving);
}

if (!isMainThread && parentPort !== null && workerData === ROLE) await serveIn(parentPort);
