import { describe, expect, it } from "vitest";
import { powerBetween, totalPower } from "../../../core/control/index.ts";
import { milliseconds, watts } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { HostDirectory } from "../host/host-directory.ts";
import type { EnergyMeter } from "../port.ts";
import { FakeHost, type HostTree } from "../testing/fake-host.ts";
import { emulateEnergy, refuseReads } from "../testing/fake-kernel.ts";
import {
  clientWithMmio,
  emptyPowercap,
  epyc,
  epycWithDieZones,
  lockedByBios,
  maskedPowercap,
  multiDie,
  noPowercap,
  powercapTree,
  sapphireRapids,
  zonePath,
} from "../testing/powercap-trees.ts";
import { scratchTree } from "../testing/scratch-tree.ts";
import { RaplBackend } from "./rapl-backend.ts";
import { RaplEnergy } from "./rapl-energy.ts";

function setup(tree: HostTree, ratedPower = watts(400)) {
  const host = new FakeHost(tree);
  const clock = new VirtualClock();
  return { host, clock, meter: new RaplEnergy({ files: host, clock, ratedPower: () => ratedPower }) };
}

const zonesOf = (meter: EnergyMeter): string[] => meter.sample().zones.map(({ zone }) => zone);

/** The power of all packages over 20 s in which each counter grows by this much. */
function measured(tree: HostTree, power: number): number | undefined {
  const { host, clock, meter } = setup(tree);
  emulateEnergy(host, clock, watts(power));
  const before = meter.sample().zones;
  clock.advance(milliseconds(20_000));
  const after = meter.sample().zones;
  return totalPower(
    after.map(({ sample, counter }, index) => {
      const previous = before[index]?.sample;
      return previous && powerBetween(previous, sample, counter).power;
    }),
  );
}

describe("RaplEnergy", () => {
  it.each([
    ["psys and dram are not packages", sapphireRapids, ["package-0", "package-1"]],
    ["the memory-mapped zone has the same counter", clientWithMmio, ["package-0"]],
    ["AMD counts its sockets; core is one core only", epyc, ["package-0", "package-1"]],
    ["eight zones of one EPYC socket are one counter", epycWithDieZones, ["package-0", "package-1"]],
    ["dies with limits of their own have counters of their own", multiDie, ["package-0-die-0", "package-0-die-1"]],
    ["a lock changes nothing", lockedByBios, ["package-0", "package-1"]],
  ])("X-48 reads each counter once: %s", (_, tree, zones) => {
    expect(zonesOf(setup(tree).meter)).toEqual(zones);
  });

  it("names the board of every counter, as RaplBackend does", async () => {
    for (const tree of [sapphireRapids, clientWithMmio, multiDie]) {
      const { host, clock, meter } = setup(tree);
      const { boards = [] } = await new RaplBackend({ files: host, clock }).discover();
      const metered = new Set(meter.sample().zones.map(({ board }) => board));
      expect([...metered]).toEqual(boards.map(({ id }) => id));
    }
    expect(setup(multiDie).meter.sample().zones).toMatchObject([{ board: "package-0" }, { board: "package-0" }]);
  });

  it("X-48 reads a zone with two paths once", () => {
    const { host, meter } = setup(sapphireRapids);
    host.link("class/powercap/intel-rapl:7", "intel-rapl:0");
    expect(zonesOf(meter)).toEqual(["package-0", "package-1"]);
  });

  it("AGT-22 X-48 gives the node's power on every tree", () => {
    expect(measured(sapphireRapids, 200)).toBeCloseTo(400, 3);
    expect(measured(clientWithMmio, 45)).toBeCloseTo(45, 3);
    expect(measured(epyc, 180)).toBeCloseTo(360, 3);
    expect(measured(epycWithDieZones, 180)).toBeCloseTo(360, 3);
    expect(measured(multiDie, 150)).toBeCloseTo(300, 3);
  });

  it("handles a counter wrap at the end of its range", () => {
    const zone = {
      dir: "intel-rapl:0",
      name: "package-0",
      enabled: 0,
      energy: 65_532_000_000,
      range: 65_532_610_987,
    } as const;
    expect(measured(powercapTree([zone]), 300)).toBeCloseTo(300, 3);
  });

  it("drops the reading after a counter reset and continues", () => {
    const { host, clock, meter } = setup(sapphireRapids);
    const first = meter.sample().zones[0];
    clock.advance(milliseconds(20_000));
    host.set(`${zonePath("intel-rapl:0")}/energy_uj`, "5");
    const second = meter.sample().zones[0];
    expect(first && second && powerBetween(first.sample, second.sample, second.counter)).toEqual({
      dropped: "counter reset",
    });
  });

  it("X-53 reads 210 W on a CPU rated for 95 W whose limit is 4090 W, and still drops a reset", () => {
    const zone = {
      dir: "intel-rapl:0",
      name: "package-0",
      enabled: 1,
      energy: 250_000_000_000,
      range: 262143328850,
    } as const;
    const constraints = [
      [4090000000, 27983872, 95000000],
      [4090000000, 2440, 0],
    ] as const;
    const unlimited = powercapTree([{ ...zone, constraints }]);
    expect(measured(unlimited, 210)).toBeCloseTo(210, 3);
    const { host, clock, meter } = setup(unlimited);
    const before = meter.sample().zones[0];
    host.set(`${zonePath("intel-rapl:0")}/energy_uj`, "0");
    clock.advance(milliseconds(20_000));
    const after = meter.sample().zones[0];
    expect(before && after && powerBetween(before.sample, after.sample, after.counter)).toEqual({
      dropped: "counter reset",
    });
  });

  it("reports the counter range and the rated power, from the catalogue if the part has none", () => {
    const [intel] = setup(sapphireRapids).meter.sample().zones;
    expect(intel?.counter).toEqual({ range: 262143.32885, ratedPower: 350, longTermLimit: 350, highestLimit: 764 });
    const [amd] = setup(epyc).meter.sample().zones;
    expect(amd?.counter).toEqual({ range: 65532.610987, ratedPower: 400 });
    const host = new FakeHost(epyc);
    const bare = new RaplEnergy({ files: host, clock: new VirtualClock() });
    expect(bare.sample().zones[0]?.counter).toEqual({ range: 65532.610987 });
  });

  it.each([
    ["an empty class", emptyPowercap, /virtual machine/],
    ["no class", noPowercap, /virtual machine/],
    ["links that lead nowhere", maskedPowercap, /HOST_SYS_ROOT/],
  ])("X-31 reports missing counters with a reason, never as 0 W: %s", (_, tree, expectedText) => {
    expect(setup(tree).meter.sample()).toEqual({ zones: [], missing: expect.stringMatching(expectedText) });
  });

  it("X-31 reports counters that only root may read as missing, with the remedy and no partial total", () => {
    const { host, meter } = setup(sapphireRapids);
    refuseReads(host, /intel-rapl:2\/energy_uj$/, "EACCES");
    expect(meter.sample()).toEqual({ zones: [], missing: expect.stringMatching(/package-1: .*root/) });
    host.set(`${zonePath("intel-rapl:0")}/energy_uj`, "<none>");
    expect(meter.sample().missing).toMatch(/package-0: energy_uj holds/);
  });

  it("reads changing real files through open descriptors", () => {
    const { root, remove } = scratchTree(sapphireRapids);
    const files = new HostDirectory(root);
    const meter = new RaplEnergy({ files, clock: new VirtualClock() });
    expect(meter.sample().zones.map(({ sample }) => sample.energy)).toEqual([171340.287145, 98812.345678]);
    files.close();
    remove();
  });
});
