// The simulator on a real API server with a real kube-scheduler, with exactly the permissions it declares.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ScaledClock, systemClock } from "../../src/platform/clock/index.ts";
import { eventually, eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { fleetConfig } from "../../src/programs/fleet/config.ts";
import { fleetPermissions } from "../../src/programs/fleet/permissions.ts";
import { type RunningFleet, runFleet } from "../../src/programs/fleet/start.ts";
import { reach } from "../contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { compareRights } from "../controlplane/rights.ts";

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
    readonly spec: { readonly nodeName?: string };
    readonly status: { readonly phase: string };
  }[];
}

interface LiveNode {
  readonly metadata: { readonly uid: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: object;
}

describe("the simulator on a real control plane", () => {
  let plane: ControlPlane;
  let simulator: RunningFleet;
  let done: Promise<void>;
  let log = "";
  const stop = new AbortController();

  beforeAll(async () => {
    plane = await startControlPlane({ scheduler: {}, controllerManager: true, audit: true });
    const { server, token, ca } = await plane.identity(fleetPermissions("default"));
    const flags = { SIMULATOR_ADDR: "127.0.0.1:0", METRICS_ADDR: "127.0.0.1:0", NODES: "12", FINISHED_PODS_KEPT: "1s" };
    const machine = { isTerminal: false, exists: () => false };
    const parsed = parseConfig(fleetConfig, { flags, env: {}, machine });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const clock = new ScaledClock(systemClock, 60);
    const write = (line: string) => {
      log += line;
    };
    const world = {
      transport: reach(server, token, ca),
      clock,
      ioClock: systemClock,
      random: systemRandom,
      log: createLogger({ level: "warn", program: "simulator", destination: { write } }),
    };
    const { promise: serving, resolve: onServing } = Promise.withResolvers<RunningFleet>();
    done = runFleet(parsed.value.values, { ...world, onServing }, stop.signal);
    simulator = await serving;
    await simulator.registered;
  });
  afterAll(async () => {
    stop.abort();
    await done;
    await plane.stop();
  });

  const pods = async () => (await plane.api.get<PodList>("/api/v1/namespaces/default/pods")).items;

  it("registers ready nodes and submits jobs that are scheduled, run and succeed", async () => {
    const nodes = await plane.kubectl(["get", "nodes", "--no-headers"]);
    expect(nodes.stdout.trim().split("\n")).toHaveLength(12);
    expect(nodes.stdout.match(/\bReady\b/g)).toHaveLength(12);
    await eventuallyPasses(async () => {
      const phases = (await pods()).map(({ status }) => status.phase);
      expect(phases.filter((phase) => phase === "Running").length).toBeGreaterThan(10);
      expect(simulator.datacenter.totals.pods).toBeGreaterThan(10);
    });
    // Within a minute, which simulates hours, some jobs finish and the simulator deletes them.
    await eventually(() =>
      plane
        .audited()
        .some(
          ({ userAgent, verb, resource }) =>
            userAgent === "joulie-simulator" && verb === "delete" && resource === "pods",
        ),
    );
  });

  it("confirms the termination of a deleted pod", async () => {
    const [victim] = (await pods()).filter(({ status }) => status.phase === "Running");
    const name = victim?.metadata.name ?? "";
    await plane.kubectl(["delete", "pod", name, "--wait=true", "--timeout=20s"]);
    expect((await pods()).map(({ metadata }) => metadata.name)).not.toContain(name);
  });

  it("registers a node again that was deleted or replaced by another simulated node", async () => {
    const path = "/api/v1/nodes/sim-001";
    const before = await plane.api.get<LiveNode>(path);
    await plane.kubectl(["delete", "node", "sim-001", "--wait=true"]);
    await plane.createNodes(["sim-001"], { labels: { "joulie.io/simulated": "true" }, unschedulable: true });
    await eventuallyPasses(async () => {
      const { metadata, spec } = await plane.api.get<LiveNode>(path);
      expect(metadata.uid).not.toBe(before.metadata.uid);
      expect(metadata.labels).toEqual(before.metadata.labels);
      expect(spec).toMatchObject({ unschedulable: true, taints: [{ key: "joulie.io/simulated" }] });
    });
  });

  it("removes all its objects, and no request was rejected", async () => {
    const metrics = await (await fetch(`${simulator.metricsUrl}/metrics`)).text();
    expect(metrics).toContain("# TYPE joulie_simulator_write_errors_total");
    expect(metrics).not.toMatch(/^joulie_simulator_write_errors_total\S* [1-9]/m);
    stop.abort();
    await done;
    expect(await pods()).toEqual([]);
    expect((await plane.api.get<PodList>("/api/v1/nodes")).items).toEqual([]);
    expect(log).toBe("");
    const asked = plane.audited().filter(({ userAgent }) => userAgent === "joulie-simulator");
    expect(asked.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
    // Every verb of its role was needed, and no other.
    expect(compareRights(fleetPermissions("default"), asked)).toEqual({ unused: [], missing: [] });
  });
});
