// The extender under a real kube-scheduler, registered as in the guide, with exactly the permissions it declares.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { apiVersion, labels } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { freePorts } from "../../src/platform/serve/listen.ts";
import { extenderConfig } from "../../src/programs/extender/config.ts";
import { extenderPermissions } from "../../src/programs/extender/permissions.ts";
import { runExtender } from "../../src/programs/extender/start.ts";
import { reach } from "../contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import type { ClusterIdentity } from "../controlplane/identities.ts";
import { numbered } from "../controlplane/objects.ts";

interface RegisteredExtender {
  readonly urlPrefix: string;
  readonly nodeCacheCapable: boolean;
  readonly ignorable: boolean;
}
interface Registration {
  readonly profiles: readonly object[];
  readonly extenders: readonly [RegisteredExtender];
}

const guide = join(import.meta.dirname, "../../docs/guides/kube-scheduler.yaml");
// src/programs/extender/scheduler-configuration.test.ts checks its fields.
const registration = parse(readFileSync(guide, "utf8")) as Registration;
const twins = `/apis/${apiVersion}/nodetwins`;
const pods = "/api/v1/namespaces/default/pods";

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly spec: { readonly nodeName?: string };
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly message?: string }[] };
  }[];
}

describe.each([
  ["whole Nodes, as the guide has it", false],
  ["names", true],
])("under a real kube-scheduler that sends %s", (_, nodeCacheCapable) => {
  let plane: ControlPlane;
  let identity: ClusterIdentity;
  let port: number;
  let extender: { readonly stop: () => Promise<void> } | undefined;

  beforeAll(async () => {
    [port = 0] = await freePorts(1);
    const registered = { ...registration.extenders[0], urlPrefix: `http://127.0.0.1:${port}`, nodeCacheCapable };
    plane = await startControlPlane({ scheduler: { profiles: registration.profiles, extenders: [registered] } });
    identity = await plane.identity(extenderPermissions, { name: "joulie-extender" });
    await plane.createNodes(["fast", "slow", "leaving"]);
    await publish("fast", "performance");
    await publish("slow", "eco");
    await publish("leaving", "draining");
    extender = await start();
  });
  afterAll(async () => {
    await extender?.stop();
    await plane.stop();
  });

  async function start() {
    const variables = { METRICS_ADDR: "127.0.0.1:0", EXTENDER_ADDR: `127.0.0.1:${port}` };
    const machine = { isTerminal: false, exists: () => false };
    const parsed = parseConfig(extenderConfig, { env: variables, flags: {}, machine });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const transport = reach(identity.server, identity.token, identity.ca);
    const log = createLogger({ level: "fatal", program: "extender" });
    const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log };
    const ending = new AbortController();
    const done = runExtender(parsed.value.values, world, ending.signal);
    await eventuallyPasses(async () => expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200));
    return {
      stop: async () => {
        ending.abort();
        await done;
        await transport.close();
      },
    };
  }

  /** Writes the twin, then the label, like the operator. */
  async function publish(node: string, schedulableClass: string): Promise<void> {
    const profile = schedulableClass === "performance" ? "performance" : "eco";
    await plane.api
      .create(twins, { apiVersion, kind: "NodeTwin", metadata: { name: node }, spec: { nodeName: node, profile } })
      .catch(() => undefined);
    await plane.api.mergePatch(`${twins}/${node}/status`, {
      status: {
        schedulableClass,
        predictedPowerHeadroomScore: 60,
        predictedCoolingStressScore: 20,
        lastUpdated: new Date().toISOString(),
      },
    });
    await plane.api.mergePatch(`/api/v1/nodes/${node}`, { metadata: { labels: { [labels.powerProfile]: profile } } });
  }

  const classed = (workloadClass: string) => ({ annotations: { "joulie.io/workload-class": workloadClass } });

  async function placed(prefix: string): Promise<Record<string, number>> {
    const { items } = await plane.api.get<PodList>(pods);
    const counts: Record<string, number> = {};
    for (const { metadata, spec } of items) {
      if (!metadata.name.startsWith(prefix)) continue;
      const where = spec.nodeName ?? "nowhere";
      counts[where] = (counts[where] ?? 0) + 1;
    }
    return counts;
  }

  it("SCH-54 SCH-55 SCH-56 kube-scheduler reads every field of the registration", async () => {
    const read = (await plane.schedulerConfig()) as Record<string, { readonly extenders?: readonly object[] }>;
    // kube-scheduler omits fields that are false.
    const extenders = Object.values(read).flatMap((config) =>
      (config.extenders ?? []).map((one) => ({ enableHTTPS: false, nodeCacheCapable: false, ...one })),
    );
    const [guided] = registration.extenders;
    // Fields that are not in the file have kube-scheduler's defaults: no other verbs, and 5 s.
    expect(extenders).toEqual([
      { ...guided, urlPrefix: `http://127.0.0.1:${port}`, nodeCacheCapable, httpTimeout: "5s" },
    ]);
  });

  it("SCH-04 SCH-05 SCH-06 performance pods never land on eco or draining nodes", async () => {
    await plane.createPods(numbered("urgent", 30), classed("performance"));
    await eventuallyPasses(async () => expect(await placed("urgent")).toEqual({ fast: 30 }));
  });

  it("SCH-31 standard pods prefer the eco node, though kube-scheduler's own plugins would spread them", async () => {
    await plane.createPods(numbered("calm", 30), classed("standard"));
    await eventuallyPasses(async () => expect(await placed("calm")).toEqual({ slow: 30 }));
  });

  it("X-20 a performance pod left pending says why, and binds once its node leaves eco", async () => {
    await plane.createNodes(["turning"]);
    await publish("turning", "eco");
    await plane.createPods(["waiting"], {
      ...classed("performance"),
      spec: { nodeSelector: { "kubernetes.io/hostname": "turning" } },
    });
    const message = async () => {
      const { items } = await plane.api.get<PodList>(pods);
      const pod = items.find(({ metadata }) => metadata.name === "waiting");
      return pod?.status.conditions?.find(({ type }) => type === "PodScheduled")?.message;
    };
    await eventuallyPasses(async () => expect(await message()).toContain("class eco"));
    expect(await placed("waiting")).toEqual({ nowhere: 1 });
    await publish("turning", "performance");
    await eventuallyPasses(async () => expect(await placed("waiting")).toEqual({ turning: 1 }));
  });

  it(`kube-scheduler's own scores ${nodeCacheCapable ? "still see" : "no longer see"} which node is full`, async () => {
    await plane.createNodes(["full", "empty"], { labels: { pair: "yes" } });
    await plane.createPods(["filler"], { requests: { cpu: "30" }, spec: { nodeName: "full" } });
    await plane.createPods(numbered("even", 24), { spec: { nodeSelector: { pair: "yes" } } });
    await eventuallyPasses(async () => expect(await placed("even")).not.toHaveProperty("nowhere"));
    const { full = 0, empty = 0 } = await placed("even");
    // The extender has no twin of either node and scores both alike. kube-scheduler builds new node objects without pods from an
    // answer with whole Nodes: both look empty to its score plugins, and the choice is random.
    expect({ everyPodFoundIt: full === 0, placed: full + empty }).toEqual({
      everyPodFoundIt: nodeCacheCapable,
      placed: 24,
    });
  });

  it("SCH-56 scheduling continues when the extender stops during a burst, and uses it again when it is back", async () => {
    const burst = plane.createPods(numbered("burst", 150), classed("standard"));
    await eventuallyPasses(async () =>
      expect(Object.keys(await placed("burst")).filter((node) => node !== "nowhere")).not.toEqual([]),
    );
    await extender?.stop();
    extender = undefined;
    await burst;
    await eventuallyPasses(async () => expect(await placed("burst")).not.toHaveProperty("nowhere"));
    extender = await start();
    await plane.createPods(numbered("again", 10), classed("performance"));
    await eventuallyPasses(async () => expect(await placed("again")).not.toHaveProperty("nowhere"));
    const { slow, leaving } = await placed("again");
    expect([slow, leaving]).toEqual([undefined, undefined]);
  });
});
