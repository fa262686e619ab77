import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { watts } from "../../../core/units/index.ts";
import { resources } from "../../../platform/kube/index.ts";
import { Trial } from "../testing/agent-test-harness.ts";

let trial: Trial;
beforeEach(async () => {
  trial = new Trial();
  await trial.createNode("a");
});
afterEach(async () => {
  await trial.end();
});

const eco = { cpu: { packagePowerCapPctOfMax: 60 } };
const performance = { profile: "performance", cpu: { packagePowerCapPctOfMax: 100 } };
const withGpus = (count: number): void => {
  trial.machine.gpu.absent = undefined;
  for (let index = 0; index < count; index++) {
    trial.machine.gpu.add(`GPU-${index}`, { min: watts(200), max: watts(700) });
    trial.machine.gpu.draws.set(`GPU-${index}`, 150);
  }
};

describe("a node's CPUs", () => {
  it("AGT-01 AGT-04 AGT-14 AGT-16 AGT-50 the newest target is enforced by the host's RAPL, soon after it is published", async () => {
    await trial.createNode("b");
    await trial.target("b", { cpu: { packagePowerCapWatts: 77 } });
    await trial.target("a", eco);
    const agent = trial.start();
    await trial.pass(2);
    expect(trial.machine.rapl.writes).toEqual(["cap package-0 210", "cap package-1 210"]);
    await trial.target("a", { cpu: { packagePowerCapWatts: 120, packagePowerCapPctOfMax: 60 } });
    await trial.pass(1);
    expect(trial.machine.rapl.writes.slice(2)).toEqual(["cap package-0 120", "cap package-1 120"]);
    expect((await trial.told())?.cpu).toMatchObject({
      backend: "rapl",
      result: "applied",
      message: "120 W per package; not yet tested by load",
    });
    expect(await agent.series("joulie_policy_cap_watts")).toEqual([
      'joulie_policy_cap_watts{node="a",policy="static_partition"} 120',
    ]);
  });

  it("X-40 a cap that leaves the spec is lifted, and the original is back", async () => {
    trial.machine.rapl.limits.set("package-0", 300);
    await trial.target("a", eco);
    trial.start();
    await trial.pass(2);
    expect(trial.disk.boards).toEqual(["package-0", "package-1"]);
    await trial.target("a", performance);
    await trial.pass(3);
    expect(Object.fromEntries(trial.machine.rapl.limits)).toEqual({ "package-0": 300, "package-1": 350 });
    expect((await trial.told())?.cpu).toMatchObject({
      result: "applied",
      message: "cap is 100 % of the maximum: no limit is written",
    });
    expect(trial.disk.boards).toEqual([]);
    await trial.target("a", eco);
    await trial.pass(1);
    await trial.operator.mergePatch(resources.nodeTwins, { name: "a" }, { spec: { cpu: null } });
    await trial.pass(3);
    expect(Object.fromEntries(trial.machine.rapl.limits)).toEqual({ "package-0": 300, "package-1": 350 });
    expect((await trial.told())?.cpu).toMatchObject({ result: "none", message: "no cap requested" });
  });

  it("X-36 never above the limit that was found, and the message says so", async () => {
    trial.machine.rapl.limits.set("package-1", 200);
    await trial.target("a", { cpu: { packagePowerCapWatts: 5000 } });
    trial.start();
    await trial.pass(2);
    expect(trial.machine.rapl.writes).toEqual(["cap package-0 350", "cap package-1 200"]);
    expect((await trial.told())?.cpu?.message).toContain(
      "package-1: 5000 W requested, clamped to 200 W: the original limit",
    );
  });

  it("AGT-17 AGT-20 AGT-21 AGT-22 AGT-38 AGT-39 AGT-40 without RAPL the energy counters drive the throttle, and RAPL's return ends it", async () => {
    trial.machine.rapl.absent = "powercap is not mounted: mount the host's /sys";
    trial.machine.draw(600);
    await trial.target("a", { cpu: { packagePowerCapWatts: 210 } });
    const agent = trial.start();
    await trial.pass(45);
    expect(trial.machine.throttle.writes).toEqual(["throttle 10"]);
    expect((await trial.told())?.cpu).toMatchObject({ backend: "dvfs", result: "applied" });
    expect((await trial.told())?.cpu?.message).toContain("powercap is not mounted");
    expect(await agent.series("joulie_backend_mode", 'mode="dvfs"')).toEqual([
      'joulie_backend_mode{node="a",mode="dvfs"} 1',
    ]);
    expect(await agent.series("joulie_dvfs_throttle_pct")).toEqual(['joulie_dvfs_throttle_pct{node="a"} 10']);
    expect(await agent.series("joulie_dvfs_observed")).toEqual(['joulie_dvfs_observed_power_watts{node="a"} 600']);
    expect(await agent.series("joulie_dvfs_above_trip_count")).toEqual(['joulie_dvfs_above_trip_count{node="a"} 1']);
    expect(await agent.series("joulie_dvfs_below_trip_count")).toEqual(['joulie_dvfs_below_trip_count{node="a"} 0']);
    expect(await agent.series("joulie_dvfs_cpu_cur_freq_khz")).toEqual([
      'joulie_dvfs_cpu_cur_freq_khz{node="a",cpu="0"} 1900000',
    ]);
    await trial.pass(20);
    expect(await agent.series("joulie_dvfs_actions_total")).toEqual([
      'joulie_dvfs_actions_total{node="a",action="throttle_up"} 2',
    ]);
    trial.machine.draw(100);
    await trial.pass(140);
    expect(await agent.series("joulie_dvfs_actions_total", "throttle_down")).toHaveLength(1);
    trial.machine.draw(600);
    await trial.pass(80);
    trial.machine.rapl.absent = undefined;
    await trial.pass(20);
    expect(trial.machine.rapl.writes).toEqual(["cap package-0 210", "cap package-1 210"]);
    expect(trial.machine.throttle.throttlePct).toBe(0);
    expect(trial.machine.throttle.writes.at(-1)).toBe("restore throttled by 0");
    expect(await agent.series("joulie_backend_mode", 'mode="rapl"')).toEqual([
      'joulie_backend_mode{node="a",mode="rapl"} 1',
    ]);
    expect(await agent.series("joulie_dvfs_cpu_cur_freq_khz")).toEqual([]);
  });

  it("AGT-18 X-52 a RAPL write that fails falls back to DVFS; without a reading nothing is called applied", async () => {
    trial.machine.rapl.refusal = { result: "error", message: "EIO" };
    trial.machine.draws.clear();
    await trial.target("a", eco);
    trial.start();
    await trial.pass(2);
    const told = (await trial.told())?.cpu;
    expect(told).toMatchObject({ backend: "dvfs", result: "error" });
    expect(told?.message).toContain("RAPL failed; EIO");
    expect(told?.message).toContain(
      "no power reading: the throttle is unchanged; there is no powercap on this machine",
    );
    // What could not be written is not in force, and nothing is to be restored.
    await trial.pass(3);
    expect(trial.disk.boards).toEqual([]);
    await trial.pass(120);
    expect(trial.machine.rapl.writes.length).toBeLessThan(12);
  });

  it("AGT-19 X-50 a share of an unknown maximum throttles by percent, without labels of any kind", async () => {
    trial.machine.rapl.absent = "this CPU has energy counters only";
    trial.machine.hardware = {};
    await trial.target("a", eco);
    trial.start();
    await trial.pass(2);
    expect(trial.machine.throttle.writes).toEqual(["throttle 40"]);
    expect((await trial.told())?.cpu).toMatchObject({ backend: "dvfs", result: "applied" });
  });

  it("X-70 mode rapl: without RAPL blocked, a failed write is an error", async () => {
    trial.machine.rapl.absent = "no RAPL here";
    await trial.target("a", eco);
    const agent = trial.start({ TELEMETRY_CPU_CONTROL_MODE: "rapl" });
    await trial.pass(2);
    expect((await trial.told())?.cpu).toMatchObject({ backend: "none", result: "blocked" });
    trial.machine.rapl.absent = undefined;
    trial.machine.rapl.refusal = { result: "error", message: "EIO" };
    await trial.pass(21);
    expect((await trial.told())?.cpu).toMatchObject({ backend: "rapl", result: "error" });
    expect(await agent.series("joulie_reconcile_errors_total")).toEqual(['joulie_reconcile_errors_total{node="a"} 1']);
    expect(trial.machine.throttle.writes).toEqual([]);
  });

  it("one package that is locked is told, and none of its limits is touched", async () => {
    trial.machine.rapl.change("package-0", { locked: "the BIOS has locked the limit" });
    trial.machine.rapl.change("package-1", { locked: "the BIOS has locked the limit" });
    trial.machine.throttle.absent = "cpufreq has no policies";
    await trial.target("a", eco);
    trial.start();
    await trial.pass(2);
    expect(trial.machine.writes).toEqual([]);
    expect((await trial.told())?.cpu?.message).toContain("package-0: the BIOS has locked the limit");
    expect((await trial.told())?.cpu?.message).toContain("cpufreq has no policies");
  });

  it("AGT-08 AGT-49 writes no profile, no label and no target, and never looks at pods", async () => {
    await trial.target("a", eco);
    const agent = trial.start();
    await trial.pass(70);
    await trial.target("a", performance);
    await trial.pass(70);
    const paths = new Set(agent.writes.map(({ path }) => path).filter((path) => !path.includes("/events")));
    expect([...paths].toSorted()).toEqual([
      "/apis/joulie.io/v1alpha1/nodehardwares/a",
      "/apis/joulie.io/v1alpha1/nodehardwares/a/status",
      "/apis/joulie.io/v1alpha1/nodetwins/a/status",
    ]);
    expect(agent.reads.filter((path) => path.includes("/pods"))).toEqual([]);
  });
});

describe("a node's GPUs", () => {
  it("AGT-41 AGT-42 AGT-43 each board gets its share of its own maximum; lifting restores it", async () => {
    withGpus(2);
    trial.machine.gpu.add("GPU-small", { min: watts(40), max: watts(72) });
    await trial.target("a", { gpu: { powerCap: { capPctOfMax: 60 } } });
    trial.start();
    await trial.pass(2);
    expect(trial.machine.gpu.writes).toEqual(["cap GPU-0 420", "cap GPU-1 420", "cap GPU-small 43.2"]);
    expect((await trial.told())?.gpu).toMatchObject({ backend: "nvml", result: "applied" });
    await trial.target("a", { gpu: { powerCap: { capWattsPerGpu: 300, capPctOfMax: 60 } } });
    await trial.pass(1);
    expect(trial.machine.gpu.limits.get("GPU-0")).toBe(300);
    await trial.target("a", {});
    await trial.pass(3);
    expect(Object.fromEntries(trial.machine.gpu.limits)).toEqual({ "GPU-0": 700, "GPU-1": 700, "GPU-small": 72 });
    expect((await trial.told())?.gpu).toMatchObject({ result: "none" });
    expect(trial.disk.boards).toEqual([]);
  });

  it("AGT-44 the TelemetryProfile says what became of the GPUs: applied, blocked, error or none", async () => {
    withGpus(1);
    const host = { type: "host" };
    await trial.route("own", { target: { scope: "node", nodeName: "a" }, controls: { gpu: host, cpu: host } });
    const capped = { gpu: { powerCap: { capWattsPerGpu: 300 } } };
    trial.start();
    const seen: unknown[] = [];
    const steps: readonly (() => Promise<void>)[] = [
      async () => trial.target("a", capped),
      async () => {
        trial.machine.gpu.absent = "libnvidia-ml.so.1 is not installed";
      },
      async () => {
        trial.machine.gpu.absent = undefined;
        trial.machine.gpu.refusal = { result: "error", message: "EIO" };
        await trial.target("a", { gpu: { powerCap: { capWattsPerGpu: 250 } } });
      },
      async () => {
        trial.machine.gpu.refusal = undefined;
        await trial.untarget("a");
        await trial.target("a", eco);
      },
    ];
    for (const step of steps) {
      await step();
      await trial.pass(25);
      const { cpu, gpu } = (await trial.profile("own")).status?.control ?? {};
      seen.push([gpu?.result, gpu?.backend, cpu?.result]);
    }
    expect(seen).toEqual([
      ["applied", "nvml", "none"],
      ["blocked", "none", "none"],
      ["error", "nvml", "none"],
      ["none", "nvml", "applied"],
    ]);
  });

  it("AGT-47 AGT-48 X-65 without a way to cap GPUs it is blocked with what is missing; the CPUs are capped all the same", async () => {
    await trial.target("a", { ...eco, gpu: { powerCap: { capPctOfMax: 60 } } });
    trial.start();
    await trial.pass(2);
    expect((await trial.told())?.gpu).toMatchObject({ backend: "none", result: "blocked" });
    expect((await trial.told())?.gpu?.message).toContain("libnvidia-ml.so.1 is not installed");
    expect((await trial.told())?.cpu).toMatchObject({ result: "applied" });
  });

  it("X-65 taints and a cordon keep other pods away, and the agent of the node goes on: caps, readings, hardware", async () => {
    withGpus(1);
    const effects = ["NoSchedule", "NoExecute"];
    const keys = ["nvidia.com/gpu", "amd.com/gpu", "node.kubernetes.io/unschedulable", "example.com/reserved"];
    const taints = keys.flatMap((key) => effects.map((effect) => ({ key, value: "present", effect })));
    const keepPodsAway = async () =>
      trial.hand.mergePatch(resources.nodes, { name: "a" }, { spec: { taints, unschedulable: true } });
    const agent = trial.start();
    await trial.target("a", { ...eco, gpu: { powerCap: { capPctOfMax: 60 } } });
    await trial.pass(2);
    // While it runs, and before it starts.
    await keepPodsAway();
    expect(await trial.find(resources.nodes, "a")).toMatchObject({ spec: { taints } });
    for (const restart of [false, true]) {
      if (restart) {
        await agent.stop();
        trial.start();
      }
      await trial.target("a", { cpu: eco.cpu, gpu: { powerCap: { capPctOfMax: restart ? 80 : 70 } } });
      await trial.pass(22);
      expect(await trial.told()).toMatchObject({ cpu: { result: "applied" }, gpu: { result: "applied" } });
      expect(trial.machine.gpu.limits.get("GPU-0")).toBe(restart ? 560 : 490);
    }
    expect(await trial.find(resources.nodeHardwares, "a")).toBeDefined();
  });

  it("a lost board is an error of its own, and the others are capped", async () => {
    withGpus(2);
    trial.machine.gpu.change("GPU-0", { lost: "fell off the bus" });
    trial.machine.gpu.draws.set("GPU-0", undefined);
    await trial.target("a", { gpu: { powerCap: { capPctOfMax: 60 } } });
    trial.start();
    await trial.pass(2);
    expect(trial.machine.gpu.writes).toEqual(["cap GPU-1 420"]);
    const told = (await trial.told())?.gpu;
    expect(told).toMatchObject({ result: "error" });
    expect(told?.message).toContain("GPU GPU-0 error: fell off the bus");
    // Half of the boards' power is no measure of them.
    expect(told?.observedPowerWatts).toBeUndefined();
  });

  it("what drives a board may change while its cap is in force: its original stays", async () => {
    withGpus(1);
    await trial.target("a", { gpu: { powerCap: { capPctOfMax: 60 } } });
    trial.start();
    await trial.pass(2);
    Object.assign(trial.machine.gpu, { name: "nvidia-smi" });
    await trial.pass(20);
    await trial.target("a", {});
    await trial.pass(1);
    expect(trial.machine.gpu.writes).toEqual(["cap GPU-0 420", "restore GPU-0 700"]);
  });

  it("a node without GPUs has no report of GPUs", async () => {
    await trial.target("a", eco);
    trial.start();
    await trial.pass(2);
    expect((await trial.told())?.gpu).toBeUndefined();
  });
});

describe("what the agent publishes", () => {
  it("AGT-02 AGT-03 NodeHardware is published on change, and belongs to the Node", async () => {
    const agent = trial.start();
    await trial.pass(3);
    const found = (await trial.find(resources.nodeHardwares, "a")) as unknown as {
      metadata: { ownerReferences: { name: string }[] };
      status: { cpu: { sockets: number } };
    };
    expect(found.status.cpu.sockets).toBe(2);
    expect(found.metadata.ownerReferences[0]?.name).toBe("a");
    agent.written();
    await trial.pass(300);
    expect(agent.written().filter(({ path }) => path.includes("nodehardwares"))).toEqual([]);
    // Something works that did not before: it is looked at again.
    const before = trial.machine.discoveries;
    trial.machine.hardware = { cpu: { sockets: 2, controlAvailable: false } };
    trial.machine.rapl.absent = "gone";
    await trial.target("a", eco);
    await trial.pass(45);
    expect(trial.machine.discoveries).toBeGreaterThan(before);
    expect(agent.written().filter(({ path }) => path.endsWith("nodehardwares/a/status"))).toHaveLength(1);
  });

  it("X-56 reads by name, and while nothing changes writes nothing but a heartbeat a minute", async () => {
    await trial.target("a", eco);
    const agent = trial.start();
    await trial.pass(100);
    agent.written();
    await trial.pass(600);
    const writes = agent.written();
    expect(writes.length).toBeGreaterThanOrEqual(9);
    expect(writes.length).toBeLessThanOrEqual(11);
    expect(new Set(writes.map(({ path }) => path))).toEqual(new Set(["/apis/joulie.io/v1alpha1/nodetwins/a/status"]));
    const gaps = writes.slice(1).map(({ at }, index) => at - (writes[index]?.at ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(60_000);
    const selected = agent.reads.filter((path) => path.includes("joulie.io") || path.includes("/nodes"));
    expect(selected.filter((path) => !/fieldSelector=|\/nodehardwares\/a$/.test(path))).toEqual([]);
  });

  it("X-10 power that moves by 1 % or 5 W is told at once, less is not", async () => {
    await trial.target("a", eco);
    const agent = trial.start();
    await trial.pass(62);
    expect((await trial.told())?.cpu?.observedPowerWatts).toBe(200);
    agent.written();
    trial.machine.draw(201);
    await trial.pass(40);
    expect(agent.written()).toEqual([]);
    trial.machine.draw(204);
    await trial.pass(40);
    expect((await trial.told())?.cpu?.observedPowerWatts).toBeGreaterThan(203);
  });

  it("X-63 its own fields only: what the operator says of the twin stays", async () => {
    await trial.target("a", eco);
    const status = { schedulableClass: "eco", predictedPowerHeadroomScore: 40 };
    await trial.operator.apply(resources.nodeTwins, { name: "a" }, { status }, { subresource: "status", force: true });
    trial.start();
    await trial.pass(3);
    expect((await trial.twin()).status).toMatchObject({ ...status, controlStatus: { cpu: { result: "applied" } } });
    await trial.operator.apply(resources.nodeTwins, { name: "a" }, { status }, { subresource: "status", force: true });
    expect((await trial.told())?.cpu?.result).toBe("applied");
  });

  it("AGT-07 serves Prometheus text, health and a page about the node", async () => {
    await trial.target("a", eco);
    const agent = trial.start();
    await trial.pass(45);
    expect(await agent.series("joulie_rapl_estimated_power_watts", 'zone="package-0"')).toEqual([
      'joulie_rapl_estimated_power_watts{node="a",zone="package-0"} 100',
    ]);
    expect(await agent.series("joulie_rapl_package_total")).toEqual([
      'joulie_rapl_package_total_power_watts{node="a"} 200',
    ]);
    expect(await agent.series("joulie_rapl_energy_uj", "package-1")).toHaveLength(1);
    expect(await agent.series("joulie_cap_unproven")).toEqual(['joulie_cap_unproven{node="a",device="cpu"} 1']);
    expect((await agent.page("/readyz")).status).toBe(200);
    expect((await agent.page("/livez")).status).toBe(200);
    const page = JSON.parse((await agent.page("/debug/node")).text) as Record<string, unknown>;
    expect(page).toMatchObject({
      name: "a",
      cpu: { result: "applied" },
      inForce: [{ board: "package-0" }, { board: "package-1" }],
    });
  });
});
