// The agent on a real API server, with no more rights than it says it needs, on machines that are folders of files.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { labels, type NodeHardware } from "../../src/core/api/index.ts";
import { agentPermissions } from "../../src/programs/agent/permissions.ts";
import { FakeControlService } from "../../src/programs/agent/testing/fake-control-service.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import type { Identity } from "../controlplane/identities.ts";
import { AgentScene, hardwares, ORIGINAL, routes, soon, twins } from "./agent-scene.ts";

const main = join(import.meta.dirname, "../../src/main.ts");
const capped = { cpu: { packagePowerCapWatts: 240 }, gpu: { powerCap: { scope: "perGpu", capWattsPerGpu: 500 } } };
const CAPPED = "240 240 500 500";

describe("the agent on a real control plane", () => {
  let plane: ControlPlane;
  let own: Identity;
  let pool: Identity;
  let scene: AgentScene;
  let service: FakeControlService;
  beforeAll(async () => {
    plane = await startControlPlane({ audit: true });
    own = await plane.identity(agentPermissions("daemonset"), { name: "joulie-agent" });
    pool = await plane.identity(agentPermissions("pool"), { name: "joulie-agent-pool" });
  });
  afterAll(async () => plane.stop());
  beforeEach(async () => {
    scene = new AgentScene(plane);
    service = new FakeControlService();
    await service.listen();
  });
  afterEach(async () => {
    await scene.end();
    await service.close();
  });

  const overHttp = (target: Readonly<Record<string, string>>) => ({
    target,
    sources: { cpu: { type: "http", http: { endpoint: service.telemetry, timeoutSeconds: 2 } } },
    controls: { cpu: { type: "http", http: { endpoint: service.control, timeoutSeconds: 2, mode: "auto" } } },
  });
  const writesOf = (user: Identity) =>
    plane
      .audited()
      .filter(({ user: who, verb }) => who === user.user && !["get", "list", "watch"].includes(verb))
      .map(({ verb, path }) => `${verb} ${path.replace(/\?.*/, "")}`);

  it("AGT-05 AGT-23 X-08 X-17 X-63 enforces a target, reports it in the twin and the node's profile, and keeps the operator's fields", async () => {
    const machine = scene.machine();
    await scene.node("flow-a.example.com");
    await scene.node("flow-b");
    await scene.route("own", { target: { scope: "node", nodeName: "flow-a.example.com" } });
    await scene.target("flow-a.example.com", capped);
    await scene.target("flow-b", { cpu: { packagePowerCapWatts: 100 } });
    const before = plane.audited().length;
    const agent = scene.start(own, { NODE_NAME: "flow-a.example.com", ...machine.variables });
    await machine.comesToHave(CAPPED);
    const { status } = await scene.comesToTell("flow-a.example.com", "cpu", "rapl applied");
    expect(status).toMatchObject({
      schedulableClass: "eco",
      predictedPowerHeadroomScore: 42,
      controlStatus: { cpu: { message: expect.stringContaining("240 W per package") }, gpu: { result: "applied" } },
    });
    await vi.waitFor(async () => {
      expect((await scene.profile("own")).status?.control).toMatchObject({
        cpu: { backend: "rapl", result: "applied", observed: { capWatts: 240 } },
        gpu: { backend: "amdgpu", result: "applied" },
      });
    }, soon);
    const hardware = await vi.waitFor(
      async () =>
        plane.api.get<NodeHardware & { metadata: { name: string; uid: string } }>(`${hardwares}/flow-a.example.com`),
      soon,
    );
    expect(hardware.status).toMatchObject({ cpu: { sockets: 2, totalCores: 8 }, gpu: { present: true, count: 2 } });
    // A change is enforced at once, not at the next interval; what the operator writes next does not erase it.
    await scene.target("flow-a.example.com", { cpu: { packagePowerCapWatts: 200 } });
    await machine.comesToHave("200 200 750 740");
    await vi.waitFor(async () => {
      const twin = await scene.twin("flow-a.example.com");
      expect(twin.status?.controlStatus?.cpu?.message).toContain("200 W per package");
      expect(twin.status?.controlStatus?.gpu?.result).toBe("none");
      expect(twin.status?.predictedPowerHeadroomScore).toBe(42);
    }, soon);
    expect(await agent.page("/readyz")).toContain("[+] synced");
    expect(await agent.page("/metrics")).toContain('joulie_backend_mode{node="flow-a.example.com",mode="rapl"} 1');

    // not of another node.
    const asked = plane
      .audited()
      .slice(before)
      .filter(({ user }) => user === own.user);
    expect(asked.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
    const written = new Set(writesOf(own).filter((what) => !what.includes("/events")));
    expect(written).toEqual(
      new Set([
        `patch ${twins}/flow-a.example.com/status`,
        `patch ${routes}/own/status`,
        `patch ${hardwares}/flow-a.example.com`,
        `patch ${hardwares}/flow-a.example.com/status`,
      ]),
    );
    expect((await scene.twin("flow-b")).status?.controlStatus).toBeUndefined();
    // What it reads is its own node's, too.
    const lists = asked.filter(({ verb, resource }) => verb === "list" && resource !== "telemetryprofiles");
    expect(lists.filter(({ path }) => !path.includes("metadata.name%3Dflow-a.example.com"))).toEqual([]);
  });

  it("X-56 asks nothing and writes little while nothing changes", async () => {
    const machine = scene.machine();
    await scene.node("idle-a");
    await scene.target("idle-a", capped);
    scene.start(own, { NODE_NAME: "idle-a", ...machine.variables });
    await machine.comesToHave(CAPPED);
    // The first reading takes two ticks, and is news.
    await vi.waitFor(async () => {
      const { cpu, gpu } = (await scene.twin("idle-a")).status?.controlStatus ?? {};
      expect([cpu?.observedPowerWatts, gpu?.observedPowerWatts]).toEqual([0, 382]);
    }, soon);
    await sleep(2000);
    const asked = () => plane.audited().filter(({ user }) => user === own.user);
    const before = asked().length;
    await sleep(30_000);
    // Half a minute has thirty ticks and at most one heartbeat.
    const requests = asked()
      .slice(before)
      .map(({ verb, path }) => `${verb} ${path.replace(/\?.*/, "")}`);
    expect([[], [`patch ${twins}/idle-a/status`]]).toContainEqual(requests);
  });

  it("X-58 while the API is frozen the last target stays enforced and DVFS goes on", async () => {
    const machine = scene.machine();
    machine.draw(20);
    await scene.node("frozen-a");
    await scene.target("frozen-a", capped);
    const variables = { NODE_NAME: "frozen-a", TELEMETRY_CPU_CONTROL_MODE: "dvfs", DVFS_COOLDOWN: "1s" };
    scene.start(own, { ...variables, DVFS_STEP_PCT: "50", ...machine.variables });
    await machine.comesToHave("350 340 500 500");
    await scene.comesToTell("frozen-a", "cpu", "dvfs applied");
    await plane.apiserver.freeze();
    try {
      machine.draw(400);
      await machine.comesToHave("350 340 500 500 slow 8");
      machine.draw(20);
      await machine.comesToHave("350 340 500 500");
    } finally {
      plane.apiserver.thaw();
    }
    await scene.target("frozen-a", {});
    await machine.comesToHave(ORIGINAL);
    expect((await scene.comesToTell("frozen-a", "gpu", "amdgpu none")).status?.schedulableClass).toBe("eco");
  });

  it("AGT-12 AGT-13 X-10 X-49 a route that changes while it runs takes the old one's caps back: host, http, none", async () => {
    const machine = scene.machine();
    await scene.node("route-a");
    await scene.target("route-a", { cpu: { packagePowerCapWatts: 240 } });
    Object.assign(service.node("route-a"), { power: 300, capWatts: 700 });
    scene.start(own, { NODE_NAME: "route-a", TELEMETRY_ALLOWED_ENDPOINTS: service.origin, ...machine.variables });
    await machine.comesToHave("240 240 750 740");
    await scene.route("own", overHttp({ scope: "node", nodeName: "route-a" }));
    await machine.comesToHave(ORIGINAL);
    await scene.comesToTell("route-a", "cpu", "http applied");
    expect(service.node("route-a").capWatts).toBe(240);
    await vi.waitFor(async () => {
      expect((await scene.profile("own")).status?.control?.cpu).toMatchObject({ backend: "http", result: "applied" });
    }, soon);
    await scene.route("own", {
      target: { scope: "node", nodeName: "route-a" },
      controls: { cpu: { type: "none" }, gpu: { type: "none" } },
    });
    await scene.comesToTell("route-a", "cpu", "none none");
    await vi.waitFor(() => expect(service.node("route-a").capWatts).toBe(700), soon);
    expect(machine.limits).toBe(ORIGINAL);
    await plane.api.remove(`${routes}/own`);
    await machine.comesToHave("240 240 750 740");
  });

  it("AGT-01 AGT-09 X-39 pool mode controls its nodes over HTTP, the live ones whatever the dead do, and never its host", async () => {
    const machine = scene.machine();
    const names = ["pool-a", "pool-b", "pool-dead"];
    for (const name of names) {
      await scene.node(name);
      await scene.target(name, { cpu: { packagePowerCapWatts: 240 } });
      Object.assign(service.node(name), { power: 300, capWatts: 700 });
    }
    service.silent.add("pool-dead");
    await scene.route("all", overHttp({ scope: "cluster" }));
    const agent = scene.start(pool, { AGENT_MODE: "pool", POOL_SHARD_ID: "0", ...machine.variables });
    for (const name of ["pool-a", "pool-b"]) {
      const { status } = await scene.comesToTell(name, "cpu", "http applied");
      expect(status?.controlStatus?.cpu?.observedPowerWatts).toBe(300);
      expect(status?.schedulableClass).toBe("eco");
      expect(service.node(name).capWatts).toBe(240);
    }
    await vi.waitFor(async () => {
      const { cpu } = (await scene.twin("pool-dead")).status?.controlStatus ?? {};
      expect(cpu).toMatchObject({
        result: expect.stringMatching(/blocked|error/),
        message: expect.stringContaining("no answer within 2s"),
      });
    }, soon);
    await scene.target("pool-a", { cpu: { packagePowerCapWatts: 200 } });
    await vi.waitFor(() => expect(service.node("pool-a").capWatts).toBe(200), soon);
    // A node that leaves the pool is restored. What telemetry shows may be a cap of ours, so that where no maximum is known it
    // goes as high as no package is.
    await plane.api.mergePatch("/api/v1/nodes/pool-b", { metadata: { labels: { [labels.managed]: null } } });
    await vi.waitFor(() => expect(service.node("pool-b").capWatts).toBe(1000), soon);
    await agent.stop();
    expect(service.node("pool-a").capWatts).toBe(1000);
    expect(machine.limits).toBe(ORIGINAL);
    expect(plane.audited().filter(({ user, code }) => user === pool.user && code === 403)).toEqual([]);
  });

  it("X-42 SIMULATE_ONLY tells what it would do, and does nothing", async () => {
    const machine = scene.machine();
    await scene.node("simulated");
    await scene.target("simulated", capped);
    scene.start(own, { NODE_NAME: "simulated", SIMULATE_ONLY: "true", ...machine.variables });
    const { status } = await scene.comesToTell("simulated", "cpu", "rapl none");
    expect(status?.controlStatus?.cpu?.message).toContain("would");
    expect(status?.controlStatus?.gpu).toMatchObject({ result: "none", message: expect.stringContaining("500 W") });
    expect(machine.limits).toBe(ORIGINAL);
    expect(readdirSync(join(machine.folder, "state"))).toEqual([]);
  });

  it("X-41 a node that loses its label is restored, and nothing more is written about it", async () => {
    const machine = scene.machine();
    await scene.node("leaves");
    await scene.target("leaves", capped);
    scene.start(own, { NODE_NAME: "leaves", RESTORE_ON_EXIT: "false", ...machine.variables });
    await machine.comesToHave(CAPPED);
    await scene.comesToTell("leaves", "cpu", "rapl applied");
    await plane.api.mergePatch("/api/v1/nodes/leaves", { metadata: { labels: { [labels.managed]: null } } });
    await machine.comesToHave(ORIGINAL);
    await sleep(1000);
    const before = writesOf(own).length;
    await sleep(4000);
    expect(writesOf(own).slice(before)).toEqual([]);
  });

  it("X-41 X-91 `joulie agent` with a kubeconfig shuts down gracefully on a signal, and a restart repairs what a killed agent left", async () => {
    const machine = scene.machine();
    await scene.node("process");
    await scene.target("process", capped);
    const run = (...args: readonly string[]) => {
      const child = spawn(process.execPath, [main, "agent", ...args], {
        env: {
          KUBECONFIG: own.kubeconfig,
          NODE_NAME: "process",
          METRICS_ADDR: "127.0.0.1:0",
          ...machine.variables,
        },
        stdio: ["ignore", "ignore", "inherit"],
      });
      return { child, exit: once(child, "exit") };
    };
    const first = run();
    await machine.comesToHave(CAPPED);
    await scene.comesToTell("process", "cpu", "rapl applied");
    first.child.kill("SIGTERM");
    expect(await first.exit).toEqual([0, null]);
    expect(machine.limits).toBe(ORIGINAL);
    const { status } = await scene.twin("process");
    expect(status?.controlStatus?.cpu).toMatchObject({ result: "none", message: expect.stringContaining("restored") });

    const second = run();
    await machine.comesToHave(CAPPED);
    second.child.kill("SIGKILL");
    await second.exit;
    expect(machine.limits).toBe(CAPPED);
    const byHand = run("restore");
    expect(await byHand.exit).toEqual([0, null]);
    expect(machine.limits).toBe(ORIGINAL);
  });
});
