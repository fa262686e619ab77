import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../platform/config/index.ts";
import { Extender as ExtenderCall, Scheduler } from "../../platform/embedded/index.ts";
import { type KubeObject, resources } from "../../platform/kube/index.ts";
import { createLogger } from "../../platform/log/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { extenderConfig } from "./config.ts";
import { calm, type Extender, Trial } from "./trial.ts";

// With a scheduler that speaks kube-scheduler's wire, set up as seed 003 says: filterVerb filter, prioritizeVerb prioritize,
// weight 1, plain HTTP, whole Nodes, ignorable. test/cluster has the real one.

let trial: Trial;
let scheduler: Scheduler | undefined;
beforeEach(() => {
  trial = new Trial();
});
afterEach(async () => {
  await scheduler?.stop();
  scheduler = undefined;
  await trial.end();
});

function schedule(extender: Extender, nodeCacheCapable: boolean): void {
  const call = new ExtenderCall({
    urlPrefix: String(extender.url),
    filterVerb: "filter",
    prioritizeVerb: "prioritize",
    weight: 1,
    nodeCacheCapable,
    ignorable: true,
  });
  scheduler = new Scheduler({
    client: trial.hand,
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
  await trial.hand.create(resources.pods, { metadata: { name, annotations }, spec }, { namespace: "default" });
}

type Bound = KubeObject & { readonly spec: { readonly nodeName?: string } };
const nodeOf = async (name: string) =>
  (await trial.hand.get<Bound>(resources.pods, { name, namespace: "default" })).spec.nodeName;

const capacity = { cpu: "64", memory: "256Gi", pods: "110" };

describe.each([[false], [true]])("SCH-54 SCH-55 nodeCacheCapable %s", (nodeCacheCapable) => {
  it("performance pods never land on eco or draining nodes, standard pods prefer eco", async () => {
    const classes = { fast: "performance", eco: "eco", draining: "draining" };
    for (const [name, schedulableClass] of Object.entries(classes)) {
      await trial.createNode(name, {}, capacity);
      await trial.twin(name, { ...calm, schedulableClass });
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
    await trial.twin("eco", { ...calm, schedulableClass: "eco" });
    const extender = await trial.start();
    schedule(extender, nodeCacheCapable);
    await createPod("before", "performance");
    await trial.pass(2);
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
