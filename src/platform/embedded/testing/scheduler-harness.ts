// An embedded API with a client and a running scheduler, for tests.
import { type Clock, systemClock } from "../../clock/index.ts";
import { eventually } from "../../clock/testing/index.ts";
import { KubeClient, type KubeObject, resources } from "../../kube/index.ts";
import { createLogger } from "../../log/index.ts";
import { seededRandom } from "../../random/index.ts";
import { EmbeddedApi } from "../embedded-api.ts";
import type { ExtenderClient } from "../scheduler/extender.ts";
import { Scheduler, type SchedulerOptions } from "../scheduler/scheduler.ts";

export const log = createLogger({ program: "test", level: "silent", format: "json" });
export const cleanups: (() => Promise<unknown>)[] = [];
/** Runs the registered cleanups in reverse order. Call it after each test. */
export async function runCleanups(): Promise<void> {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
}

interface PodObject extends KubeObject {
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly conditions?: readonly { type: string; status: string; reason?: string; message?: string }[];
  };
}

export function schedulerHarness(
  clock: Clock = systemClock,
  extenders: readonly ExtenderClient[] = [],
  more: Pick<SchedulerOptions, "scoringStrategy" | "clusterClock"> = {},
) {
  const random = seededRandom(1);
  const api = new EmbeddedApi({ clock, random });
  const limit = { perSecond: 1e6, burst: 1e6, queue: 1e6 };
  const client = new KubeClient({ transport: api.transport(), clock, random, fieldManager: "test", limit });
  const scheduler = new Scheduler({ client, clock, random, log, extenders, ...more });
  scheduler.start();
  cleanups.push(
    async () => api.close(),
    async () => scheduler.stop(),
  );
  const at = (name: string) => ({ name, namespace: "default" });
  return {
    api,
    client,
    scheduler,
    node: async (name: string, allocatable: object = { cpu: "4", memory: "8Gi", pods: "10" }, more: object = {}) =>
      client.create(resources.nodes, {
        metadata: { name, labels: { "kubernetes.io/hostname": name } },
        status: { allocatable },
        ...more,
      }),
    pod: async (name: string, requests: object = {}, spec: object = {}) =>
      client.create(
        resources.pods,
        {
          metadata: { name },
          spec: { containers: [{ name: "c", image: "i", resources: { requests } }], ...spec },
        },
        { namespace: "default" },
      ),
    get: async (name: string) => client.get<PodObject>(resources.pods, at(name)),
    at,
  };
}

export const scheduledNode = (w: ReturnType<typeof schedulerHarness>) => async (name: string) =>
  eventually(async () => (await w.get(name)).spec.nodeName);
export const scheduledCondition = async (w: ReturnType<typeof schedulerHarness>, name: string) =>
  eventually(async () => (await w.get(name)).status.conditions?.find(({ status }) => status === "False"));
