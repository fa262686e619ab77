// The whole agent with the real backends on the files of a host.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { crdOf, type NodeHardware, telemetryProfileKind } from "../../../core/api/index.ts";
import {
  amdPstate,
  epyc,
  epycCpuinfo,
  hsmpTree,
  intelPstate,
  joinTrees,
  refuseWrites,
  sapphireRapids,
  xeonCpuinfo,
  zonePath,
} from "../../../platform/hardware/testing/index.ts";
import { resources } from "../../../platform/kube/index.ts";
import { AgentTestHarness } from "../testing/agent-test-harness.ts";
import { FixtureHost } from "../testing/fixture-host.ts";

let harness: AgentTestHarness;
let host: FixtureHost;
beforeEach(async () => {
  harness = new AgentTestHarness();
  await harness.createNode("a");
  host = new FixtureHost(harness.clock, joinTrees(sapphireRapids, intelPstate), xeonCpuinfo);
  harness.fixture = host;
});
afterEach(async () => {
  await harness.close();
});

const LIMITS = /constraint_0_power_limit_uw$/;
const FREQUENCIES = /scaling_(max|min)_freq$/;
const limitOf = (zone: string): string => `${zonePath(zone)}/constraint_0_power_limit_uw`;
const share = (pct: number) => ({ cpu: { packagePowerCapPctOfMax: pct } });
const published = async () => ((await harness.find(resources.nodeHardwares, "a")) as unknown as NodeHardware).status;

describe("control that is unavailable", () => {
  it("X-70 AGT-12 reports a read-only /sys as blocked with the mount, publishes it, and caps once it is writable", async () => {
    const ends = [refuseWrites(host.sys, LIMITS, "EROFS"), refuseWrites(host.sys, FREQUENCIES, "EROFS")];
    await harness.target("a", share(60));
    harness.start();
    await harness.advance(45);
    const status = (await harness.controlStatus())?.cpu;
    expect(status).toMatchObject({ backend: "none", result: "blocked" });
    expect(status?.message).toMatch(
      /package-0: \/host-sys is mounted read-only.*cpufreq policy0: \/host-sys is mounted/,
    );
    expect((await published())?.capabilities?.cpuControl).toBe(false);
    expect((await published())?.cpu?.controlAvailable).toBe(false);
    expect(host.sys.writes).toEqual([]);
    expect(harness.disk.boards).toEqual([]);
    for (const end of ends) end();
    await harness.advance(45);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ backend: "rapl", result: "applied" });
    expect((await published())?.capabilities?.cpuControl).toBe(true);
    expect(host.limits).toEqual([210, 210]);
  });

  it("X-70 reports blocked at the next tick when /sys becomes read-only while a cap is in force", async () => {
    await harness.target("a", share(60));
    harness.start();
    await harness.advance(5);
    refuseWrites(host.sys, LIMITS, "EROFS");
    refuseWrites(host.sys, FREQUENCIES, "EROFS");
    await harness.target("a", share(80));
    await harness.advance(25);
    expect((await harness.controlStatus())?.cpu?.result).toBe("blocked");
    expect(host.limits).toEqual([210, 210]);
  });

  it("AGT-02 finds a firmware lock before the first cap by writing limits back, and falls back to DVFS", async () => {
    host = new FixtureHost(harness.clock, joinTrees(sapphireRapids, intelPstate), xeonCpuinfo, { locked: true });
    harness.fixture = host;
    harness.start();
    await harness.advance(5);
    expect((await published())?.cpu).toMatchObject({ driverFamily: "intel_pstate", controlAvailable: true });
    expect((await published())?.cpu?.warnings?.join()).toMatch(/package-0: locked by firmware/);
    expect(host.sys.writes.map(({ text }) => text)).toEqual(["350000000", "350000000"]);
  });

  it("proves control at discovery, not at every tick, and changes nothing", async () => {
    const before = host.sys.snapshot();
    harness.start();
    await harness.advance(45);
    const proofs = host.sys.writes.length;
    expect(new Set(host.sys.writes.map(({ path }) => path))).toEqual(
      new Set([limitOf("intel-rapl:0"), limitOf("intel-rapl:2")]),
    );
    await harness.advance(300);
    expect(host.sys.writes).toHaveLength(proofs);
    expect(host.sys.snapshot()).toEqual(before);
    expect(harness.disk.files.size).toBe(0);
  });

  const overHttp = {
    TELEMETRY_CPU_CONTROL: "http",
    TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT: "http://127.0.0.1:9/control",
  };
  it.each([{ SIMULATE_ONLY: "true" }, { TELEMETRY_CPU_CONTROL: "none" }, overHttp])(
    "X-42 writes nothing with %j",
    async (env) => {
      await harness.target("a", share(60));
      harness.start(env);
      await harness.advance(45);
      expect(host.sys.writes).toEqual([]);
    },
  );

  it("writes nothing before the TelemetryProfiles are read, because one may route control elsewhere", async () => {
    const crds = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };
    const definitions = { ...crds, kind: "CustomResourceDefinition", namespaced: false };
    await harness.user.delete(definitions, { name: "telemetryprofiles.joulie.io" });
    harness.start();
    await harness.advance(45);
    expect(host.sys.writes).toEqual([]);
    await harness.user.create(definitions, { ...crdOf(telemetryProfileKind) });
    await harness.advance(90);
    expect(host.sys.writes.map(({ path }) => path)).toContain(limitOf("intel-rapl:0"));
  });

  it("writes nothing on a node that is not managed", async () => {
    await harness.label("a", { "joulie.io/managed": null });
    harness.start();
    await harness.advance(45);
    expect(host.sys.writes).toEqual([]);
  });
});

describe("drivers that load later", () => {
  /** The files of an MI300X. */
  const card = {
    files: {
      "devices/pci0000:00/0000:01:00.0/hwmon/hwmon5/name": "amdgpu",
      "devices/pci0000:00/0000:01:00.0/hwmon/hwmon5/power1_cap": "750000000",
      "devices/pci0000:00/0000:01:00.0/hwmon/hwmon5/power1_cap_max": "750000000",
      "devices/pci0000:00/0000:01:00.0/hwmon/hwmon5/power1_input": "191000000",
      "devices/pci0000:00/0000:01:00.0/unique_id": "5c88007d49b8e9e0",
      "devices/pci0000:00/0000:01:00.0/device": "0x74a1",
    },
    links: {
      "class/drm/card0": "../../devices/pci0000:00/0000:01:00.0/drm/card0",
      "devices/pci0000:00/0000:01:00.0/drm/card0/device": "../../../0000:01:00.0",
    },
  };
  const cap = "devices/pci0000:00/0000:01:00.0/hwmon/hwmon5/power1_cap";

  it("AGT-02 AGT-03 finds, uses and publishes GPU and RAPL drivers that load after the agent has started", async () => {
    const bare = new FixtureHost(harness.clock, intelPstate, xeonCpuinfo);
    harness.fixture = bare;
    await harness.target("a", { ...share(60), gpu: { powerCap: { capWattsPerGpu: 500 } } });
    harness.start();
    await harness.advance(45);
    expect((await published())?.gpu).toMatchObject({ present: false, controlAvailable: false });
    expect((await published())?.cpu).toMatchObject({ driverFamily: "intel_pstate", telemetryAvailable: false });
    for (const tree of [card, sapphireRapids]) {
      for (const [path, target] of Object.entries(tree.links ?? {})) bare.sys.link(path, target);
      for (const [path, text] of Object.entries(tree.files)) bare.sys.set(path, text);
    }
    await harness.advance(60);
    expect(bare.sys.get(cap)).toBe("500000000");
    expect(bare.limits).toEqual([210, 210]);
    expect((await harness.controlStatus())?.gpu).toMatchObject({ backend: "amdgpu", result: "applied" });
    expect((await published())?.gpu).toMatchObject({ present: true, count: 1, controlAvailable: true });
    expect((await published())?.cpu).toMatchObject({ driverFamily: "intel_rapl", telemetryAvailable: true });
    expect((await published())?.capabilities).toEqual({
      cpuControl: true,
      gpuControl: true,
      cpuTelemetry: true,
      gpuTelemetry: true,
    });
  });
});

describe("packages that differ", () => {
  beforeEach(() => host.sys.set(limitOf("intel-rapl:2"), "100000000"));

  it.each([
    [{ cpu: { packagePowerCapWatts: 5000 } }, [350, 100]],
    [share(60), [210, 100]],
    [{ cpu: { packagePowerCapWatts: 90 } }, [90, 90]],
  ])("X-36 %j is clamped to each package's own original limit", async (target, limits) => {
    await harness.target("a", target);
    const agent = harness.start();
    await harness.advance(5);
    expect(host.limits).toEqual(limits);
    expect((await harness.controlStatus())?.cpu?.result).toBe("applied");
    await agent.stop();
    expect(host.limits).toEqual([350, 100]);
  });

  it("X-36 reports the cap of each package with its reason", async () => {
    await harness.target("a", share(60));
    const agent = harness.start();
    await harness.advance(25);
    expect((await harness.controlStatus())?.cpu?.message).toContain(
      "package-0 210 W, package-1 100 W; package-1: 60 % (210 W) requested, clamped to 100 W: the original limit",
    );
    expect(await agent.series("joulie_policy_cap_watts")).toEqual([expect.stringMatching(/ 155$/)]);
    // The caps read back as expected, so they are not written again.
    const writes = host.sys.writes.length;
    await harness.advance(60);
    expect(host.sys.writes).toHaveLength(writes);
  });

  it("X-35 regulates DVFS towards the sum of the caps of all packages", async () => {
    await harness.target("a", share(60));
    harness.start({ TELEMETRY_CPU_CONTROL_MODE: "dvfs" });
    await harness.advance(45);
    expect((await harness.controlStatus())?.cpu?.message).toContain("DVFS aims at 310 W");
  });
});

describe("a target that is far too low", () => {
  it("X-88 clamps 0.5 % (a typo for 50 %) to 25 % of the maximum, and the message has both values", async () => {
    await harness.target("a", share(0.5));
    harness.start();
    await harness.advance(5);
    expect(host.limits).toEqual([87.5, 87.5]);
    expect((await harness.controlStatus())?.cpu?.message).toContain(
      "87.5 W per package; 0.5 % (1.75 W) requested, clamped to 87.5 W: 25 % of its maximum",
    );
    // The quarter is a guard, and no minimum of the device.
    expect((await published())?.cpu?.capRange).toEqual({ type: "package", maxWattsPerSocket: 350 });
  });

  it("X-88 clamps to 25 % of the original limit if the maximum is unknown", async () => {
    const unknown = xeonCpuinfo.replaceAll("Intel(R) Xeon(R) Platinum 8480+", "Mystery CPU");
    host = new FixtureHost(harness.clock, joinTrees(sapphireRapids, intelPstate), unknown);
    for (const zone of ["intel-rapl:0", "intel-rapl:2"])
      host.sys.set(`${zonePath(zone)}/constraint_0_max_power_uw`, "0");
    harness.fixture = host;
    await harness.target("a", { cpu: { packagePowerCapWatts: 2 } });
    harness.start();
    await harness.advance(5);
    expect(host.limits).toEqual([87.5, 87.5]);
    expect((await harness.controlStatus())?.cpu?.message).toContain(
      "2 W requested, clamped to 87.5 W: 25 % of its original limit",
    );
  });

  it.each([
    [60, 240, "240 W per package"],
    [0.5, 100, "0.5 % (2 W) requested, clamped to 100 W: 25 % of its maximum"],
  ])("X-88 sets %d % of an EPYC 9654 to %d W, whatever its BIOS can configure", async (asked, set, message) => {
    host = new FixtureHost(harness.clock, joinTrees(epyc, amdPstate, hsmpTree()), epycCpuinfo);
    harness.fixture = host;
    await harness.target("a", share(asked));
    harness.start();
    await harness.advance(5);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ backend: "hsmp", result: "applied" });
    expect((await harness.controlStatus())?.cpu?.message).toContain(message);
    const limits = host.sys.find(/power1_cap$/).map((path) => host.sys.get(path));
    expect(limits).toEqual([`${set}000000`, `${set}000000`]);
    expect((await published())?.cpu?.capRange).toEqual({ type: "package", maxWattsPerSocket: 400 });
  });
});

describe("power readings", () => {
  const total = async (agent: ReturnType<AgentTestHarness["start"]>) =>
    (await agent.series("joulie_rapl_package_total_power_watts"))[0]?.split(" ")[1];

  it("X-53 reads 210 W on a CPU rated for 95 W whose firmware reports a limit of 4090 W", async () => {
    for (const zone of ["intel-rapl:0", "intel-rapl:2"]) {
      host.sys.set(limitOf(zone), "4090000000");
      host.sys.set(`${zonePath(zone)}/constraint_0_max_power_uw`, "95000000");
      host.sys.set(`${zonePath(zone)}/constraint_1_max_power_uw`, "0");
    }
    host.draw = 210;
    const agent = harness.start();
    await harness.advance(45);
    expect(Number(await total(agent))).toBeCloseTo(420, 3);
  });

  it("removes a socket that goes offline from the sum, the target and the boards at once", async () => {
    await harness.target("a", share(60));
    const agent = harness.start({ TELEMETRY_CPU_CONTROL_MODE: "dvfs" });
    await harness.advance(45);
    expect(Number(await total(agent))).toBeCloseTo(200, 3);
    host.sys.remove(zonePath("intel-rapl:2"));
    host.sys.set("devices/system/cpu/online", "0-1");
    await harness.advance(20);
    expect(Number(await total(agent))).toBeCloseTo(100, 3);
    expect(await agent.series("joulie_rapl_energy_uj")).toHaveLength(1);
    const status = (await harness.controlStatus())?.cpu;
    expect(status?.result).toBe("applied");
    expect(status?.message).toContain("DVFS aims at 210 W");
  });

  it("X-35 does the same on a machine that can only be throttled", async () => {
    host = new FixtureHost(harness.clock, joinTrees(epyc, amdPstate), epycCpuinfo);
    harness.fixture = host;
    await harness.target("a", { cpu: { packagePowerCapWatts: 330 } });
    harness.start();
    await harness.advance(45);
    expect((await harness.controlStatus())?.cpu?.message).toContain("DVFS aims at 660 W");
    host.sys.remove(zonePath("intel-rapl:1"));
    await harness.advance(20);
    expect((await harness.controlStatus())?.cpu?.message).toContain("DVFS aims at 330 W");
  });

  it("X-91 reports no error for a capped socket that goes offline, and restores nothing there at the end", async () => {
    await harness.target("a", share(60));
    const agent = harness.start();
    await harness.advance(5);
    host.sys.remove(zonePath("intel-rapl:2"));
    host.sys.set("devices/system/cpu/online", "0-1");
    await harness.advance(20);
    expect((await harness.controlStatus())?.cpu).toMatchObject({
      result: "applied",
      message: expect.stringMatching(/^210 W per/),
    });
    await agent.stop();
    expect(host.limits).toEqual([350]);
    expect(harness.disk.boards).toEqual([]);
    expect(agent.logs.filter(({ level }) => level === "error")).toEqual([]);
  });
});
