import { execFile } from "node:child_process";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { watts } from "../../core/units/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { agentPermissions } from "./permissions.ts";
import { AgentTestHarness } from "./testing/agent-test-harness.ts";

let harness: AgentTestHarness;
beforeEach(async () => {
  harness = new AgentTestHarness();
  await harness.createNode("a");
});
afterEach(async () => {
  await harness.close();
});

/** The resource and verb that a request needs. */
function neededBy(method: string, path: string): string {
  const { pathname, searchParams } = new URL(path, "http://api");
  const parts = pathname.split("/").slice(pathname.startsWith("/api/") ? 3 : 4);
  const [resource, name, subresource] = parts[0] === "namespaces" && parts.length > 2 ? parts.slice(2) : parts;
  const read = name !== undefined ? "get" : searchParams.has("watch") ? "watch" : "list";
  const verbs: Readonly<Record<string, string>> = { GET: read, POST: "create", PATCH: "patch", DELETE: "delete" };
  return `${resource}${subresource === undefined ? "" : `/${subresource}`} ${verbs[method]}`;
}

describe("starting an agent", () => {
  it.each(["daemonset", "pool"] as const)("%s: uses exactly the verbs that its permissions grant", async (mode) => {
    const used = new Set<string>();
    harness.api.faults.add({
      fault: { kind: "refused" },
      when: ({ method, path }) => {
        used.add(neededBy(method, path));
        return false;
      },
    });
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
    await harness.route("own", { target: { scope: "node", nodeName: "a" }, controls: { cpu: { type: "host" } } });
    harness.machine.rapl.refusal = { result: "error", message: "EIO" };
    harness.machine.throttle.absent = "none";
    const before = new Set(used);
    const agent = harness.start({ AGENT_MODE: mode });
    await harness.advance(400);
    await agent.stop();
    const own = [...used].filter((one) => !before.has(one) || / (?:list|watch|get)$/.test(one));
    const granted = agentPermissions(mode).flatMap(({ resources, verbs }) =>
      resources.flatMap((resource) => verbs.map((verb) => `${resource} ${verb}`)),
    );
    // Server-side apply creates by patching, and a repeated event is patched later.
    const implied = new Set(["nodehardwares create", "events patch"]);
    // Used by debug pages: see debug-pages.test.ts.
    for (const review of ["tokenreviews create", "subjectaccessreviews create"]) implied.add(review);
    expect(new Set(own.filter((one) => !implied.has(one)))).toEqual(
      new Set(granted.filter((one) => !implied.has(one))),
    );
  });

  it("requires NODE_NAME in daemonset mode before anything else", async () => {
    const main = join(import.meta.dirname, "../../main.ts");
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE };
    const [code, text] = await new Promise<[unknown, string]>((resolve) => {
      execFile(process.execPath, [main, "agent", "--log-format", "json"], { env }, (error, _, stderr) =>
        resolve([error?.code, stderr]),
      );
    });
    expect(code).toBe(2);
    expect(text).toMatch(/^joulie agent: NODE_NAME is not set, and AGENT_MODE=daemonset needs it[^\n]*\n$/);
  });

  it("AGT-22 warns if an energy counter can wrap around within the interval", async () => {
    const agent = harness.start({ RECONCILE_INTERVAL: "20m" });
    await harness.advance(1);
    const warnings = agent.logs.filter(({ zone }) => zone !== undefined);
    expect(warnings.map(({ zone, maxInterval }) => `${String(zone)} ${String(maxInterval)}`)).toEqual([
      "package-0 11m53s",
      "package-1 11m53s",
    ]);
  });

  it("X-31 warns if the interval is longer than the operator trusts a reading", async () => {
    const warnings = (agent: ReturnType<typeof harness.start>) =>
      agent.logs.filter(({ msg }) => msg.includes("longer than the operator trusts a reading"));
    const patient = harness.start({ RECONCILE_INTERVAL: "301s" });
    await harness.advance(1);
    expect(warnings(patient)).toMatchObject([{ level: "warn", interval: "5m1s", freshFor: "5m" }]);
    await patient.stop();
    const usual = harness.start({ RECONCILE_INTERVAL: "300s" });
    await harness.advance(1);
    expect(warnings(usual)).toEqual([]);
  });

  it("watches all TelemetryProfiles if the API server has no field selectors, and uses only those for the node", async () => {
    harness.api.faults.add({
      fault: { kind: "status", code: 400 },
      when: ({ path }) => path.includes("telemetryprofiles") && path.includes("fieldSelector"),
    });
    await harness.createNode("b");
    await harness.route("others", { target: { scope: "node", nodeName: "b" }, controls: { cpu: { type: "none" } } });
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
    const agent = harness.start();
    await harness.advance(3);
    expect(harness.machine.rapl.limits.get("package-0")).toBe(200);
    await harness.route("all", { target: { scope: "cluster" }, controls: { cpu: { type: "none" } } });
    await harness.advance(2);
    expect(harness.machine.rapl.limits.get("package-0")).toBe(350);
    expect(agent.logs.some(({ msg }) => msg.includes("watching all of them"))).toBe(true);
  });

  it("keeps ticking if hardware discovery fails", async () => {
    harness.machine.discover = async () => {
      throw new Error("the disk is on fire");
    };
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
    const agent = harness.start();
    await harness.advance(3);
    expect(harness.machine.rapl.limits.get("package-0")).toBe(200);
    harness.machine.energy.sample = () => {
      throw new Error("a fault of ours");
    };
    await harness.advance(45);
    expect(await agent.series("joulie_reconcile_errors_total")).toEqual(['joulie_reconcile_errors_total{node="a"} 2']);
    await agent.stop();
    expect(harness.machine.rapl.limits.get("package-0")).toBe(350);
  });

  it("AGT-48 counts and logs a failed tick, and enforces a new target in later ticks", async () => {
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
    const agent = harness.start();
    await harness.advance(3);
    const { rapl } = harness.machine;
    const look = rapl.discover.bind(rapl);
    rapl.discover = async () => {
      throw new Error("a fault of ours");
    };
    await harness.target("a", { cpu: { packagePowerCapWatts: 150 } });
    await harness.advance(25);
    expect(rapl.limits.get("package-0")).toBe(200);
    expect(agent.logs.filter(({ level }) => level === "error").length).toBeGreaterThan(0);
    expect((await agent.series("joulie_reconcile_errors_total"))[0]).toMatch(/ [1-9]/);
    rapl.discover = look;
    await harness.advance(20);
    expect(rapl.limits.get("package-0")).toBe(150);
    expect((await harness.controlStatus())?.cpu?.result).toBe("applied");
  });

  it("AGT-48 caps the CPUs while a GPU driver hangs", async () => {
    const { gpu, rapl } = harness.machine;
    gpu.absent = undefined;
    gpu.add("gpu-0", { min: watts(100), max: watts(700) });
    const target = async (cpu: number, board: number) =>
      harness.target("a", { cpu: { packagePowerCapWatts: cpu }, gpu: { powerCap: { capWattsPerGpu: board } } });
    await target(300, 600);
    harness.start();
    await harness.advance(2);
    expect(gpu.limits.get("gpu-0")).toBe(600);
    const answer = Promise.withResolvers<void>();
    const look = gpu.discover.bind(gpu);
    gpu.discover = async () => {
      await answer.promise;
      return look();
    };
    await target(200, 300);
    await harness.advance(2);
    expect(rapl.limits.get("package-0")).toBe(200);
    expect(gpu.limits.get("gpu-0")).toBe(600);
    // Later ticks do not wait for it either.
    await harness.advance(10);
    await target(250, 300);
    await harness.advance(2);
    expect(rapl.limits.get("package-0")).toBe(250);
    answer.resolve();
    await harness.advance(2);
    expect(gpu.limits.get("gpu-0")).toBe(300);
  });

  it("AGT-48 caps the CPUs without delay if a GPU driver never answers from the start", async () => {
    const { gpu, rapl } = harness.machine;
    gpu.absent = undefined;
    gpu.add("gpu-0", { min: watts(100), max: watts(700) });
    const answer = Promise.withResolvers<void>();
    const [look, discover] = [gpu.discover.bind(gpu), harness.machine.discover.bind(harness.machine)];
    gpu.discover = async () => {
      await answer.promise;
      return look();
    };
    harness.machine.discover = async (_node, _signal, { gpus = true } = {}) => {
      if (gpus) await answer.promise;
      return discover();
    };
    const target = async (cpu: number) =>
      harness.target("a", { cpu: { packagePowerCapWatts: cpu }, gpu: { powerCap: { capWattsPerGpu: 300 } } });
    await target(300);
    const agent = harness.start();
    await harness.advance(8);
    expect(rapl.limits.get("package-0")).toBe(300);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ result: "applied" });
    expect((await harness.controlStatus())?.gpu).toMatchObject({ message: "the GPU driver has not answered yet" });
    // The GPUs are unknown, so NodeHardware must not say that there are none.
    expect(await harness.find(resources.nodeHardwares, "a")).toBeUndefined();
    agent.takeWrites();
    await target(200);
    await harness.advance(50);
    expect(rapl.limits.get("package-0")).toBe(200);
    expect(gpu.limits.get("gpu-0")).toBe(700);
    answer.resolve();
    // Once the driver answers, the agent caps the GPUs at once instead of after the interval.
    await harness.advance(2);
    expect(gpu.limits.get("gpu-0")).toBe(300);
    await harness.advance(20);
    expect((await harness.controlStatus())?.gpu).toMatchObject({ result: "applied" });
    expect(await harness.find(resources.nodeHardwares, "a")).toBeDefined();
    await agent.stop();
    expect([rapl.limits.get("package-0"), gpu.limits.get("gpu-0")]).toEqual([350, 700]);
  });

  it("restores a GPU that is being capped at shutdown only after that write has ended", async () => {
    const { gpu } = harness.machine;
    gpu.absent = undefined;
    gpu.add("gpu-0", { min: watts(100), max: watts(700) });
    const answer = Promise.withResolvers<void>();
    const cap = gpu.cap.bind(gpu);
    gpu.cap = async (id, limit) => {
      await answer.promise;
      return cap(id, limit);
    };
    await harness.target("a", { gpu: { powerCap: { capWattsPerGpu: 300 } } });
    const agent = harness.start();
    await harness.advance(10);
    const stopped = agent.stop();
    await harness.advance(1);
    answer.resolve();
    await stopped;
    expect(gpu.writes).toEqual(["cap gpu-0 300", "restore gpu-0 700"]);
  });

  it("AGT-48 caps the CPUs if a GPU hangs while its cap of an earlier boot is checked", async () => {
    const { gpu, rapl } = harness.machine;
    gpu.absent = undefined;
    gpu.add("gpu-0", { min: watts(100), max: watts(700) });
    await harness.target("a", { gpu: { powerCap: { capWattsPerGpu: 300 } } });
    const first = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(5);
    await first.stop();
    expect(harness.disk.boards).toEqual(["gpu-0"]);
    harness.machine.boot = "the-next-boot";
    gpu.limit = async () => new Promise<never>(() => {});
    await harness.target("a", { cpu: { packagePowerCapWatts: 250 }, gpu: { powerCap: { capWattsPerGpu: 300 } } });
    harness.start();
    await harness.advance(5);
    expect(rapl.limits.get("package-0")).toBe(250);
  });
});
