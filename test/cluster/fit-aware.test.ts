// fit_aware_v1 with the operator, the extender and a real kube-scheduler.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { apiVersion, labels, type NodeTwin } from "../../src/core/api/index.ts";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { freePorts } from "../../src/platform/serve/listen.ts";
import { agentPermissions } from "../../src/programs/agent/permissions.ts";
import { FakeControlService } from "../../src/programs/agent/testing/fake-control-service.ts";
import { extenderConfig } from "../../src/programs/extender/config.ts";
import { extenderPermissions } from "../../src/programs/extender/permissions.ts";
import { runExtender } from "../../src/programs/extender/start.ts";
import { operatorConfig } from "../../src/programs/operator/config.ts";
import { operatorPermissions } from "../../src/programs/operator/permissions.ts";
import { runOperator } from "../../src/programs/operator/start.ts";
import { reach } from "../contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { AgentClusterHarness } from "./agent-harness.ts";

const guide = join(import.meta.dirname, "../../docs/guides/kube-scheduler.yaml");
const registration = parse(readFileSync(guide, "utf8")) as {
  readonly profiles: readonly object[];
  readonly extenders: readonly [object];
};
const twins = `/apis/${apiVersion}/nodetwins`;
const pods = "/api/v1/namespaces/default/pods";
const performance = { annotations: { "joulie.io/workload-class": "performance" } };
const machine = { isTerminal: false, exists: () => false };
/** Of each package of the nodes' CPU. */
const MAX_WATTS = 350;
const POLICY = { POLICY_TYPE: "fit_aware_v1", ECO_MAX_SLOWDOWN_PCT: "10", PROFILE_MIN_DWELL: "4s" };

interface BoundPod {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase?: string };
}

describe("fit_aware_v1 under a real kube-scheduler", () => {
  let plane: ControlPlane;
  const running: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    const [port = 0] = await freePorts(1);
    const extender = { ...registration.extenders[0], urlPrefix: `http://127.0.0.1:${port}`, nodeCacheCapable: true };
    plane = await startControlPlane({ scheduler: { profiles: registration.profiles, extenders: [extender] } });
    // Promoting a busy Xeon costs more than promoting the idle one; the small node has no room for the pod of the test.
    const xeon = { [labels.managed]: "true", "joulie.io/hw.cpu-model": "Intel-Xeon-Platinum-8480" };
    await plane.createNodes(["busy", "idle", "small"], (name) => ({
      labels: xeon,
      capacity: { cpu: name === "small" ? "4" : "32" },
    }));
    await plane.createPods(["filler"], { phase: "Running", requests: { cpu: "16" }, spec: { nodeName: "busy" } });
    await startExtender(port);
    await startOperator();
  });
  afterAll(async () => {
    await Promise.all(running.map(async (stop) => stop()));
    await plane.stop();
  });

  async function startOperator(): Promise<void> {
    const env = { METRICS_ADDR: "127.0.0.1:0", RECONCILE_INTERVAL: "1s", FIT_RESERVE: "0", ...POLICY };
    const parsed = parseConfig(operatorConfig, { env, flags: {}, machine });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const { server, token, ca } = await plane.identity(operatorPermissions("joulie-system"), {
      name: "joulie-operator",
    });
    const transport = reach(server, token, ca);
    const log = createLogger({ level: "fatal", program: "operator" });
    const ending = new AbortController();
    const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log };
    const done = runOperator(parsed.value.values, world, ending.signal);
    running.push(async () => {
      ending.abort();
      await done;
      await transport.close();
    });
  }

  async function startExtender(port: number): Promise<void> {
    const env = { METRICS_ADDR: "127.0.0.1:0", EXTENDER_ADDR: `127.0.0.1:${port}` };
    const parsed = parseConfig(extenderConfig, { env, flags: {}, machine });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const { server, token, ca } = await plane.identity(extenderPermissions, { name: "joulie-extender" });
    const transport = reach(server, token, ca);
    const log = createLogger({ level: "fatal", program: "extender" });
    const ending = new AbortController();
    const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log };
    const done = runExtender(parsed.value.values, world, ending.signal);
    running.push(async () => {
      ending.abort();
      await done;
      await transport.close();
    });
  }

  const twin = async (name: string) => plane.api.get<NodeTwin>(`${twins}/${name}`);
  const shown = async (name: string) => {
    const { spec, status } = await twin(name);
    return `${spec.profile} ${status?.schedulableClass} ${(spec.cpu?.packagePowerCapPctOfMax ?? 100) < 100 ? "capped" : "open"}`;
  };
  const comesToShow = async (name: string, wanted: string) =>
    eventuallyPasses(async () => expect(await shown(name)).toBe(wanted));
  const nodeOf = async (name: string) => (await plane.api.get<BoundPod>(`${pods}/${name}`)).spec.nodeName;

  /** Performance pods on nodes with eco caps. */
  async function underEcoCaps(): Promise<readonly string[]> {
    const { items } = await plane.api.get<{ readonly items: readonly BoundPod[] }>(pods);
    const found: string[] = [];
    for (const { metadata, spec, status } of items) {
      const isPerformance = metadata.annotations?.["joulie.io/workload-class"] === "performance";
      if (!isPerformance || spec.nodeName === undefined || status.phase === "Succeeded") continue;
      if ((await shown(spec.nodeName)).endsWith("capped")) found.push(`${metadata.name} on ${spec.nodeName}`);
    }
    return found;
  }

  it("POL-28 POL-31 keeps one node with room at performance and caps the others within the bound", async () => {
    await comesToShow("idle", "performance performance open");
    await comesToShow("busy", "eco eco capped");
    await comesToShow("small", "eco eco capped");
    expect((await twin("busy")).status?.expectedSlowdownPct).toBeGreaterThan(0);
    expect((await twin("busy")).status?.expectedSlowdownPct).toBeLessThanOrEqual(10);
    expect((await twin("idle")).status?.expectedSlowdownPct).toBe(0);
  });

  it("POL-30 POL-33 a pod that fits on no performance node promotes one within seconds and binds; none runs under eco caps", async () => {
    await plane.createPods(["first"], { ...performance, requests: { cpu: "20" } });
    await eventuallyPasses(async () => expect(await nodeOf("first")).toBe("idle"));
    // Only the busy node has room for it, and it is eco.
    await plane.createPods(["second"], { ...performance, requests: { cpu: "14" } });
    await eventuallyPasses(async () => expect(await nodeOf("second")).toBe("busy"));
    expect(await shown("busy")).toBe("performance performance open");
    expect(await underEcoCaps()).toEqual([]);
  });

  it("POL-32 a node whose performance pods have ended becomes eco again after the dwell time", async () => {
    expect(await underEcoCaps()).toEqual([]);
    for (const name of ["first", "second"])
      await plane.api.mergePatch(`${pods}/${name}/status`, { status: { phase: "Succeeded" } });
    // The family keeps one of them.
    await comesToShow("busy", "eco eco capped");
    await comesToShow("idle", "performance performance open");
  });

  it("X-120 POL-33 with an agent that takes five seconds, a pod is bound only after the caps of its node are lifted", async () => {
    const service = new FakeControlService();
    await service.listen();
    const agents = new AgentClusterHarness(plane);
    running.push(async () => {
      await agents.close();
      await service.close();
    });
    const identity = await plane.identity(agentPermissions("pool"), { name: "joulie-agent-pool" });
    agents.start(identity, {
      AGENT_MODE: "pool",
      STATE_DIR: agents.machine().folder,
      TELEMETRY_CPU_CONTROL: "http",
      TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT: service.control,
      TELEMETRY_HTTP_TIMEOUT_SECONDS: "20",
    });
    const capOf = (name: string) => service.node(name).capWatts ?? Infinity;
    await eventuallyPasses(async () => {
      expect(capOf("busy")).toBeLessThan(MAX_WATTS);
      expect((await twin("busy")).status?.controlStatus).toMatchObject({
        cpu: { result: "applied" },
        observedGeneration: (await twin("busy")).metadata.generation,
      });
    });
    service.takes = milliseconds(5000);
    await plane.createPods(["third"], { ...performance, requests: { cpu: "20" } });
    await eventuallyPasses(async () => expect(await nodeOf("third")).toBe("idle"));
    await plane.createPods(["fourth"], { ...performance, requests: { cpu: "14" } });
    const capWhenBound = await eventuallyPasses(async () => {
      expect(await nodeOf("fourth")).toBe("busy");
      return capOf("busy");
    });
    expect(capWhenBound).toBeGreaterThanOrEqual(MAX_WATTS);
    expect(await shown("busy")).toBe("performance performance open");
  });
});
