import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  calmTwinStatus,
  ExtenderHarness,
  type FilterResult,
  podOfClass,
  type RunningExtender,
} from "../testing/extender-harness.ts";

const performance = podOfClass("performance");

describe("/filter", () => {
  const harness = new ExtenderHarness();
  let extender: RunningExtender;

  beforeAll(async () => {
    const eco = { "joulie.io/power-profile": "eco" };
    await harness.createNode("fast", eco);
    await harness.createNode("eco");
    await harness.createNode("draining");
    await harness.createNode("labelled", eco);
    await harness.createNode("plain");
    await harness.createNode("unknown", eco);
    await harness.twin("fast", calmTwinStatus);
    await harness.twin("eco", { ...calmTwinStatus, schedulableClass: "eco" });
    await harness.twin("draining", { ...calmTwinStatus, schedulableClass: "draining" });
    await harness.twin("unknown", { ...calmTwinStatus, schedulableClass: "unknown" });
    extender = await harness.start();
  });
  afterAll(async () => harness.end());

  const all = ["fast", "eco", "draining", "labelled", "plain", "unknown", "absent"];

  it("SCH-01 SCH-04 SCH-05 SCH-06 X-44 X-93 returns the accepted names, and a reason for each rejected one", async () => {
    const result = await extender.filter(performance, all);
    expect(result.NodeNames).toEqual(["fast", "plain", "absent"]);
    expect(result.Nodes).toBeNull();
    expect(result.Error).toBe("");
    const { eco, draining, labelled, ...others } = result.FailedAndUnresolvableNodes;
    expect([eco, draining, labelled]).toEqual([
      expect.stringContaining("class eco"),
      expect.stringContaining("class draining"),
      expect.stringContaining("power-profile=eco"),
    ]);
    expect(Object.keys(others)).toEqual(["unknown"]);
  });

  it("X-20 rejects as unresolvable, so that kube-scheduler evicts no pod for it", async () => {
    const { FailedNodes, FailedAndUnresolvableNodes } = await extender.filter(performance, all);
    expect(FailedNodes).toEqual({});
    expect(Object.keys(FailedAndUnresolvableNodes)).toEqual(["eco", "draining", "labelled", "unknown"]);
  });

  it("X-69 treats an unknown class as absent: the label decides", async () => {
    const { FailedAndUnresolvableNodes } = await extender.filter(performance, ["unknown"]);
    expect(FailedAndUnresolvableNodes["unknown"]).toContain("power-profile=eco");
  });

  it.each([["standard"], [undefined], ["Performance"], [""]])(
    "SCH-03 SCH-09 X-12 treats class %s as standard: every node passes",
    async (workloadClass) => {
      const result = await extender.filter(podOfClass(workloadClass), all);
      expect(result.NodeNames).toEqual(all);
      expect(result.FailedAndUnresolvableNodes).toEqual({});
    },
  );

  it("SCH-08 SCH-13 accepts an unknown node for every class, and adds no node", async () => {
    expect((await extender.filter(performance, ["absent"])).NodeNames).toEqual(["absent"]);
    expect((await extender.filter(podOfClass("standard"), ["absent"])).NodeNames).toEqual(["absent"]);
    expect((await extender.filter(performance, [])).NodeNames).toEqual([]);
    expect((await extender.filter(performance, ["eco"])).NodeNames).toEqual([]);
  });

  it("SCH-07 uses the labels of whole Nodes in the request if the twin has no class", async () => {
    const node = (name: string, labels: object) => ({ metadata: { name, labels } });
    const items = [
      node("plain", { "joulie.io/power-profile": "eco" }),
      node("labelled", {}),
      node("fast", { "joulie.io/power-profile": "eco" }),
      node("eco", { "joulie.io/power-profile": "performance" }),
      node("absent", { "joulie.io/power-profile": "eco" }),
    ];
    const result = await extender.filterNodes(performance, items);
    expect(result.Nodes?.items).toEqual([items[1], items[2]]);
    expect(result.NodeNames).toBeNull();
    expect(Object.keys(result.FailedAndUnresolvableNodes)).toEqual(["plain", "eco", "absent"]);
  });

  it("X-20 returns Nodes byte for byte", async () => {
    const odd =
      '{"spec":{},"metadata":{"managedFields":[{"f":{}}],"name":"plain"} ,\n"status":{"n":1.00e2,"s":"\\u00e9"}}';
    const other = '{"metadata":{"name":"eco"}}';
    const asked = `{"Pod":${JSON.stringify(performance)},"Nodes":{"items":[${odd},${other}]},"NodeNames":null}`;
    const { text } = await extender.post("/filter", asked);
    expect(text).toContain(`"items":[${odd}]`);
    expect(text).not.toContain(other);
  });

  it("SCH-52 X-19 accepts lower-case field names as well as Go's", async () => {
    const items = [{ metadata: { name: "eco" } }, { metadata: { name: "plain" } }];
    const lower = await extender.post<FilterResult>("/filter", { pod: performance, nodes: { items } });
    expect(lower.body.Nodes?.items).toEqual([items[1]]);
    const names = await extender.post<FilterResult>("/filter", { pod: performance, nodenames: ["eco", "plain"] });
    expect(names.body.NodeNames).toEqual(["plain"]);
  });

  it("SCH-12 SCH-14 decides about the pod in the request and writes nothing", async () => {
    const writes: string[] = [];
    const forget = harness.api.faults.add({
      fault: { kind: "refused" },
      when: ({ method, path }) => {
        if (method !== "GET") writes.push(path);
        return false;
      },
    });
    await extender.filter(performance, all);
    await extender.scores(performance, all);
    await harness.advance(60);
    forget();
    expect(writes).toEqual([]);
  });
});

it("SCH-07 filters a node without a twin by POWER_PROFILE_LABEL and DRAINING_LABEL", async () => {
  const harness = new ExtenderHarness();
  const [profile, draining] = ["site.example/profile", "site.example/draining"];
  const labels: Readonly<Record<string, Record<string, string>>> = {
    eco: { [profile]: "eco" },
    draining: { [draining]: "true" },
    fine: { [profile]: "performance", [draining]: "false" },
    former: { "joulie.io/power-profile": "eco", "joulie.io/draining": "true" },
  };
  const names = Object.keys(labels);
  for (const name of names) await harness.createNode(name, labels[name]);
  const keys = { POWER_PROFILE_LABEL: profile, DRAINING_LABEL: draining };
  const [custom, usual] = [await harness.start(keys), await harness.start()];
  const left = ["fine", "former"];
  const byNames = await custom.filter(performance, names);
  expect(byNames.NodeNames).toEqual(left);
  expect(byNames.FailedAndUnresolvableNodes).toEqual({
    eco: expect.stringContaining("power-profile=eco") as string,
    draining: expect.stringContaining("draining=true") as string,
  });
  const items = names.map((name) => ({ metadata: { name, labels: labels[name] } }));
  const itemsOf = ({ Nodes }: FilterResult) =>
    ((Nodes?.items ?? []) as typeof items).map(({ metadata }) => metadata.name);
  for (const _ of ["walked", "known"]) expect(itemsOf(await custom.filterNodes(performance, items))).toEqual(left);
  expect((await usual.filter(performance, names)).NodeNames).toEqual(["eco", "draining", "fine"]);
  await harness.end();
});

it("X-43 a stale class still rejects", async () => {
  const harness = new ExtenderHarness();
  await harness.createNode("eco");
  await harness.twin("eco", { ...calmTwinStatus, schedulableClass: "eco", lastUpdated: "2029-12-31T00:00:00Z" });
  const extender = await harness.start();
  expect((await extender.filter(performance, ["eco"])).NodeNames).toEqual([]);
  expect(await extender.scores(podOfClass("standard"), ["eco"])).toEqual({ eco: 50 });
  await harness.end();
});

it("X-12 logs each unknown class once, up to a limit", async () => {
  const harness = new ExtenderHarness();
  const extender = await harness.start();
  for (let i = 0; i < 120; i++) {
    await extender.filter(podOfClass(`class-${i}`), []);
    await extender.scores(podOfClass(`class-${i}`), []);
  }
  const reported = extender.logs.filter(({ level }) => level === "warn");
  expect(reported).toHaveLength(100);
  expect(reported[7]).toMatchObject({ class: "class-7", msg: expect.stringContaining("standard") as string });
  const classes = await extender.series("joulie_scheduler_filter_requests_total");
  expect(classes).toEqual(['joulie_scheduler_filter_requests_total{workload_class="standard"} 120']);
  await harness.end();
});

it("X-60 X-12 treats a class or quantity of another type as absent, without an error", async () => {
  const harness = new ExtenderHarness();
  const extender = await harness.start();
  const odd = '{"toString":1,"valueOf":1}';
  const annotations = `{"joulie.io/workload-class":${odd}}`;
  const resources = `{"requests":{"cpu":${odd}},"limits":{"nvidia.com/gpu":${odd}}}`;
  const body = `{"Pod":{"metadata":{"annotations":${annotations}},"spec":{"containers":[{"resources":${resources}}]}},"NodeNames":["a"]}`;
  for (const verb of ["/filter", "/prioritize"]) expect((await extender.post(verb, body)).status).toBe(200);
  expect(extender.logs.filter(({ level }) => level !== "info")).toMatchObject([{ level: "warn", class: "(object)" }]);
  await harness.end();
});

describe("a node that is kept free for a pod", () => {
  const harness = new ExtenderHarness();
  let extender: RunningExtender;
  const until = new Date(harness.clock.now() + 30 * 60_000).toISOString();

  beforeAll(async () => {
    const now = new Date(harness.clock.now()).toISOString();
    const choice = { pod: "jobs/large", uid: "uid-large", since: now, until };
    for (const name of ["kept", "roomy", "ended", "free"]) await harness.createNode(name);
    await harness.twin("kept", {
      ...calmTwinStatus,
      awaitedBy: { ...choice, priority: 100, spare: { cpu: 0, memory: 0 } },
    });
    await harness.twin("roomy", { ...calmTwinStatus, awaitedBy: { ...choice, spare: { cpu: 8, memory: 2 ** 34 } } });
    await harness.twin("ended", { ...calmTwinStatus, awaitedBy: { ...choice, until: now } });
    await harness.twin("free", calmTwinStatus);
    const lastUpdated = new Date(harness.clock.now() - 301_000).toISOString();
    await harness.createNode("orphaned");
    await harness.twin("orphaned", { ...calmTwinStatus, lastUpdated, awaitedBy: choice });
    extender = await harness.start();
  });
  afterAll(async () => harness.end());

  const all = ["kept", "roomy", "ended", "free"];
  const asking = (cpu: string | undefined, memory = "1Gi") => ({
    ...podOfClass("standard"),
    spec: { containers: [{ resources: { requests: cpu === undefined ? {} : { cpu, memory } } }] },
  });
  const admitted = async (asked: object) => (await extender.filter(asked, all)).NodeNames;

  it("X-151 is rejected for a pod that would delay the other one, with its name and the time", async () => {
    const { NodeNames, FailedAndUnresolvableNodes } = await extender.filter(asking("9"), all);
    expect(NodeNames).toEqual(["ended", "free"]);
    expect(FailedAndUnresolvableNodes["kept"]).toBe(
      `Joulie: the node is kept free for a performance pod that waits for room: jobs/large, until ${until} at the latest`,
    );
  });

  it("X-151 is kept free no longer after five minutes without an operator", async () => {
    expect((await extender.filter(asking("9"), ["orphaned"])).NodeNames).toEqual(["orphaned"]);
  });

  it("X-151 takes pods that fit beside the other one, and pods that request nothing", async () => {
    expect(await admitted(asking("8"))).toEqual(["roomy", "ended", "free"]);
    expect(await admitted(asking("8", "17Gi"))).toEqual(["ended", "free"]);
    expect(await admitted(asking(undefined))).toEqual(all);
  });

  it("X-151 takes the pod itself, pods of DaemonSets and system-critical pods", async () => {
    const wide = asking("9");
    const metadata = { ...wide.metadata, uid: "uid-large" };
    const ownerReferences = [{ kind: "DaemonSet", name: "logs", controller: true }];
    expect(await admitted({ ...wide, metadata })).toEqual(all);
    expect(await admitted({ ...wide, metadata: { ...wide.metadata, ownerReferences } })).toEqual(all);
    expect(await admitted({ ...wide, spec: { ...wide.spec, priority: 2_000_000_000 } })).toEqual(all);
  });

  it("X-151 takes a pod that kube-scheduler has made room for on this node, and no other node for it", async () => {
    const nominated = { ...asking("9"), status: { nominatedNodeName: "kept" } };
    expect(await admitted(nominated)).toEqual(["kept", "ended", "free"]);
  });

  it("X-151 takes a pod of higher priority than the awaited one, which may preempt", async () => {
    const withPriority = (priority: number) => ({ ...asking("9"), spec: { ...asking("9").spec, priority } });
    expect(await admitted(withPriority(101))).toEqual(all);
    expect(await admitted(withPriority(100))).toEqual(["roomy", "ended", "free"]);
    expect(await admitted(withPriority(0))).toEqual(["ended", "free"]);
  });

  it("X-151 is named by the pages for people", async () => {
    await extender.filter(asking("9"), all);
    const reason = expect.stringContaining("jobs/large") as string;
    expect((await extender.get("/debug/decisions")).body).toMatchObject({
      decisions: expect.arrayContaining([
        expect.objectContaining({
          rejected: expect.arrayContaining([expect.objectContaining({ reason, nodes: ["kept"] })]) as unknown,
        }),
      ]) as unknown,
    });
  });

  it("X-151 takes every pod when the time is over, whatever the operator does", async () => {
    await harness.advance(30 * 60);
    expect(await admitted(asking("9"))).toEqual(all);
  });
});
