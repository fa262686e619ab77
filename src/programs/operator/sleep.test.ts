import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { labels } from "../../core/api/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { OperatorTestHarness } from "./testing/test-harness.ts";

const MINUTE = 60;
/** Nodes have 64 cores, pods request 4. */
const NODES = ["a", "b", "c", "d"];

describe("SLEEP_MODE", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    for (const name of NODES) {
      await harness.createNode(name, { [labels.maySleep]: "true" });
      await endpoint(name);
    }
  });
  afterEach(async () => harness.end());

  const power = () => harness.clientOf("joulie-power");
  const endpoint = async (name: string) => {
    const spec = { nodeName: name, webhook: { url: "https://power.test/{node}" } };
    await harness.user.create(resources.powerEndpoints, { metadata: { name }, spec });
    const lastWake = { at: "2029-12-31T00:00:00Z", seconds: 200, result: "succeeded" };
    const status = { wakeProven: true, lastWake };
    await power().apply(resources.powerEndpoints, { name }, { status }, { subresource: "status" });
  };
  const say = async (name: string, state: string) =>
    power().apply(resources.nodeTwins, { name }, { status: { power: { state } } }, { subresource: "status" });
  const wanted = async () => {
    const twins = await Promise.all(NODES.map(async (name) => harness.twin(name)));
    return twins.map(({ spec }) => spec.power?.state ?? "-").join(" ");
  };

  it("SLP-41 SLP-42 SLP-52 asks for half of the empty nodes to be off after SLEEP_AFTER, and for none with a pod", async () => {
    await harness.createPod("busy", "a");
    harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "5m" });
    await harness.advance(4 * MINUTE);
    expect(await wanted()).toBe("- - - -");
    await harness.advance(3 * MINUTE);
    const off = (await wanted()).split(" ").filter((state) => state === "off");
    expect(off).toHaveLength(2);
    expect((await wanted()).startsWith("-")).toBe(true);
  });

  it("SLP-56 puts no node to sleep early when the clock is set forward", async () => {
    harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "10m" });
    await harness.advance(2 * MINUTE);
    harness.clock.step(milliseconds(3_600_000));
    await harness.advance(9 * MINUTE);
    expect(await wanted()).toBe("- - - -");
    // The operator has lost its lease, so the time starts again.
    await harness.advance(3 * MINUTE);
    expect((await wanted()).split(" ").filter((state) => state === "off")).toHaveLength(2);
  });

  it("SLP-41 puts no node to sleep by what it remembers of an earlier term", async () => {
    harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "10m" });
    await harness.advance(5 * MINUTE);
    const heal = harness.api.faults.add({
      fault: { kind: "refused" },
      when: ({ method, path }) => method !== "GET" && path.includes("/leases"),
    });
    await harness.advance(20 * MINUTE);
    heal();
    await harness.advance(8 * MINUTE);
    expect(await wanted()).toBe("- - - -");
    await harness.advance(4 * MINUTE);
    expect((await wanted()).split(" ").filter((state) => state === "off")).toHaveLength(2);
  });

  it("SLP-46 SLP-52 SLP-54 wakes a node within two seconds of a pending pod, and tells the pod", async () => {
    harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "1m", SLEEP_RESERVE_QUANTILE: "0", STATIC_HP_FRAC: "1" });
    await harness.advance(5 * MINUTE);
    const asleep = NODES.filter((_, index) => index > 0);
    const off: string[] = [];
    for (const name of asleep) if ((await harness.twin(name)).spec.power?.state === "off") off.push(name);
    expect(off).toHaveLength(2);
    for (const name of off) await say(name, "off");
    await harness.advance(2 * MINUTE);
    const { spec, status } = await harness.twin(off[0] ?? "");
    expect(spec.profile).toBe("performance");
    expect(status).toMatchObject({ schedulableClass: "asleep", powerMeasurement: { measuredNodePowerW: 0 } });
    for (const name of ["x", "y", "z"]) await harness.createPod(name, undefined, { spec: big });
    await harness.advance(2);
    const on = await Promise.all(off.map(async (name) => (await harness.twin(name)).spec.power?.state));
    expect(on.filter((state) => state === "on")).toHaveLength(1);
    const told = (await harness.events()).filter(({ reason }) => reason === "WaitsForNode");
    expect(told).toHaveLength(1);
    expect(told[0]?.note).toMatch(/^waking node [b-d], about 3 min$/);
    const woken = off[on.indexOf("on")] ?? "";
    await say(woken, "on");
    await harness.advance(MINUTE);
    expect((await harness.twin(woken)).spec.power).toBeUndefined();
  });

  it("SLP-46 wakes another node if the PowerEndpoint of a sleeping node was deleted", async () => {
    harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "1m", SLEEP_RESERVE_QUANTILE: "0", STATIC_HP_FRAC: "1" });
    await harness.advance(5 * MINUTE);
    const off: string[] = [];
    for (const name of NODES) if ((await harness.twin(name)).spec.power?.state === "off") off.push(name);
    const [lost = "", other = ""] = off;
    for (const name of off) await say(name, "off");
    await harness.user.delete(resources.powerEndpoints, { name: lost });
    await harness.advance(MINUTE);
    expect((await harness.twin(other)).spec.power?.state).toBe("off");
    for (const name of ["x", "y", "z"]) await harness.createPod(name, undefined, { spec: big });
    await harness.advance(2);
    expect((await harness.twin(other)).spec.power?.state).toBe("on");
  });

  it("SLP-53 recommend publishes Events and never writes spec.power", async () => {
    const operator = harness.start({ SLEEP_MODE: "recommend", SLEEP_AFTER: "1m" });
    await harness.advance(10 * MINUTE);
    expect(await wanted()).toBe("- - - -");
    const events = (await harness.events()).filter(({ reason }) => reason === "SleepRecommended");
    expect(events).toHaveLength(2);
    expect(operator.written().some(({ body }) => JSON.stringify(body).includes('"power":{'))).toBe(false);
  });

  it("CLI-04 its page shows what changes next for joulie plan: sleeps that the power program has to do, and recommendations", async () => {
    const changes = async (operator: ReturnType<OperatorTestHarness["start"]>) =>
      (JSON.parse((await operator.page("/debug/plan?changes")).text) as { changes: Record<string, unknown>[] }).changes;
    const recommending = harness.start({ SLEEP_MODE: "recommend", SLEEP_AFTER: "1m" });
    await harness.advance(10 * MINUTE);
    const could = await changes(recommending);
    expect(could.length).toBeGreaterThan(0);
    expect(could[0]).toMatchObject({ kind: "sleep", change: "could sleep" });
    await recommending.stop();
    const operator = harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "1m" });
    await harness.advance(20 * MINUTE);
    const asked = await changes(operator);
    expect(asked.map(({ node }) => node)).toEqual(could.map(({ node }) => node));
    expect(asked[0]).toMatchObject({ kind: "sleep", change: "falls asleep", waitsFor: "the power program" });
  });

  it("SLP-53 off wakes what slept, and watches no PowerEndpoints", async () => {
    const first = harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "1m" });
    await harness.advance(5 * MINUTE);
    expect(await wanted()).toContain("off");
    await first.stop();
    const paths = new Set<string>();
    harness.intercept(async (request, go) => {
      paths.add(request.path);
      return go();
    });
    harness.start();
    await harness.advance(2 * MINUTE);
    expect(await wanted()).toBe("- - - -");
    expect(Array.from(paths).some((path) => /powerendpoints|persistentvolumes|joulie-arrivals/.test(path))).toBe(false);
  });

  it("SLP-40 a local volume, a lost proof or a lost label keeps a node awake or wakes it", async () => {
    harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "1m" });
    await harness.advance(5 * MINUTE);
    const off: string[] = [];
    for (const name of NODES) if ((await harness.twin(name)).spec.power?.state === "off") off.push(name);
    const [first = "", second = ""] = off;
    const nodeSelectorTerms = [
      { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [first] }] },
    ];
    const spec = { local: { path: "/mnt" }, nodeAffinity: { required: { nodeSelectorTerms } } };
    await harness.user.create(resources.persistentVolumes, { metadata: { name: "disk" }, spec });
    await harness.label(second, { [labels.maySleep]: null });
    await harness.advance(2 * MINUTE);
    expect((await harness.twin(first)).spec.power?.state ?? "on").toBe("on");
    expect((await harness.twin(second)).spec.power?.state ?? "on").toBe("on");
  });

  it("SLP-27 asks for no node to be off whose switch may not take power away", async () => {
    const condition = { type: "MaySwitchOff", status: "False", lastTransitionTime: "2030-01-01T00:00:00Z" };
    const say = async (name: string, status: string) => {
      const conditions = [{ ...condition, status, reason: "Refused", message: "disablePowerOff" }];
      const patch = { status: { conditions } };
      await harness.user.mergePatch(resources.powerEndpoints, { name }, patch, { subresource: "status" });
    };
    for (const name of NODES) await say(name, "False");
    harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "1m" });
    await harness.advance(5 * MINUTE);
    expect(await wanted()).toBe("- - - -");
    for (const name of NODES) await say(name, "True");
    await harness.advance(2 * MINUTE);
    expect((await wanted()).split(" ").filter((state) => state === "off")).toHaveLength(2);
  });

  it("SLP-40 a volume that may be on several nodes keeps all of them awake", async () => {
    const matchExpressions = [{ key: "topology.topolvm.io/node", operator: "In", values: ["a", "b", "c", "d"] }];
    const spec = { csi: {}, nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } };
    await harness.user.create(resources.persistentVolumes, { metadata: { name: "disk" }, spec });
    harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "1m" });
    await harness.advance(5 * MINUTE);
    expect(await wanted()).toBe("- - - -");
    await harness.user.delete(resources.persistentVolumes, { name: "disk" });
    await harness.advance(2 * MINUTE);
    expect((await wanted()).split(" ").filter((state) => state === "off")).toHaveLength(2);
  });

  const big = { containers: [{ name: "main", image: "none", resources: { requests: { cpu: "60" } } }] };
  const offNodes = async () => {
    const off: string[] = [];
    for (const name of NODES) if ((await harness.twin(name)).spec.power?.state === "off") off.push(name);
    return off;
  };

  it("SLP-46 wakes no second node while the taints of the first one are being removed", async () => {
    harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "1m", SLEEP_RESERVE_QUANTILE: "0" });
    await harness.advance(5 * MINUTE);
    const off = await offNodes();
    expect(off).toHaveLength(2);
    for (const name of off) await say(name, "off");
    for (const name of ["x", "y", "z"]) await harness.createPod(name, undefined, { spec: big });
    await harness.advance(2);
    const [still = ""] = await offNodes();
    const woken = off.find((name) => name !== still) ?? "";
    const taints = [
      { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
      { key: "joulie.io/asleep", effect: "NoSchedule" },
    ];
    await harness.user.mergePatch(resources.nodes, { name: woken }, { spec: { taints } });
    await say(woken, "on");
    await harness.advance(2 * MINUTE);
    expect(await offNodes()).toEqual([still]);
  });

  it("SLP-48 wakes a node for a pending pod although PowerEndpoints cannot be read, and no other", async () => {
    const first = harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "1m", SLEEP_RESERVE_QUANTILE: "0" });
    await harness.advance(5 * MINUTE);
    const off = await offNodes();
    for (const name of off) await say(name, "off");
    await first.stop();
    const isEndpoints = ({ path }: { readonly path: string }) => path.includes("powerendpoints");
    harness.api.faults.add({ when: isEndpoints, fault: { kind: "status", code: 403 } });
    harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "1m", SLEEP_RESERVE_QUANTILE: "0" });
    await harness.advance(MINUTE);
    expect(await offNodes()).toEqual(off);
    for (const name of ["x", "y", "z"]) await harness.createPod(name, undefined, { spec: big });
    await harness.advance(2);
    expect(await offNodes()).toHaveLength(1);
    await harness.advance(8 * MINUTE);
    expect(await offNodes()).toHaveLength(1);
    harness.api.faults.clear();
  });

  it("SLP-43 SLP-51 knows arrivals after a restart, and keeps no nodes empty for learning again", async () => {
    const lines = async (operator: ReturnType<OperatorTestHarness["start"]>) =>
      (await operator.page("/debug/plan")).text;
    await harness.createPod("p", "a");
    const first = harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "1m" });
    await harness.advance(20 * MINUTE);
    expect(await lines(first)).toContain("until arrivals are known");
    await harness.advance(120 * MINUTE);
    expect(await lines(first)).not.toContain("until arrivals are known");
    await first.stop();
    const second = harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "1m" });
    await harness.advance(20 * MINUTE);
    expect(await lines(second)).not.toContain("until arrivals are known");
  });

  it("SLP-51 stores arrivals in a ConfigMap, and ignores a damaged one", async () => {
    await harness.createPod("p", "a");
    const first = harness.start({ SLEEP_MODE: "on" });
    await harness.advance(11 * MINUTE);
    const at = { name: "joulie-arrivals", namespace: "joulie-system" };
    const stored = await harness.user.get(resources.configMaps, at);
    expect(JSON.stringify(stored)).toContain("amounts");
    await first.stop();
    await harness.user.mergePatch(resources.configMaps, at, { data: { "arrivals.json": "{" } });
    const second = harness.start({ SLEEP_MODE: "on" });
    await harness.advance(MINUTE);
    expect(second.logs.map(({ msg }) => msg)).toContain(
      "stored pod arrivals are damaged; starting with an empty history",
    );
  });

  it("SLP-49 random pods: never asks for off on a node with a known pod, nor for more than half of the nodes", async () => {
    const step = fc.record({
      node: fc.constantFrom(...NODES),
      seconds: fc.constantFrom(1, 20, 70),
      ends: fc.boolean(),
    });
    const operator = harness.start({ SLEEP_MODE: "on", SLEEP_AFTER: "1m", SLEEP_RESERVE_QUANTILE: "0" });
    const pods: { readonly name: string; readonly node: string; readonly from: number; until: number }[] = [];
    for (const [index, { node, seconds, ends }] of fc.sample(step, 30).entries()) {
      const running = pods.find((pod) => pod.node === node && pod.until === Infinity);
      if (running === undefined) {
        pods.push({ name: `p${index}`, node, from: harness.clock.now(), until: Infinity });
        await harness.createPod(`p${index}`, node);
      } else if (ends) {
        running.until = harness.clock.now();
        await harness.finishPod(running.name);
      }
      await harness.advance(seconds);
      expect((await wanted()).split(" ").filter((state) => state === "off").length).toBeLessThanOrEqual(2);
    }
    const before = new Map<string, string>();
    const switchedOff = operator.writes.filter(({ path, body }) => {
      const [, node = ""] = /nodetwins\/(\w+)$/.exec(path) ?? [];
      const spec = (body as { readonly spec?: { readonly power?: { readonly state: string } } }).spec;
      if (spec === undefined) return false;
      const starts = spec.power?.state === "off" && before.get(node) !== "off";
      before.set(node, spec.power?.state ?? "on");
      return starts;
    });
    for (const { at, path } of switchedOff)
      expect(
        pods.filter(({ node, from, until }) => path.endsWith(`/${node}`) && from < at - 500 && until > at),
      ).toEqual([]);
  });
});
