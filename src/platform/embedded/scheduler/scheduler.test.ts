import { afterEach, describe, expect, it, vi } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { ScaledClock, systemClock } from "../../clock/index.ts";
import { eventually, realWork, VirtualClock } from "../../clock/testing/index.ts";
import { type KubeObject, resources } from "../../kube/index.ts";
import { createLogger } from "../../log/index.ts";
import { seededRandom } from "../../random/index.ts";
import { log, runCleanups, scheduledCondition, scheduledNode, schedulerHarness } from "../testing/scheduler-harness.ts";
import type { SchedulerNode } from "./cluster-view.ts";
import { ExtenderClient, type ExtenderFilterResult } from "./extender.ts";
import { Scheduler } from "./scheduler.ts";

afterEach(runCleanups);

describe("Scheduler", () => {
  it("spreads pods over the emptier nodes and never exceeds the capacity of a node", async () => {
    const w = schedulerHarness();
    await Promise.all([w.node("a"), w.node("b")]);
    const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
    for (const name of names) await w.pod(name, { cpu: "1" });
    const placed = await Promise.all(names.map(scheduledNode(w)));
    expect(placed.filter((node) => node === "a")).toHaveLength(4);
    await w.pod("ninth", { cpu: "1" });
    expect(await scheduledCondition(w, "ninth")).toMatchObject({
      type: "PodScheduled",
      reason: "Unschedulable",
      message: "0/2 nodes are available: 2 Insufficient cpu.",
    });
  });

  it("fills one node after the other with the strategy MostAllocated", async () => {
    const w = schedulerHarness(systemClock, [], { scoringStrategy: "MostAllocated" });
    await Promise.all([w.node("a"), w.node("b")]);
    const names = ["p1", "p2", "p3", "p4"];
    const placed = new Set<unknown>();
    for (const name of names) {
      await w.pod(name, { cpu: "1" });
      placed.add(await scheduledNode(w)(name));
    }
    expect(placed.size).toBe(1);
  });

  it("reports why a pod is pending, in a condition and an Event, and binds it when a fitting node appears", async () => {
    const w = schedulerHarness();
    await w.node("tainted", undefined, { spec: { taints: [{ key: "k", value: "v", effect: "NoSchedule" }] } });
    await w.node("cordoned", undefined, { spec: { unschedulable: true } });
    await w.node("plain");
    await w.pod("picky", {}, { nodeSelector: { disk: "ssd" } });
    const { message } = await scheduledCondition(w, "picky");
    expect(message).toBe(
      "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint {k: v}, 1 node(s) were unschedulable.",
    );
    const events = await eventually(async () => {
      const { items } = await w.client.listAll<KubeObject & { reason?: string; note?: string }>(resources.events, {});
      return items.some(({ reason, note }) => reason === "FailedScheduling" && note === message) ? items : undefined;
    });
    expect(events.length).toBeGreaterThan(0);
    await w.node("ssd");
    await w.client.mergePatch(resources.nodes, { name: "ssd" }, { metadata: { labels: { disk: "ssd" } } });
    expect(await scheduledNode(w)("picky")).toBe("ssd");
  });

  it("retries pods with equal requests for each new node until all are bound", async () => {
    const w = schedulerHarness();
    await w.node("small", { cpu: "1", memory: "8Gi", pods: "10" });
    for (const name of ["x", "y"]) await w.pod(name, { cpu: "4" });
    for (const name of ["x", "y"]) {
      expect((await scheduledCondition(w, name)).message).toBe("0/1 nodes are available: 1 Insufficient cpu.");
    }
    await w.node("a");
    const first = await eventually(async () => {
      const [x, y] = await Promise.all(["x", "y"].map(async (name) => w.get(name)));
      return x?.spec.nodeName === "a" ? "y" : y?.spec.nodeName === "a" ? "x" : undefined;
    });
    expect((await w.get(first)).spec.nodeName).toBeUndefined();
    await w.node("b");
    expect(await scheduledNode(w)(first)).toBe("b");
  });

  it("does not miss a node that is added during an extender call", async () => {
    const slow = new (class extends ExtenderClient {
      asked = 0;
      override async filter(_pod: KubeObject, nodes: readonly SchedulerNode[]): Promise<ExtenderFilterResult> {
        if (++this.asked > 1) return { nodes, failed: new Map() };
        await w.node("b");
        // The API and its watches are in memory: by the next turn the scheduler has seen the node.
        await realWork();
        return { nodes: [], failed: new Map(nodes.map(({ name }) => [name, "not now"])) };
      }
    })({ urlPrefix: "http://127.0.0.1:1", nodeCacheCapable: true });
    const w = schedulerHarness(undefined, [slow]);
    await w.node("a");
    await w.pod("job");
    expect(await scheduledNode(w)("job")).toMatch(/^[ab]$/);
    expect(slow.asked).toBe(2);
  });

  it("gives the resources of a failed binding to a waiting pod", async () => {
    const w = schedulerHarness();
    const bound = Promise.withResolvers<void>();
    vi.spyOn(w.client, "bind").mockImplementationOnce(async () => bound.promise);
    await w.node("one", { cpu: "1", memory: "1Gi", pods: "10" });
    await w.pod("first", { cpu: "1" });
    await w.pod("second", { cpu: "1" });
    const waiting = await eventually(async () => {
      const pods = await Promise.all(["first", "second"].map(async (name) => w.get(name)));
      return pods.find(({ status }) => status.conditions !== undefined);
    });
    expect(waiting.spec.nodeName).toBeUndefined();
    bound.reject(new Error("not today"));
    expect(
      await eventually(async () => {
        const pods = await Promise.all(["first", "second"].map(async (name) => w.get(name)));
        return pods.find(({ spec }) => spec.nodeName !== undefined)?.spec.nodeName;
      }),
    ).toBe("one");
  });

  it("frees the reserved resources of a pod that another scheduler bound elsewhere", async () => {
    const w = schedulerHarness();
    const bind = w.client.bind.bind(w.client);
    const late = Promise.withResolvers<void>();
    const asked = vi.spyOn(w.client, "bind").mockImplementationOnce(async () => late.promise);
    await w.node("ours", { cpu: "1", memory: "1Gi", pods: "10" });
    await w.node("theirs", undefined, { spec: { unschedulable: true } });
    await w.pod("first", { cpu: "1" });
    await eventually(async () => asked.mock.calls[0]);
    await w.pod("second", { cpu: "1" });
    await scheduledCondition(w, "second");
    await bind(w.at("first"), "theirs");
    expect(await scheduledNode(w)("second")).toBe("ours");
    late.resolve();
  });

  it("rejects run() when it cannot continue, and stops on the signal", async () => {
    const w = schedulerHarness();
    const full = () => {
      throw new Error("no place to write to");
    };
    const broken = createLogger({ program: "test", level: "warn", format: "json", destination: { write: full } });
    const random = seededRandom(1);
    const away = new ExtenderClient({ urlPrefix: "http://127.0.0.1:1", filterVerb: "filter", nodeCacheCapable: true });
    const options = { client: w.client, clock: systemClock, random, extenders: [away], schedulerName: "other" };
    const stop = new AbortController();
    const [fails, ends] = [
      new Scheduler({ ...options, log: broken }).run(stop.signal),
      new Scheduler({ ...options, log, schedulerName: "third" }).run(stop.signal),
    ];
    await w.node("a");
    await w.pod("job", {}, { schedulerName: "other" });
    await expect(fails).rejects.toThrow("no place to write to");
    stop.abort();
    await expect(ends).resolves.toBeUndefined();
  });

  it("counts GPUs and other extended resources, and the number of pods", async () => {
    const w = schedulerHarness();
    await w.node("gpu", { cpu: "8", memory: "8Gi", pods: "3", "nvidia.com/gpu": "2" });
    await w.pod("two", { "nvidia.com/gpu": "2" });
    expect(await scheduledNode(w)("two")).toBe("gpu");
    await w.pod("third", { "nvidia.com/gpu": "1" });
    expect((await scheduledCondition(w, "third")).message).toContain("1 Insufficient nvidia.com/gpu");
    await w.client.delete(resources.pods, w.at("third"));
    await Promise.all([w.pod("x"), w.pod("y")]);
    await Promise.all(["x", "y"].map(scheduledNode(w)));
    await w.pod("z");
    expect((await scheduledCondition(w, "z")).message).toContain("1 Too many pods");
  });

  it.each([
    ["X-161 waits for its backoff in the time of the cluster before it retries", 60, 15, 4],
    ["waits for its backoff on the injected clock before it retries", 1, 900, 200],
  ])("%s", async (_, speed, tooSoon, rest) => {
    const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
    const w = schedulerHarness(clock, [], { clusterClock: new ScaledClock(clock, speed) });
    const pass = async () => clock.advanceAsync(milliseconds(0));
    await clock.advanceAsync(milliseconds(10));
    const full = w.pod("p", { cpu: "1" });
    await pass();
    await full;
    await eventually(async () => (await w.get("p")).status.conditions, { between: pass });
    const made = w.node("late");
    await pass();
    await made;
    await clock.advanceAsync(milliseconds(tooSoon));
    expect((await w.get("p")).spec.nodeName).toBeUndefined();
    await clock.advanceAsync(milliseconds(rest));
    expect((await w.get("p")).spec.nodeName).toBe("late");
  });

  it("frees the resources of finished and deleted pods, and ignores pods of other schedulers", async () => {
    const w = schedulerHarness();
    await w.node("one", { cpu: "1", memory: "1Gi", pods: "10" });
    await w.pod("first", { cpu: "1" });
    expect(await scheduledNode(w)("first")).toBe("one");
    await w.pod("second", { cpu: "1" });
    await scheduledCondition(w, "second");
    await w.client.mergePatch(
      resources.pods,
      w.at("first"),
      { status: { phase: "Succeeded" } },
      { subresource: "status" },
    );
    expect(await scheduledNode(w)("second")).toBe("one");
    await w.pod("foreign", {}, { schedulerName: "other" });
    await w.pod("gated", {}, { schedulingGates: [{ name: "example.org/wait" }] });
    await w.pod("free");
    await scheduledNode(w)("free");
    expect((await w.get("foreign")).spec.nodeName).toBeUndefined();
    expect((await w.get("gated")).spec.nodeName).toBeUndefined();
  });
});
