import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseConfig } from "../../platform/config/index.ts";
import { ExtenderClient as ExtenderCall, Scheduler } from "../../platform/embedded/index.ts";
import { type KubeObject, resources } from "../../platform/kube/index.ts";
import { createLogger } from "../../platform/log/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { extenderConfig } from "./config.ts";
import {
  calmTwinStatus,
  ExtenderHarness,
  type FilterResult,
  type HostScores,
  podOfClass,
  type RunningExtender,
} from "./testing/extender-harness.ts";

// Uses a scheduler with kube-scheduler's protocol, configured as in the guide. test/cluster uses the real kube-scheduler.

interface Registration {
  readonly extenders: readonly [
    {
      readonly urlPrefix: string;
      readonly filterVerb: string;
      readonly prioritizeVerb: string;
      readonly weight: number;
      readonly enableHTTPS: boolean;
      readonly nodeCacheCapable: boolean;
      readonly ignorable: boolean;
    },
  ];
}
const guide = join(import.meta.dirname, "../../../docs/guides");
const registration = parse(readFileSync(join(guide, "kube-scheduler.yaml"), "utf8")) as Registration;
const [registered] = registration.extenders;

let harness: ExtenderHarness;
let scheduler: Scheduler | undefined;
beforeEach(() => {
  harness = new ExtenderHarness();
});
afterEach(async () => {
  await scheduler?.stop();
  scheduler = undefined;
  await harness.end();
});

function schedule(extender: RunningExtender, nodeCacheCapable: boolean): void {
  const call = new ExtenderCall({ ...registered, urlPrefix: String(extender.url), nodeCacheCapable });
  scheduler = new Scheduler({
    client: harness.client,
    clock: harness.clock,
    random: seededRandom(5),
    log: createLogger({ level: "silent", program: "test" }),
    extenders: [call],
  });
  scheduler.start();
}

async function createPod(name: string, workloadClass: string): Promise<void> {
  const annotations = { "joulie.io/workload-class": workloadClass };
  const spec = { containers: [{ name: "main", image: "none", resources: { requests: { cpu: "1" } } }] };
  await harness.client.create(resources.pods, { metadata: { name, annotations }, spec }, { namespace: "default" });
}

type Bound = KubeObject & { readonly spec: { readonly nodeName?: string } };
const nodeOf = async (name: string) =>
  (await harness.client.get<Bound>(resources.pods, { name, namespace: "default" })).spec.nodeName;

describe("the registration in the guide", () => {
  it("SCH-54 SCH-55 SCH-56 has every field with the documented value", () => {
    expect(registration).toEqual({
      apiVersion: "kubescheduler.config.k8s.io/v1",
      kind: "KubeSchedulerConfiguration",
      profiles: [{ schedulerName: "default-scheduler" }],
      extenders: [
        {
          urlPrefix: "http://joulie-scheduler-extender.joulie-system.svc.cluster.local:9876",
          filterVerb: "filter",
          prioritizeVerb: "prioritize",
          weight: 1,
          enableHTTPS: false,
          nodeCacheCapable: false,
          ignorable: true,
        },
      ],
    });
  });

  it("SCH-54 uses the port and protocol of an extender with default settings", async () => {
    const machine = { isTerminal: false, exists: () => false };
    const parsed = parseConfig(extenderConfig, { env: {}, flags: {}, machine, known: [] });
    const { port, protocol } = new URL(registered.urlPrefix);
    expect(parsed.ok && String(parsed.value.values.EXTENDER_ADDR.port)).toBe(port);
    expect(registered.enableHTTPS).toBe(protocol === "https:");
    const extender = await harness.start();
    expect(new URL(String(extender.url)).protocol).toBe(protocol);
  });

  it("SCH-55 uses verbs that answer whole Nodes with whole Nodes and scores", async () => {
    for (const name of ["fast", "eco"]) {
      await harness.createNode(name);
      await harness.twin(name, { ...calmTwinStatus, schedulableClass: name === "fast" ? "performance" : name });
    }
    const extender = await harness.start();
    const items = ["fast", "eco"].map((name) => ({ metadata: { name }, spec: { own: name } }));
    expect(registered.nodeCacheCapable).toBe(false);
    const asked = { Pod: podOfClass("performance"), Nodes: { items }, NodeNames: null };
    const filtered = await extender.post<FilterResult>(`/${registered.filterVerb}`, asked);
    expect([filtered.body.Nodes?.items, filtered.body.NodeNames]).toEqual([[items[0]], null]);
    expect(Object.keys(filtered.body.FailedAndUnresolvableNodes)).toEqual(["eco"]);
    const scored = await extender.post<HostScores>(`/${registered.prioritizeVerb}`, asked);
    expect(scored.body.map(({ Host }) => Host)).toEqual(["fast", "eco"]);
    // The guide's table documents 0 to 100 at weight 1.
    expect(registered.weight).toBe(1);
    expect(readFileSync(join(guide, "scheduler.md"), "utf8")).toContain("(kube-scheduler.yaml)");
  });
});

const capacity = { cpu: "64", memory: "256Gi", pods: "110" };

describe.each([[false], [true]])("SCH-54 SCH-55 nodeCacheCapable %s", (nodeCacheCapable) => {
  it("performance pods never land on eco or draining nodes, standard pods prefer eco", async () => {
    const classes = { fast: "performance", eco: "eco", draining: "draining" };
    for (const [name, schedulableClass] of Object.entries(classes)) {
      await harness.createNode(name, {}, capacity);
      await harness.twin(name, { ...calmTwinStatus, schedulableClass });
    }
    schedule(await harness.start(), nodeCacheCapable);
    for (let i = 0; i < 5; i++) {
      await createPod(`p${i}`, "performance");
      await createPod(`s${i}`, "standard");
    }
    for (let i = 0; i < 5; i++) {
      await harness.until(async () => (await nodeOf(`p${i}`)) !== undefined && (await nodeOf(`s${i}`)) !== undefined);
      expect([await nodeOf(`p${i}`), await nodeOf(`s${i}`)]).toEqual(["fast", "eco"]);
    }
  });

  it("SCH-56 an unreachable extender does not block scheduling", async () => {
    await harness.createNode("eco", {}, capacity);
    await harness.twin("eco", { ...calmTwinStatus, schedulableClass: "eco" });
    const extender = await harness.start();
    schedule(extender, nodeCacheCapable);
    await createPod("before", "performance");
    await harness.advance(2);
    expect(await nodeOf("before")).toBeUndefined();
    await extender.stop();
    await createPod("after", "performance");
    await harness.until(async () => (await nodeOf("after")) === "eco");
    expect(await nodeOf("after")).toBe("eco");
  });
});

it("SCH-46 listens on :9876 by default", () => {
  const machine = { isTerminal: false, exists: () => false };
  const parsed = parseConfig(extenderConfig, { env: {}, flags: {}, machine, known: [] });
  expect(parsed.ok && parsed.value.values.EXTENDER_ADDR).toEqual({ host: undefined, port: 9876 });
});

it("SCH-07 rejects the same label for POWER_PROFILE_LABEL and DRAINING_LABEL, like the operator", () => {
  const machine = { isTerminal: false, exists: () => false };
  const env = { POWER_PROFILE_LABEL: "site.example/power", DRAINING_LABEL: "site.example/power" };
  const parsed = parseConfig(extenderConfig, { env, flags: {}, machine, known: [] });
  expect(parsed.ok ? [] : parsed.error.problems.map(({ variable }) => variable)).toEqual(["DRAINING_LABEL"]);
});
