// The agent on a real API server, with exactly the permissions of permissions.ts, on machines of files.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { labels, type NodeHardware, operatorConfigMap } from "../../src/core/api/index.ts";
import { eventually, eventuallyPasses, watchFor } from "../../src/platform/clock/testing/index.ts";
import { agentPermissions } from "../../src/programs/agent/permissions.ts";
import { FakeControlService } from "../../src/programs/agent/testing/fake-control-service.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import type { ClusterIdentity } from "../controlplane/identities.ts";
import { AgentClusterHarness, hardwares, ORIGINAL, routes, twins } from "./agent-harness.ts";

const main = join(import.meta.dirname, "../../src/main.ts");
const capped = { cpu: { packagePowerCapWatts: 240 }, gpu: { powerCap: { scope: "perGpu", capWattsPerGpu: 500 } } };
const CAPPED = "240 240 500 500";

describe("the agent on a real control plane", () => {
  let plane: ControlPlane;
  let daemonset: ClusterIdentity;
  let pool: ClusterIdentity;
  let harness: AgentClusterHarness;
  let service: FakeControlService;
  beforeAll(async () => {
    plane = await startControlPlane({ audit: true });
    daemonset = await plane.identity(agentPermissions("daemonset"), { name: "joulie-agent" });
    pool = await plane.identity(agentPermissions("pool"), { name: "joulie-agent-pool" });
  });
  afterAll(async () => plane.stop());
  beforeEach(async () => {
    harness = new AgentClusterHarness(plane);
    service = new FakeControlService();
    await service.listen();
  });
  afterEach(async () => {
    await harness.close();
    await service.close();
  });

  const overHttp = (target: Readonly<Record<string, string>>) => ({
    target,
    sources: { cpu: { type: "http", http: { endpoint: service.telemetry, timeoutSeconds: 2 } } },
    controls: { cpu: { type: "http", http: { endpoint: service.control, timeoutSeconds: 2, mode: "auto" } } },
  });
  const writesOf = (user: ClusterIdentity) =>
    plane
      .audited()
      .filter(({ user: who, verb }) => who === user.user && !["get", "list", "watch"].includes(verb))
      .map(({ verb, path }) => `${verb} ${path.replace(/\?.*/, "")}`);

  it("AGT-05 AGT-23 X-08 X-17 X-63 enforces a target, reports it in the twin and the node's profile, and keeps the operator's fields", async () => {
    const machine = harness.machine();
    await harness.node("flow-a.example.com");
    await harness.node("flow-b");
    await harness.route("own", { target: { scope: "node", nodeName: "flow-a.example.com" } });
    await harness.target("flow-a.example.com", capped);
    await harness.target("flow-b", { cpu: { packagePowerCapWatts: 100 } });
    const before = plane.audited().length;
    const agent = harness.start(daemonset, { NODE_NAME: "flow-a.example.com", ...machine.variables });
    await machine.waitForLimits(CAPPED);
    await harness.waitForStatus("flow-a.example.com", "cpu", "rapl applied");
    // The agent reports the GPUs in a later write if their discovery takes longer.
    await eventuallyPasses(async () => {
      expect((await harness.twin("flow-a.example.com")).status).toMatchObject({
        schedulableClass: "eco",
        predictedPowerHeadroomScore: 42,
        controlStatus: { cpu: { message: expect.stringContaining("240 W per package") }, gpu: { result: "applied" } },
      });
    });
    await eventuallyPasses(async () => {
      expect((await harness.profile("own")).status?.control).toMatchObject({
        cpu: { backend: "rapl", result: "applied", observed: { capWatts: 240 } },
        gpu: { backend: "amdgpu", result: "applied" },
      });
    });
    // The agent writes the object first and its status right after.
    await eventuallyPasses(async () => {
      const path = `${hardwares}/flow-a.example.com`;
      const { status } = await plane.api.get<NodeHardware>(path);
      expect(status).toMatchObject({ cpu: { sockets: 2, totalCores: 8 }, gpu: { present: true, count: 2 } });
    });
    // A changed target is enforced at once, and the operator's write does not erase the agent's fields.
    await harness.target("flow-a.example.com", { cpu: { packagePowerCapWatts: 200 } });
    await machine.waitForLimits("200 200 750 740");
    await eventuallyPasses(async () => {
      const twin = await harness.twin("flow-a.example.com");
      expect(twin.status?.controlStatus?.cpu?.message).toContain("200 W per package");
      expect(twin.status?.controlStatus?.gpu?.result).toBe("none");
      expect(twin.status?.predictedPowerHeadroomScore).toBe(42);
    });
    expect(await agent.page("/readyz")).toContain("[+] synced");
    expect(await agent.page("/metrics")).toContain('joulie_backend_mode{node="flow-a.example.com",mode="rapl"} 1');

    // it writes nothing about other nodes.
    const requests = plane
      .audited()
      .slice(before)
      .filter(({ user }) => user === daemonset.user);
    expect(requests.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
    const written = new Set(writesOf(daemonset).filter((what) => !what.includes("/events")));
    expect(written).toEqual(
      new Set([
        `patch ${twins}/flow-a.example.com/status`,
        `patch ${routes}/own/status`,
        `patch ${hardwares}/flow-a.example.com`,
        `patch ${hardwares}/flow-a.example.com/status`,
      ]),
    );
    expect((await harness.twin("flow-b")).status?.controlStatus).toBeUndefined();
    // It lists only objects of its own node, the namespace that carries the stop switch, and the operator's state.
    const lists = requests.filter(({ verb, resource }) => verb === "list" && resource !== "telemetryprofiles");
    const shared: Readonly<Record<string, string>> = { namespaces: "joulie-system", configmaps: operatorConfigMap };
    const allowed = (resource: string) => shared[resource] ?? "flow-a.example.com";
    const others = lists.filter(({ path, resource }) => !path.includes(`metadata.name%3D${allowed(resource)}`));
    expect(others).toEqual([]);
  });

  it("X-56 sends no requests except heartbeats while nothing changes", async () => {
    const machine = harness.machine();
    await harness.node("idle-a");
    await harness.target("idle-a", capped);
    harness.start(daemonset, { NODE_NAME: "idle-a", ...machine.variables });
    await machine.waitForLimits(CAPPED);
    // The first reading takes two ticks and is written.
    await eventuallyPasses(async () => {
      const { cpu, gpu } = (await harness.twin("idle-a")).status?.controlStatus ?? {};
      expect([cpu?.observedPowerWatts, gpu?.observedPowerWatts]).toEqual([0, 382]);
    });
    await watchFor(2000);
    const requestsOf = () => plane.audited().filter(({ user }) => user === daemonset.user);
    const before = requestsOf().length;
    await watchFor(30_000);
    // Half a minute has thirty ticks and at most one heartbeat.
    const requests = requestsOf()
      .slice(before)
      .map(({ verb, path }) => `${verb} ${path.replace(/\?.*/, "")}`);
    expect([[], [`patch ${twins}/idle-a/status`]]).toContainEqual(requests);
  });

  it("X-58 keeps enforcing the last target and DVFS while the API server is frozen", async () => {
    const machine = harness.machine();
    machine.draw(20);
    await harness.node("frozen-a");
    await harness.target("frozen-a", capped);
    const variables = { NODE_NAME: "frozen-a", TELEMETRY_CPU_CONTROL_MODE: "dvfs", DVFS_COOLDOWN: "1s" };
    harness.start(daemonset, { ...variables, DVFS_STEP_PCT: "50", ...machine.variables });
    await machine.waitForLimits("350 340 500 500");
    await harness.waitForStatus("frozen-a", "cpu", "dvfs applied");
    await plane.apiserver.freeze();
    try {
      machine.draw(400);
      await machine.waitForLimits("350 340 500 500 slow 8");
      machine.draw(20);
      await machine.waitForLimits("350 340 500 500");
    } finally {
      plane.apiserver.thaw();
    }
    await harness.target("frozen-a", {});
    await machine.waitForLimits(ORIGINAL);
    expect((await harness.waitForStatus("frozen-a", "gpu", "amdgpu none")).status?.schedulableClass).toBe("eco");
  });

  it("AGT-12 AGT-13 X-10 X-49 restores the caps of the old route when the route changes: host, http, none", async () => {
    const machine = harness.machine();
    await harness.node("route-a");
    await harness.target("route-a", { cpu: { packagePowerCapWatts: 240 } });
    Object.assign(service.node("route-a"), { power: 300, capWatts: 700 });
    harness.start(daemonset, {
      NODE_NAME: "route-a",
      TELEMETRY_ALLOWED_ENDPOINTS: service.origin,
      ...machine.variables,
    });
    await machine.waitForLimits("240 240 750 740");
    await harness.route("own", overHttp({ scope: "node", nodeName: "route-a" }));
    await machine.waitForLimits(ORIGINAL);
    await harness.waitForStatus("route-a", "cpu", "http applied");
    expect(service.node("route-a").capWatts).toBe(240);
    await eventuallyPasses(async () => {
      expect((await harness.profile("own")).status?.control?.cpu).toMatchObject({ backend: "http", result: "applied" });
    });
    await harness.route("own", {
      target: { scope: "node", nodeName: "route-a" },
      controls: { cpu: { type: "none" }, gpu: { type: "none" } },
    });
    await harness.waitForStatus("route-a", "cpu", "none none");
    await eventuallyPasses(() => expect(service.node("route-a").capWatts).toBe(700));
    expect(machine.limits).toBe(ORIGINAL);
    await plane.api.remove(`${routes}/own`);
    await machine.waitForLimits("240 240 750 740");
  });

  it("AGT-01 AGT-09 X-39 controls nodes over HTTP in pool mode despite dead ones, and never its own host", async () => {
    const machine = harness.machine();
    const names = ["pool-a", "pool-b", "pool-dead"];
    for (const name of names) {
      await harness.node(name);
      await harness.target(name, { cpu: { packagePowerCapWatts: 240 } });
      Object.assign(service.node(name), { power: 300, capWatts: 700 });
    }
    service.silent.add("pool-dead");
    await harness.route("all", overHttp({ scope: "cluster" }));
    const agent = harness.start(pool, { AGENT_MODE: "pool", POOL_SHARD_ID: "0", ...machine.variables });
    for (const name of ["pool-a", "pool-b"]) {
      const { status } = await harness.waitForStatus(name, "cpu", "http applied");
      expect(status?.controlStatus?.cpu?.observedPowerWatts).toBe(300);
      expect(status?.schedulableClass).toBe("eco");
      expect(service.node(name).capWatts).toBe(240);
    }
    await eventuallyPasses(async () => {
      const { cpu } = (await harness.twin("pool-dead")).status?.controlStatus ?? {};
      expect(cpu).toMatchObject({
        result: expect.stringMatching(/blocked|error/),
        message: expect.stringContaining("no response within 2s"),
      });
    });
    await harness.target("pool-a", { cpu: { packagePowerCapWatts: 200 } });
    await eventuallyPasses(() => expect(service.node("pool-a").capWatts).toBe(200));
    // A node that leaves the pool is restored. The cap in telemetry may be the agent's own, so without a known maximum it
    // restores a value above every package.
    await plane.api.mergePatch("/api/v1/nodes/pool-b", { metadata: { labels: { [labels.managed]: null } } });
    await eventuallyPasses(() => expect(service.node("pool-b").capWatts).toBe(1000));
    await agent.stop();
    expect(service.node("pool-a").capWatts).toBe(1000);
    expect(machine.limits).toBe(ORIGINAL);
    expect(plane.audited().filter(({ user, code }) => user === pool.user && code === 403)).toEqual([]);
  });

  it("X-42 reports what it would do with SIMULATE_ONLY, and changes nothing", async () => {
    const machine = harness.machine();
    await harness.node("simulated");
    await harness.target("simulated", capped);
    harness.start(daemonset, { NODE_NAME: "simulated", SIMULATE_ONLY: "true", ...machine.variables });
    const { status } = await harness.waitForStatus("simulated", "cpu", "rapl none");
    expect(status?.controlStatus?.cpu?.message).toContain("would");
    expect(status?.controlStatus?.gpu).toMatchObject({ result: "none", message: expect.stringContaining("500 W") });
    expect(machine.limits).toBe(ORIGINAL);
    expect(readdirSync(join(machine.folder, "state"))).toEqual([]);
  });

  it("X-41 restores a node that loses its label, and writes nothing more about it", async () => {
    const machine = harness.machine();
    await harness.node("leaves");
    await harness.target("leaves", capped);
    harness.start(daemonset, { NODE_NAME: "leaves", RESTORE_ON_EXIT: "false", ...machine.variables });
    await machine.waitForLimits(CAPPED);
    await harness.waitForStatus("leaves", "cpu", "rapl applied");
    await plane.api.mergePatch("/api/v1/nodes/leaves", { metadata: { labels: { [labels.managed]: null } } });
    await machine.waitForLimits(ORIGINAL);
    // Its last writes may still be under way.
    await eventually(async () => {
      const count = writesOf(daemonset).length;
      await watchFor(1000);
      return writesOf(daemonset).length === count;
    });
    const before = writesOf(daemonset).length;
    await watchFor(4000);
    expect(writesOf(daemonset).slice(before)).toEqual([]);
  });

  it("X-41 X-91 restores on SIGTERM, and `joulie agent restore` restores what a killed agent left", async () => {
    const machine = harness.machine();
    await harness.node("process");
    await harness.target("process", capped);
    const run = (...args: readonly string[]) => {
      const child = spawn(process.execPath, [main, "agent", ...args], {
        env: {
          NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
          KUBECONFIG: daemonset.kubeconfig,
          NODE_NAME: "process",
          METRICS_ADDR: "127.0.0.1:0",
          ...machine.variables,
        },
        stdio: ["ignore", "ignore", "inherit"],
      });
      return { child, exit: once(child, "exit") };
    };
    const first = run();
    await machine.waitForLimits(CAPPED);
    await harness.waitForStatus("process", "cpu", "rapl applied");
    first.child.kill("SIGTERM");
    expect(await first.exit).toEqual([0, null]);
    expect(machine.limits).toBe(ORIGINAL);
    const { status } = await harness.twin("process");
    expect(status?.controlStatus?.cpu).toMatchObject({ result: "none", message: expect.stringContaining("restored") });

    const second = run();
    await machine.waitForLimits(CAPPED);
    second.child.kill("SIGKILL");
    await second.exit;
    expect(machine.limits).toBe(CAPPED);
    const byHand = run("restore");
    expect(await byHand.exit).toEqual([0, null]);
    expect(machine.limits).toBe(ORIGINAL);
  });
});
