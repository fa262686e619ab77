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
  pod,
  type RunningExtender,
} from "./testing/extender-harness.ts";

// With a scheduler that speaks kube-scheduler's wire, set up as the guide says. test/cluster has the real one.

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

let trial: ExtenderHarness;
let scheduler: Scheduler | undefined;
beforeEach(() => {
  trial = new ExtenderHarness();
});
afterEach(async () => {
  await scheduler?.stop();
  scheduler = undefined;
  await trial.end();
});

function schedule(extender: RunningExtender, nodeCacheCapable: boolean): void {
  const call = new ExtenderCall({ ...registered, urlPrefix: String(extender.url), nodeCacheCapable });
  scheduler = new Scheduler({
    client: trial.client,
    clock: trial.clock,
    random: seededRandom(5),
    log: createLogger({ level: "silent", program: "test" }),
    extenders: [call],
  });
  scheduler.start();
}

async function createPod(name: string, workloadClass: string): Promise<void> {
  const annotations = { "joulie.io/workload-class": workloadClass };
  const spec = { containers: [{ name: "main", image: "none", resources: { requests: { cpu: "1" } } }] };
  await trial.client.create(resources.pods, { metadata: { name, annotations }, spec }, { namespace: "default" });
}

type Bound = KubeObject & { readonly spec: { readonly nodeName?: string } };
const nodeOf = async (name: string) =>
  (await trial.client.get<Bound>(resources.pods, { name, namespace: "default" })).spec.nodeName;

describe("the registration in the guide", () => {
  it("SCH-54 SCH-55 SCH-56 has every field as the seed has it", () => {
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

  it("SCH-54 names the port and the protocol that an extender without any variable has", async () => {
    const machine = { isTerminal: false, exists: () => false };
    const parsed = parseConfig(extenderConfig, { env: {}, flags: {}, machine, known: [] });
    const { port, protocol } = new URL(registered.urlPrefix);
    expect(parsed.ok && String(parsed.value.values.EXTENDER_ADDR.port)).toBe(port);
    expect(registered.enableHTTPS).toBe(protocol === "https:");
    const extender = await trial.start();
    expect(new URL(String(extender.url)).protocol).toBe(protocol);
  });

  it("SCH-55 names verbs that answer whole Nodes with whole Nodes and scores", async () => {
    for (const name of ["fast", "eco"]) {
      await trial.createNode(name);
      await trial.twin(name, { ...calmTwinStatus, schedulableClass: name === "fast" ? "performance" : name });
    }
    const extender = await trial.start();
    const items = ["fast", "eco"].map((name) => ({ metadata: { name }, spec: { own: name } }));
    expect(registered.nodeCacheCapable).toBe(false);
    const asked = { Pod: pod("performance"), Nodes: { items }, NodeNames: null };
    const filtered = await extender.post<FilterResult>(`/${registered.filterVerb}`, asked);
    expect([filtered.body.Nodes?.items, filtered.body.NodeNames]).toEqual([[items[0]], null]);
    expect(Object.keys(filtered.body.FailedAndUnresolvableNodes)).toEqual(["eco"]);
    const scored = await extender.post<HostScores>(`/${registered.prioritizeVerb}`, asked);
    expect(scored.body.map(({ Host }) => Host)).toEqual(["fast", "eco"]);
    // At weight 1 the guide's table promises Joulie's 0 to 100.
    expect(registered.weight).toBe(1);
    expect(readFileSync(join(guide, "scheduler.md"), "utf8")).toContain("(kube-scheduler.yaml)");
  });
});

const capacity = { cpu: "64", memory: "256Gi", pods: "110" };

describe.each([[false], [true]])("SCH-54 SCH-55 nodeCacheCapable %s", (nodeCacheCapable) => {
  it("performance pods never land on eco or draining nodes, standard pods prefer eco", async () => {
    const classes = { fast: "performance", eco: "eco", draining: "draining" };
    for (const [name, schedulableClass] of Object.entries(classes)) {
      await trial.createNode(name, {}, capacity);
      await trial.twin(name, { ...calmTwinStatus, schedulableClass });
    }
    schedule(await trial.start(), nodeCacheCapable);
    for (let i = 0; i < 5; i++) {
      await createPod(`p${i}`, "performance");
      await createPod(`s${i}`, "standard");
    }
    for (let i = 0; i < 5; i++) {
      await trial.until(async () => (await nodeOf(`p${i}`)) !== undefined && (await nodeOf(`s${i}`)) !== undefined);
      expect([await nodeOf(`p${i}`), await nodeOf(`s${i}`)]).toEqual(["fast", "eco"]);
    }
  });

  it("SCH-56 an extender that is away blocks nothing", async () => {
    await trial.createNode("eco", {}, capacity);
    await trial.twin("eco", { ...calmTwinStatus, schedulableClass: "eco" });
    const extender = await trial.start();
    schedule(extender, nodeCacheCapable);
    await createPod("before", "performance");
    await trial.advance(2);
    expect(await nodeOf("before")).toBeUndefined();
    await extender.stop();
    await createPod("after", "performance");
    await trial.until(async () => (await nodeOf("after")) === "eco");
    expect(await nodeOf("after")).toBe("eco");
  });
});

it("SCH-46 it listens on :9876 unless told otherwise", () => {
  const machine = { isTerminal: false, exists: () => false };
  const parsed = parseConfig(extenderConfig, { env: {}, flags: {}, machine, known: [] });
  expect(parsed.ok && parsed.value.values.EXTENDER_ADDR).toEqual({ host: undefined, port: 9876 });
});

it("SCH-07 POWER_PROFILE_LABEL and DRAINING_LABEL cannot be the same label, as for the operator", () => {
  const machine = { isTerminal: false, exists: () => false };
  const env = { POWER_PROFILE_LABEL: "site.example/power", DRAINING_LABEL: "site.example/power" };
  const parsed = parseConfig(extenderConfig, { env, flags: {}, machine, known: [] });
  expect(parsed.ok ? [] : parsed.error.problems.map(({ variable }) => variable)).toEqual(["DRAINING_LABEL"]);
});
