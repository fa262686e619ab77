import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { labels } from "../../../core/api/index.ts";
import { shardOf } from "../../../core/control/index.ts";
import { resources } from "../../../platform/kube/index.ts";
import { AgentTestHarness } from "../testing/agent-test-harness.ts";
import { FakeControlService } from "../testing/fake-control-service.ts";

let harness: AgentTestHarness;
let service: FakeControlService;
beforeEach(async () => {
  harness = new AgentTestHarness();
  service = new FakeControlService();
  await service.listen();
  await routeAll(2);
});
const routeAll = async (timeoutSeconds: number) =>
  harness.route("all", {
    target: { scope: "cluster" },
    sources: { cpu: { type: "http", http: { endpoint: service.telemetry, timeoutSeconds } } },
    controls: { cpu: { type: "http", http: { endpoint: service.control, timeoutSeconds } } },
  });
afterEach(async () => {
  await harness.close();
  await service.close();
});

const pool = (more: Readonly<Record<string, string>> = {}) => harness.start({ AGENT_MODE: "pool", ...more });
const names = (count: number) => Array.from({ length: count }, (_, index) => `node-${index}`);
const capped = { cpu: { packagePowerCapWatts: 240 } };
const add = async (all: readonly string[]) => {
  for (const name of all) {
    await harness.createNode(name);
    await harness.target(name, capped);
    service.node(name).power = 200;
  }
};
const isCapped = (name: string) => service.nodes.get(name)?.capWatts === 240;

describe("pool mode", () => {
  it("AGT-01 AGT-09 AGT-10 X-39 caps all managed nodes of its shard over HTTP, and never changes its own host", async () => {
    const all = names(40);
    await add(all);
    await harness.createNode("stranger", { [labels.managed]: null });
    await harness.target("stranger", capped);
    const agent = pool({ POOL_SHARDS: "2", POOL_SHARD_ID: "1" });
    const mine = all.filter((name) => shardOf(name, 2) === 1);
    await harness.until(() => mine.every(isCapped));
    await harness.advanceInSteps(25);
    expect([...new Set(service.commands.map(({ node }) => node))].toSorted()).toEqual(mine.toSorted());
    expect(harness.machine.writes).toEqual([]);
    expect(harness.machine.discoveries).toBe(0);
    await harness.until(async () => (await harness.controlStatus(mine[0]))?.cpu?.result === "applied");
    const other = all.find((name) => !mine.includes(name)) ?? "";
    expect(await harness.controlStatus(other)).toBeUndefined();
    expect(await agent.series("joulie_backend_mode", 'mode="rapl"')).toHaveLength(mine.length);
  });

  it("AGT-10 X-41 restores a node that loses its label, and removes its metrics", async () => {
    await add(names(3));
    const agent = pool();
    await harness.until(() => names(3).every(isCapped));
    await harness.label("node-1", { [labels.managed]: null });
    await harness.until(() => (service.nodes.get("node-1")?.capWatts ?? 0) > 240);
    await harness.advanceInSteps(45);
    expect(await agent.series("joulie_backend_mode", 'node="node-1"')).toEqual([]);
    expect(await agent.series("joulie_backend_mode", 'node="node-0"', "rapl")).toHaveLength(1);
    await harness.until(() => harness.disk.boards.length === 2);
  });

  it("AGT-10 controls only the nodes of POOL_NODE_SELECTOR", async () => {
    await add(names(4));
    for (const name of ["node-1", "node-3"]) await harness.label(name, { pool: "blue" });
    pool({ POOL_NODE_SELECTOR: `pool=blue,${labels.managed}=true` });
    await harness.until(() => ["node-1", "node-3"].every(isCapped));
    await harness.advanceInSteps(25);
    expect([...new Set(service.commands.map(({ node }) => node))].toSorted()).toEqual(["node-1", "node-3"]);
  });

  it("AGT-48 reports a failing service in its own node's status, caps all other nodes, and retries", async () => {
    await add(names(3));
    for (const action of ["rapl.set_power_cap_watts", "dvfs.set_throttle_pct"])
      service.answers.set(`node-1 ${action}`, { body: { result: "error", message: "driver gone" } });
    await harness.route("node-1", {
      target: { scope: "node", nodeName: "node-1" },
      controls: { cpu: { type: "http", http: { endpoint: service.control, timeoutSeconds: 2, mode: "rapl" } } },
    });
    pool({ RECONCILE_INTERVAL: "5s" });
    await harness.until(
      async () => (await harness.controlStatus("node-1"))?.cpu?.message?.includes("driver gone") === true,
    );
    expect((await harness.controlStatus("node-1"))?.cpu?.result).toBe("error");
    await harness.until(() => ["node-0", "node-2"].every(isCapped));
    service.answers.clear();
    await harness.until(() => names(3).every(isCapped));
    for (const name of names(3))
      await harness.until(async () => (await harness.controlStatus(name))?.cpu?.result === "applied");
  });

  it("X-56 AGT-48 is not delayed by endpoints that never answer", async () => {
    const all = names(60);
    await add(all);
    for (const name of all.slice(0, 12)) service.silent.add(name);
    const agent = pool({ RECONCILE_INTERVAL: "5s" });
    const alive = all.slice(12);
    await harness.until(() => alive.every(isCapped));
    service.requests.length = 0;
    await harness.advanceInSteps(30);
    const asked = (name: string) => service.requests.filter((path) => path === `/telemetry/${name}`).length;
    expect(Math.min(...alive.map(asked))).toBeGreaterThanOrEqual(4);
    // Dead endpoints are called less and less often.
    expect(Math.max(...all.slice(0, 12).map(asked))).toBeLessThanOrEqual(3);
    expect((await harness.controlStatus("node-0"))?.cpu?.result).toBe("error");
    expect((await harness.controlStatus("node-0"))?.cpu?.message).toContain("no response within 2s");
    expect(await agent.series("joulie_agent_nodes_skipped_total", "silent")).toHaveLength(1);
    service.silent.clear();
    await harness.until(() => all.every(isCapped));
  });

  it("SLP-54 asks nothing of a machine that is switched off and reports no error, until it wakes", async () => {
    await add(names(2));
    const agent = pool({ RECONCILE_INTERVAL: "5s" });
    await harness.until(() => names(2).every(isCapped));
    const say = async (state: string) =>
      harness
        .client("joulie-power")
        .apply(
          resources.nodeTwins,
          { name: "node-1" },
          { status: { power: { state, since: "2030-01-01T00:00:00Z" } } },
          { subresource: "status" },
        );
    await say("off");
    await harness.advanceInSteps(1);
    service.silent.add("node-1");
    service.requests.length = 0;
    await harness.advanceInSteps(60);
    expect(service.requests.filter((path) => path.endsWith("/node-1"))).toEqual([]);
    expect((await harness.controlStatus("node-1"))?.cpu?.result).toBe("applied");
    expect(await agent.series("joulie_agent_nodes_skipped_total", "silent")).toEqual([]);
    service.silent.clear();
    service.node("node-1").capWatts = undefined;
    await say("waking");
    await harness.advanceInSteps(10);
    expect(service.requests).toContain("/telemetry/node-1");
    // The machine lost its cap with its power, and its service does not say so.
    await harness.until(() => isCapped("node-1"));
  });

  it("SLP-10 reports at once when a machine that wakes answers, although nothing has changed, and not before", async () => {
    await add(names(1));
    pool({ RECONCILE_INTERVAL: "5s" });
    await harness.until(async () => (await harness.controlStatus("node-0"))?.cpu?.result === "applied");
    const reported = async () => (await harness.controlStatus("node-0"))?.cpu?.updatedAt;
    const say = async (state: string, since: string) => {
      const power = { state, since };
      const client = harness.client("joulie-power");
      await client.apply(resources.nodeTwins, { name: "node-0" }, { status: { power } }, { subresource: "status" });
    };
    for (const since of ["2030-01-01T00:00:00Z", "2030-01-01T00:01:00Z"]) {
      const before = await reported();
      service.silent.add("node-0");
      await say("waking", since);
      await harness.advanceInSteps(20);
      expect(await reported()).toBe(before);
      service.silent.clear();
      await harness.advanceInSteps(10);
      const after = await reported();
      expect(after).not.toBe(before);
      // Once is enough.
      await harness.advanceInSteps(20);
      expect(await reported()).toBe(after);
      await say("on", since);
      await harness.advanceInSteps(10);
    }
  });

  it("SLP-54 still sets caps while a machine is about to shut down: pods may have been bound to it a moment ago", async () => {
    await add(names(1));
    pool({ RECONCILE_INTERVAL: "5s" });
    await harness.until(() => isCapped("node-0"));
    await harness
      .client("joulie-power")
      .apply(
        resources.nodeTwins,
        { name: "node-0" },
        { status: { power: { state: "stopping", since: "2030-01-01T00:00:00Z" } } },
        { subresource: "status" },
      );
    await harness.target("node-0", { cpu: { packagePowerCapWatts: 300 } });
    await harness.until(() => service.nodes.get("node-0")?.capWatts === 300);
    expect(isCapped("node-0")).toBe(false);
  });

  it("SLP-54 caps a machine within two ticks after it has booted, however long that took, and reports no error until then", async () => {
    await add(names(1));
    const agent = pool({ RECONCILE_INTERVAL: "5s" });
    await harness.until(() => isCapped("node-0"));
    await harness.until(async () => (await harness.controlStatus("node-0"))?.cpu?.result === "applied");
    service.silent.add("node-0");
    // The machine lost its cap with its power, and its service does not say so.
    service.node("node-0").capWatts = undefined;
    await harness
      .client("joulie-power")
      .apply(
        resources.nodeTwins,
        { name: "node-0" },
        { status: { power: { state: "waking", since: "2030-01-01T00:00:00Z" } } },
        { subresource: "status" },
      );
    await harness.advanceInSteps(400);
    expect((await harness.controlStatus("node-0"))?.cpu?.result).toBe("applied");
    expect(await agent.series("joulie_agent_nodes_skipped_total", "silent")).toEqual([]);
    expect(isCapped("node-0")).toBe(false);
    service.silent.clear();
    await harness.advanceInSteps(11);
    expect(isCapped("node-0")).toBe(true);
  });

  it("spreads ticks over the interval, from the start and after a change for all nodes", async () => {
    await add(names(50));
    pool();
    /** The number of quarter seconds of an interval with at least one request. */
    const spread = async () => {
      const times = new Set<number>();
      for (let turn = 0; turn < 80; turn++) {
        const before = service.requests.length;
        await harness.advanceInSteps(0.25);
        if (service.requests.length > before) times.add(turn);
      }
      return times.size;
    };
    expect(await spread()).toBeGreaterThan(15);
    service.requests.length = 0;
    await routeAll(3);
    await harness.advanceInSteps(2);
    expect(new Set(service.requests.filter((path) => path.startsWith("/telemetry/"))).size).toBe(50);
    await harness.advanceInSteps(20);
    service.requests.length = 0;
    expect(await spread()).toBeGreaterThan(15);
    // Each node once.
    expect(service.requests.filter((path) => path.startsWith("/telemetry/")).length).toBeLessThanOrEqual(55);
  });

  it("X-39 reports a node that is routed to the host as blocked", async () => {
    await add(["node-0"]);
    await harness.route("own", {
      target: { scope: "node", nodeName: "node-0" },
      controls: { cpu: { type: "host" }, gpu: { type: "host" } },
    });
    pool();
    await harness.until(async () => (await harness.controlStatus("node-0"))?.cpu?.result === "blocked");
    expect((await harness.controlStatus("node-0"))?.cpu?.message).toContain("never touches its own host");
    expect(service.commands).toEqual([]);
  });

  it("X-51 AGT-03 takes percentages from NodeHardware; without one it publishes hardware from labels", async () => {
    await harness.createNode("known");
    await harness.user.apply(resources.nodeHardwares, { name: "known" }, { spec: { nodeName: "known" } });
    const status = {
      cpu: { sockets: 2, capRange: { type: "package", maxWattsPerSocket: 400 } },
      gpu: { present: true, count: 4, capRangePerGpu: { minWatts: 100, maxWatts: 500 } },
    };
    await harness.user.apply(resources.nodeHardwares, { name: "known" }, { status }, { subresource: "status" });
    await harness.createNode("labelled", {
      "joulie.io/hw.cpu-model": "AMD-EPYC-9654-96-Core-Processor",
      "joulie.io/hw.cpu-sockets": "2",
    });
    const endpoint = service.control;
    await harness.route("gpus", {
      target: { scope: "node", nodeName: "known" },
      controls: { gpu: { type: "http", http: { endpoint } } },
    });
    const share = { cpu: { packagePowerCapPctOfMax: 60 } };
    await harness.target("known", { ...share, gpu: { powerCap: { capPctOfMax: 60 } } });
    await harness.target("labelled", share);
    pool();
    await harness.until(() => service.commands.length >= 3);
    expect(service.commandTexts.toSorted()).toEqual([
      "known gpu.set_power_cap_watts 300",
      "known rapl.set_power_cap_watts 240",
      "labelled rapl.set_power_cap_watts 240",
    ]);
    await harness.until(async () => (await harness.find(resources.nodeHardwares, "labelled")) !== undefined);
    await harness.advanceInSteps(25);
    const found = (await harness.find(resources.nodeHardwares, "labelled")) as unknown as { status: object };
    expect(found.status).toMatchObject({
      cpu: { sockets: 2, capRange: { maxWattsPerSocket: 400 } },
      quality: { overall: "heuristic", warnings: ["pool mode: from labels and the catalogue; nothing was probed"] },
    });
    // Discovered hardware is not overwritten by hardware from labels.
    const retained = (await harness.find(resources.nodeHardwares, "known")) as unknown as { status: object };
    expect(retained.status).toMatchObject({ cpu: { capRange: { maxWattsPerSocket: 400 } } });
  });

  it("X-59 restores journalled nodes of every shard without a target after a restart, and leaves those of other agents alone", async () => {
    await add(names(6));
    const first = pool({ RESTORE_ON_EXIT: "false" });
    await harness.until(() => names(6).every(isCapped));
    await first.stop();
    expect(harness.disk.boards).toHaveLength(6);
    const others = names(6).filter((name) => shardOf(name, 2) !== 0);
    const [taken = "", unmanaged = ""] = others;
    expect(others.length).toBeGreaterThan(2);
    for (const name of names(6)) if (name !== taken && name !== unmanaged) await harness.removeTarget(name);
    await harness.label(unmanaged, { [labels.managed]: null });
    const agent = pool({ POOL_SHARDS: "2", POOL_SHARD_ID: "0" });
    const restored = names(6).filter((name) => name !== taken);
    await harness.until(() => restored.every((name) => (service.nodes.get(name)?.capWatts ?? 0) > 240));
    await harness.advanceInSteps(45);
    expect(isCapped(taken)).toBe(true);
    expect(harness.disk.boards).toEqual([]);
    // Nodes of the other shard belong to another agent now.
    const { nodes } = JSON.parse((await agent.page("/debug/node")).text) as { nodes: string[] };
    expect(nodes.toSorted()).toEqual(names(6).filter((name) => !others.includes(name)));
  });

  it("X-58 keeps journalled nodes unchanged until the lease expires if the API server is unreachable at the start", async () => {
    await add(["node-0"]);
    const first = pool({ RESTORE_ON_EXIT: "false" });
    await harness.until(() => isCapped("node-0"));
    await first.stop();
    harness.api.faults.add({ fault: { kind: "refused" } });
    const agent = pool({ TARGET_LEASE: "40s" });
    await harness.advanceInSteps(30);
    expect(isCapped("node-0")).toBe(true);
    await harness.until(() => !isCapped("node-0"));
    harness.api.faults.clear();
    await agent.stop();
  });

  it("X-91 restores every node when it stops", async () => {
    await add(names(30));
    const agent = pool();
    await harness.until(() => names(30).every(isCapped));
    await harness.advanceInSteps(1);
    await agent.stop();
    expect(names(30).filter(isCapped)).toEqual([]);
    expect(harness.disk.boards).toEqual([]);
  });

  it("X-91 X-61 logs one line about all nodes that could not be restored", async () => {
    await add(names(30));
    const agent = pool();
    await harness.until(() => names(30).every(isCapped));
    await harness.advanceInSteps(1);
    for (const name of names(30)) service.silent.add(name);
    agent.logs.length = 1;
    await agent.stop();
    const [line, ...others] = agent.logs.slice(1).filter(({ level }) => level !== "info");
    expect(others).toEqual([]);
    expect(line).toMatchObject({ level: "error", nodes: 30, problem: expect.stringMatching(/no response within 2s/) });
    expect(line?.["others"]).toHaveLength(9);
    expect(harness.disk.boards).toHaveLength(30);
  });
});
