import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { agentHeartbeat } from "../../../core/twin/index.ts";
import { watts } from "../../../core/units/index.ts";
import { resources } from "../../../platform/kube/index.ts";
import { AgentTestHarness } from "../testing/agent-test-harness.ts";

let harness: AgentTestHarness;
beforeEach(async () => {
  harness = new AgentTestHarness();
  await harness.createNode("a");
});
afterEach(async () => {
  await harness.close();
});

const eco = { cpu: { packagePowerCapPctOfMax: 60 } };
const performance = { profile: "performance", cpu: { packagePowerCapPctOfMax: 100 } };
const withGpus = (count: number): void => {
  harness.machine.gpu.absent = undefined;
  for (let index = 0; index < count; index++) {
    harness.machine.gpu.add(`GPU-${index}`, { min: watts(200), max: watts(700) });
    harness.machine.gpu.draws.set(`GPU-${index}`, 150);
  }
};

describe("CPU control", () => {
  it("AGT-01 AGT-04 AGT-14 AGT-16 AGT-50 enforces the newest target through the host's RAPL soon after it is published", async () => {
    await harness.createNode("b");
    await harness.target("b", { cpu: { packagePowerCapWatts: 77 } });
    await harness.target("a", eco);
    const agent = harness.start();
    await harness.advance(2);
    expect(harness.machine.rapl.writes).toEqual(["cap package-0 210", "cap package-1 210"]);
    await harness.target("a", { cpu: { packagePowerCapWatts: 120, packagePowerCapPctOfMax: 60 } });
    await harness.advance(1);
    expect(harness.machine.rapl.writes.slice(2)).toEqual(["cap package-0 120", "cap package-1 120"]);
    expect((await harness.controlStatus())?.cpu).toMatchObject({
      backend: "rapl",
      result: "applied",
      message: "120 W per package; not yet tested by load",
    });
    expect(await agent.series("joulie_policy_cap_watts")).toEqual([
      'joulie_policy_cap_watts{node="a",policy="static_partition"} 120',
    ]);
  });

  it("X-40 restores the original limit when the cap is removed from the spec", async () => {
    harness.machine.rapl.limits.set("package-0", 300);
    await harness.target("a", eco);
    harness.start();
    await harness.advance(2);
    expect(harness.disk.boards).toEqual(["package-0", "package-1"]);
    await harness.target("a", performance);
    await harness.advance(3);
    expect(Object.fromEntries(harness.machine.rapl.limits)).toEqual({ "package-0": 300, "package-1": 350 });
    expect((await harness.controlStatus())?.cpu).toMatchObject({
      result: "applied",
      message: "cap is 100 % of the maximum: no limit is written",
    });
    expect(harness.disk.boards).toEqual([]);
    await harness.target("a", eco);
    await harness.advance(1);
    await harness.operator.mergePatch(resources.nodeTwins, { name: "a" }, { spec: { cpu: null } });
    await harness.advance(3);
    expect(Object.fromEntries(harness.machine.rapl.limits)).toEqual({ "package-0": 300, "package-1": 350 });
    expect((await harness.controlStatus())?.cpu).toMatchObject({ result: "none", message: "no cap requested" });
  });

  it("X-36 never sets a cap above the original limit, and the message says so", async () => {
    harness.machine.rapl.limits.set("package-1", 200);
    await harness.target("a", { cpu: { packagePowerCapWatts: 5000 } });
    harness.start();
    await harness.advance(2);
    expect(harness.machine.rapl.writes).toEqual(["cap package-0 350", "cap package-1 200"]);
    expect((await harness.controlStatus())?.cpu?.message).toContain(
      "package-1: 5000 W requested, clamped to 200 W: the original limit",
    );
  });

  it("AGT-17 AGT-20 AGT-21 AGT-22 AGT-38 AGT-39 AGT-40 throttles by the energy counters without RAPL, and stops when RAPL returns", async () => {
    harness.machine.rapl.absent = "powercap is not mounted: mount the host's /sys";
    harness.machine.draw(600);
    await harness.target("a", { cpu: { packagePowerCapWatts: 210 } });
    const agent = harness.start();
    await harness.advance(45);
    expect(harness.machine.throttle.writes).toEqual(["throttle 10"]);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ backend: "dvfs", result: "applied" });
    expect((await harness.controlStatus())?.cpu?.message).toContain("powercap is not mounted");
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
    await harness.advance(20);
    expect(await agent.series("joulie_dvfs_actions_total")).toEqual([
      'joulie_dvfs_actions_total{node="a",action="throttle_up"} 2',
    ]);
    harness.machine.draw(100);
    await harness.advance(140);
    expect(await agent.series("joulie_dvfs_actions_total", "throttle_down")).toHaveLength(1);
    harness.machine.draw(600);
    await harness.advance(80);
    harness.machine.rapl.absent = undefined;
    await harness.advance(20);
    expect(harness.machine.rapl.writes).toEqual(["cap package-0 210", "cap package-1 210"]);
    expect(harness.machine.throttle.throttlePct).toBe(0);
    expect(harness.machine.throttle.writes.at(-1)).toBe("restore throttled by 0");
    expect(await agent.series("joulie_backend_mode", 'mode="rapl"')).toEqual([
      'joulie_backend_mode{node="a",mode="rapl"} 1',
    ]);
    expect(await agent.series("joulie_dvfs_cpu_cur_freq_khz")).toEqual([]);
  });

  it("AGT-18 X-52 falls back to DVFS when a RAPL write fails, and reports nothing as applied without a reading", async () => {
    harness.machine.rapl.refusal = { result: "error", message: "EIO" };
    harness.machine.draws.clear();
    await harness.target("a", eco);
    harness.start();
    await harness.advance(2);
    const status = (await harness.controlStatus())?.cpu;
    expect(status).toMatchObject({ backend: "dvfs", result: "error" });
    expect(status?.message).toContain("RAPL failed; EIO");
    expect(status?.message).toContain(
      "no power reading: the throttle is unchanged; there is no powercap on this machine",
    );
    // A cap that was not written needs no restore.
    await harness.advance(3);
    expect(harness.disk.boards).toEqual([]);
    await harness.advance(120);
    expect(harness.machine.rapl.writes.length).toBeLessThan(12);
  });

  it("AGT-19 X-50 throttles by percent for a percentage of an unknown maximum, without any labels", async () => {
    harness.machine.rapl.absent = "this CPU has energy counters only";
    harness.machine.hardware = {};
    await harness.target("a", eco);
    harness.start();
    await harness.advance(2);
    expect(harness.machine.throttle.writes).toEqual(["throttle 40"]);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ backend: "dvfs", result: "applied" });
  });

  it("X-70 reports blocked without RAPL in mode rapl, and a failed write as an error", async () => {
    harness.machine.rapl.absent = "no RAPL here";
    await harness.target("a", eco);
    const agent = harness.start({ TELEMETRY_CPU_CONTROL_MODE: "rapl" });
    await harness.advance(2);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ backend: "none", result: "blocked" });
    harness.machine.rapl.absent = undefined;
    harness.machine.rapl.refusal = { result: "error", message: "EIO" };
    await harness.advance(21);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ backend: "rapl", result: "error" });
    expect(await agent.series("joulie_reconcile_errors_total")).toEqual(['joulie_reconcile_errors_total{node="a"} 1']);
    expect(harness.machine.throttle.writes).toEqual([]);
  });

  it("reports a locked package and does not write its limits", async () => {
    harness.machine.rapl.change("package-0", { locked: "the BIOS has locked the limit" });
    harness.machine.rapl.change("package-1", { locked: "the BIOS has locked the limit" });
    harness.machine.throttle.absent = "cpufreq has no policies";
    await harness.target("a", eco);
    harness.start();
    await harness.advance(2);
    expect(harness.machine.writes).toEqual([]);
    expect((await harness.controlStatus())?.cpu?.message).toContain("package-0: the BIOS has locked the limit");
    expect((await harness.controlStatus())?.cpu?.message).toContain("cpufreq has no policies");
  });

  it("AGT-08 AGT-49 writes no profile, label or target, and never reads pods", async () => {
    await harness.target("a", eco);
    const agent = harness.start();
    await harness.advance(70);
    await harness.target("a", performance);
    await harness.advance(70);
    const paths = new Set(agent.writes.map(({ path }) => path).filter((path) => !path.includes("/events")));
    expect([...paths].toSorted()).toEqual([
      "/apis/joulie.io/v1alpha1/nodehardwares/a",
      "/apis/joulie.io/v1alpha1/nodehardwares/a/status",
      "/apis/joulie.io/v1alpha1/nodetwins/a/status",
    ]);
    expect(agent.reads.filter((path) => path.includes("/pods"))).toEqual([]);
  });
});

describe("GPU control", () => {
  it("AGT-41 AGT-42 AGT-43 caps each GPU at a percentage of its own maximum, and restores it", async () => {
    withGpus(2);
    harness.machine.gpu.add("GPU-small", { min: watts(40), max: watts(72) });
    await harness.target("a", { gpu: { powerCap: { capPctOfMax: 60 } } });
    harness.start();
    await harness.advance(2);
    expect(harness.machine.gpu.writes).toEqual(["cap GPU-0 420", "cap GPU-1 420", "cap GPU-small 43.2"]);
    expect((await harness.controlStatus())?.gpu).toMatchObject({ backend: "nvml", result: "applied" });
    await harness.target("a", { gpu: { powerCap: { capWattsPerGpu: 300, capPctOfMax: 60 } } });
    await harness.advance(1);
    expect(harness.machine.gpu.limits.get("GPU-0")).toBe(300);
    await harness.target("a", {});
    await harness.advance(3);
    expect(Object.fromEntries(harness.machine.gpu.limits)).toEqual({ "GPU-0": 700, "GPU-1": 700, "GPU-small": 72 });
    expect((await harness.controlStatus())?.gpu).toMatchObject({ result: "none" });
    expect(harness.disk.boards).toEqual([]);
  });

  it("AGT-44 reports the GPU result in the TelemetryProfile: applied, blocked, error or none", async () => {
    withGpus(1);
    const host = { type: "host" };
    await harness.route("own", { target: { scope: "node", nodeName: "a" }, controls: { gpu: host, cpu: host } });
    const capped = { gpu: { powerCap: { capWattsPerGpu: 300 } } };
    harness.start();
    const seen: unknown[] = [];
    const steps: readonly (() => Promise<void>)[] = [
      async () => harness.target("a", capped),
      async () => {
        harness.machine.gpu.absent = "libnvidia-ml.so.1 is not installed";
      },
      async () => {
        harness.machine.gpu.absent = undefined;
        harness.machine.gpu.refusal = { result: "error", message: "EIO" };
        await harness.target("a", { gpu: { powerCap: { capWattsPerGpu: 250 } } });
      },
      async () => {
        harness.machine.gpu.refusal = undefined;
        await harness.removeTarget("a");
        await harness.target("a", eco);
      },
    ];
    for (const step of steps) {
      await step();
      await harness.advance(25);
      const { cpu, gpu } = (await harness.profile("own")).status?.control ?? {};
      seen.push([gpu?.result, gpu?.backend, cpu?.result]);
    }
    expect(seen).toEqual([
      ["applied", "nvml", "none"],
      ["blocked", "none", "none"],
      ["error", "nvml", "none"],
      ["none", "nvml", "applied"],
    ]);
  });

  it("AGT-47 AGT-48 X-65 reports blocked with what is missing if GPUs cannot be capped, and caps the CPUs", async () => {
    await harness.target("a", { ...eco, gpu: { powerCap: { capPctOfMax: 60 } } });
    harness.start();
    await harness.advance(2);
    expect((await harness.controlStatus())?.gpu).toMatchObject({ backend: "none", result: "blocked" });
    expect((await harness.controlStatus())?.gpu?.message).toContain("libnvidia-ml.so.1 is not installed");
    expect((await harness.controlStatus())?.cpu).toMatchObject({ result: "applied" });
  });

  it("X-65 keeps capping, reading and publishing on a tainted and cordoned node", async () => {
    withGpus(1);
    const effects = ["NoSchedule", "NoExecute"];
    const keys = ["nvidia.com/gpu", "amd.com/gpu", "node.kubernetes.io/unschedulable", "example.com/reserved"];
    const taints = keys.flatMap((key) => effects.map((effect) => ({ key, value: "present", effect })));
    const keepPodsAway = async () =>
      harness.user.mergePatch(resources.nodes, { name: "a" }, { spec: { taints, unschedulable: true } });
    const agent = harness.start();
    await harness.target("a", { ...eco, gpu: { powerCap: { capPctOfMax: 60 } } });
    await harness.advance(2);
    // Taints before the agent starts and while it runs.
    await keepPodsAway();
    expect(await harness.find(resources.nodes, "a")).toMatchObject({ spec: { taints } });
    for (const restart of [false, true]) {
      if (restart) {
        await agent.stop();
        harness.start();
      }
      await harness.target("a", { cpu: eco.cpu, gpu: { powerCap: { capPctOfMax: restart ? 80 : 70 } } });
      await harness.advance(22);
      expect(await harness.controlStatus()).toMatchObject({ cpu: { result: "applied" }, gpu: { result: "applied" } });
      expect(harness.machine.gpu.limits.get("GPU-0")).toBe(restart ? 560 : 490);
    }
    expect(await harness.find(resources.nodeHardwares, "a")).toBeDefined();
  });

  it("reports a lost GPU as an error and caps the others", async () => {
    withGpus(2);
    harness.machine.gpu.change("GPU-0", { lost: "fell off the bus" });
    harness.machine.gpu.draws.set("GPU-0", undefined);
    await harness.target("a", { gpu: { powerCap: { capPctOfMax: 60 } } });
    harness.start();
    await harness.advance(2);
    expect(harness.machine.gpu.writes).toEqual(["cap GPU-1 420"]);
    const status = (await harness.controlStatus())?.gpu;
    expect(status).toMatchObject({ result: "error" });
    expect(status?.message).toContain("GPU GPU-0 error: fell off the bus");
    // The power of half of the boards is no reading of all of them.
    expect(status?.observedPowerWatts).toBeUndefined();
  });

  it("keeps the original when the driver of a capped GPU changes", async () => {
    withGpus(1);
    await harness.target("a", { gpu: { powerCap: { capPctOfMax: 60 } } });
    harness.start();
    await harness.advance(2);
    Object.assign(harness.machine.gpu, { name: "nvml+amdgpu" });
    await harness.advance(20);
    await harness.target("a", {});
    await harness.advance(1);
    expect(harness.machine.gpu.writes).toEqual(["cap GPU-0 420", "restore GPU-0 700"]);
  });

  it("publishes no GPU status on a node without GPUs", async () => {
    await harness.target("a", eco);
    harness.start();
    await harness.advance(2);
    expect((await harness.controlStatus())?.gpu).toBeUndefined();
  });
});

describe("a newer target that arrives during a tick", () => {
  const gpuEco = { gpu: { powerCap: { scope: "perGpu", capPctOfMax: 60 } } };
  it.each([
    ["package", "cap package-0 210", eco, () => undefined],
    ["GPU", "cap GPU-0 420", gpuEco, () => withGpus(1)],
    [
      "throttled CPU",
      "throttle 40",
      eco,
      () => {
        harness.machine.rapl.absent = "no powercap";
        harness.machine.energy.sample = () => ({ zones: [] });
      },
    ],
  ])("X-122 is followed before the limit of a %s is lowered", async (_, write, target, prepare) => {
    prepare();
    const { disk, machine } = harness;
    const [save, held] = [disk.write.bind(disk), Promise.withResolvers<void>()];
    let isSaving = false;
    disk.write = async (name, text) => {
      isSaving = true;
      await held.promise;
      await save(name, text);
    };
    await harness.target("a", target);
    harness.start();
    await harness.until(() => isSaving);
    await harness.target("a", { profile: "performance" });
    await harness.advance(1);
    held.resolve();
    await harness.until(async () => (await harness.controlStatus())?.observedGeneration === 2);
    expect(machine.writes).toEqual([]);
    await harness.until(() => disk.boards.length === 0);
    // Without a newer target the same limit is lowered.
    await harness.target("a", target);
    await harness.until(() => machine.writes.includes(write));
  });
});

describe("the receipt", () => {
  const generation = async () => (await harness.controlStatus())?.observedGeneration;

  it("X-120 is the generation of the target that was carried out, after its limits were set", async () => {
    await harness.target("a", eco);
    harness.start();
    await harness.until(async () => (await generation()) === 1);
    await harness.target("a", performance);
    await harness.until(async () => (await generation()) === 2);
    expect(harness.machine.rapl.limits.get("package-0")).toBe(350);
  });

  it("X-120 begins with 0, before the first limit is set: from then on the operator waits for the agent", async () => {
    const { rapl } = harness.machine;
    const cap = rapl.cap.bind(rapl);
    const seen: unknown[] = [];
    rapl.cap = async (...args) => {
      seen.push(await generation());
      return cap(...args);
    };
    await harness.target("a", eco);
    harness.start();
    await harness.until(async () => (await generation()) === 1);
    expect(seen[0]).toBe(0);
  });

  it("X-120 lowers no limit while that first report cannot be written", async () => {
    harness.api.faults.add({ fault: { kind: "refused" }, when: ({ path }) => path.includes("/status") });
    await harness.target("a", eco);
    harness.start();
    await harness.advance(120);
    expect(harness.machine.rapl.limits.get("package-0")).toBe(350);
    harness.api.faults.clear();
    await harness.until(async () => (await generation()) === 1);
    expect(harness.machine.rapl.limits.get("package-0")).toBe(210);
  });

  it("X-120 waits for a GPU driver that is still lowering a limit", async () => {
    withGpus(1);
    const { gpu } = harness.machine;
    const held = Promise.withResolvers<void>();
    const restore = gpu.restore.bind(gpu);
    gpu.restore = async (id, original) => {
      await held.promise;
      return restore(id, original);
    };
    await harness.target("a", { gpu: { powerCap: { scope: "perGpu", capPctOfMax: 60 } } });
    harness.start();
    await harness.until(async () => (await generation()) === 1);
    await harness.target("a", { profile: "performance" });
    await harness.advance(120);
    expect(await generation()).toBe(1);
    held.resolve();
    await harness.until(async () => (await generation()) === 2);
    expect(gpu.limits.get("GPU-0")).toBe(700);
  });

  it.each([
    ["is removed by an agent that stops and restores the limits", "true", undefined],
    ["stays if the agent stops and leaves the limits in force", "false", 1],
  ])("X-120 %s", async (_, restore, left) => {
    await harness.target("a", eco);
    const agent = harness.start({ RESTORE_ON_EXIT: restore });
    await harness.until(async () => (await generation()) === 1);
    await agent.stop();
    expect(await generation()).toBe(left);
  });
});

describe("published status", () => {
  it("AGT-02 AGT-03 publishes NodeHardware on change, owned by the Node", async () => {
    const agent = harness.start();
    await harness.advance(3);
    const found = (await harness.find(resources.nodeHardwares, "a")) as unknown as {
      metadata: { ownerReferences: { name: string }[] };
      status: { cpu: { sockets: number } };
    };
    expect(found.status.cpu.sockets).toBe(2);
    expect(found.metadata.ownerReferences[0]?.name).toBe("a");
    agent.takeWrites();
    await harness.advance(300);
    expect(agent.takeWrites().filter(({ path }) => path.includes("nodehardwares"))).toEqual([]);
    // A backend that starts to work triggers a new discovery.
    const before = harness.machine.discoveries;
    harness.machine.hardware = { cpu: { sockets: 2, controlAvailable: false } };
    harness.machine.rapl.absent = "gone";
    await harness.target("a", eco);
    await harness.advance(45);
    expect(harness.machine.discoveries).toBeGreaterThan(before);
    expect(agent.takeWrites().filter(({ path }) => path.endsWith("nodehardwares/a/status"))).toHaveLength(1);
  });

  it("X-56 reads objects by name, and while idle writes only a heartbeat every 180 s", async () => {
    await harness.target("a", eco);
    const agent = harness.start();
    await harness.advance(100);
    agent.takeWrites();
    await harness.advance(1300);
    const writes = agent.takeWrites();
    expect(writes.length).toBeGreaterThanOrEqual(7);
    expect(writes.length).toBeLessThanOrEqual(8);
    expect(new Set(writes.map(({ path }) => path))).toEqual(new Set(["/apis/joulie.io/v1alpha1/nodetwins/a/status"]));
    const gaps = writes.slice(1).map(({ at }, index) => at - (writes[index]?.at ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(agentHeartbeat);
    const selected = agent.reads.filter((path) => path.includes("joulie.io") || path.includes("/nodes"));
    expect(selected.filter((path) => !/fieldSelector=|\/nodehardwares\/a$/.test(path))).toEqual([]);
  });

  it("X-10 publishes a power change of 1 % or 5 W at once, but not a smaller one", async () => {
    await harness.target("a", eco);
    const agent = harness.start();
    // After the node's slot, which would publish a smaller change as well.
    await harness.advance(122);
    expect((await harness.controlStatus())?.cpu?.observedPowerWatts).toBe(200);
    agent.takeWrites();
    harness.machine.draw(201);
    await harness.advance(40);
    expect(agent.takeWrites()).toEqual([]);
    harness.machine.draw(204);
    await harness.advance(40);
    expect((await harness.controlStatus())?.cpu?.observedPowerWatts).toBeGreaterThan(203);
  });

  it("X-63 writes only its own fields and keeps the operator's", async () => {
    await harness.target("a", eco);
    const status = { schedulableClass: "eco", predictedPowerHeadroomScore: 40 };
    await harness.operator.apply(
      resources.nodeTwins,
      { name: "a" },
      { status },
      { subresource: "status", force: true },
    );
    harness.start();
    await harness.advance(3);
    expect((await harness.twin()).status).toMatchObject({ ...status, controlStatus: { cpu: { result: "applied" } } });
    await harness.operator.apply(
      resources.nodeTwins,
      { name: "a" },
      { status },
      { subresource: "status", force: true },
    );
    expect((await harness.controlStatus())?.cpu?.result).toBe("applied");
  });

  it("AGT-07 serves Prometheus metrics, health and /debug/node", async () => {
    await harness.target("a", eco);
    const agent = harness.start();
    await harness.advance(45);
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
