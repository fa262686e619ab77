import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { crdOf, errorMessageOf, kinds } from "../../core/api/index.ts";
import { type Instant, instant, type Milliseconds } from "../../core/units/index.ts";
import { type Clock, clockWithCalendar, ScaledClock, systemClock } from "../../platform/clock/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import { systemRandom } from "../../platform/random/index.ts";

interface Serving {
  readonly url: string;
  readonly kubeconfig: string;
  /** Kubeconfig for plain HTTP on loopback, used by the programs of this process. */
  readonly plainKubeconfig: string;
}

export interface ApiThread extends Serving {
  /** Rejects when the thread ends unexpectedly. */
  readonly failed: Promise<never>;
  setTime(time: SimulatedTime): void;
  close(): Promise<void>;
}

interface SimulatedTime {
  readonly now: Instant;
  readonly speed: number;
  readonly granted: Milliseconds;
}

const ROLE = "joulie-api";

/** In a worker thread, because the API server does half of the work. The worker runs this file. */
export async function startApiThread(): Promise<ApiThread> {
  const worker = new Worker(new URL(import.meta.url), { name: ROLE, workerData: ROLE });
  const serving = Promise.withResolvers<Serving>();
  const failed = Promise.withResolvers<never>();
  const fail = (why: string) => failed.reject(new Error(`the Kubernetes API failed: ${why}`));
  worker.once("message", serving.resolve);
  worker.once("error", (error) => fail(errorMessageOf(error)));
  worker.once("exit", () => fail("its thread exited"));
  // Avoids an unhandled rejection when no caller awaits `failed`.
  failed.promise.catch(() => undefined);
  const close = async (): Promise<void> => void (await worker.terminate());
  const found = await Promise.race([serving.promise, failed.promise]);
  const setTime = (time: SimulatedTime): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
    worker.postMessage(time);
  };
  return { ...found, failed: failed.promise, setTime, close };
}

async function serveIn(port: NonNullable<typeof parentPort>): Promise<void> {
  // Programs compare timestamps of objects with their own clock, which runs in simulated time. Everything else takes real time.
  let time: Pick<Clock, "now"> = systemClock;
  port.on("message", ({ now, speed, granted }: SimulatedTime) => {
    const next = new ScaledClock(systemClock, speed, instant(Math.max(now, time.now())));
    next.grant(granted);
    time = next;
  });
  const clock = clockWithCalendar(systemClock, { now: () => time.now() });
  const api = new EmbeddedApi({ clock, random: systemRandom, crds: kinds.map(crdOf) });
  const [secure, plain] = await Promise.all([api.listen({ tls: "self-signed" }), api.listen()]);
  const serving: Serving = {
    url: secure.url,
    kubeconfig: secure.kubeconfig(),
    plainKubeconfig: plain.kubeconfig(),
  };
  port.postMessage(serving);
}

if (!isMainThread && parentPort !== null && workerData === ROLE) await serveIn(parentPort);
