import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { milliseconds, watts } from "../../../core/units/index.ts";
import { HostDirectory } from "../host/host-directory.ts";
import { FakeHost, type HostTree, joinTrees } from "../testing/fake-host.ts";
import { emulateRapl, ignoreWrites, refuseReads, refuseWrites } from "../testing/fake-kernel.ts";
import { hastyClock } from "../testing/hasty-clock.ts";
import { type PowerCapFixture, powerCapCases } from "../testing/power-cap-contract.ts";
import {
  clientWithMmio,
  emptyPowercap,
  epyc,
  epycWithDieZones,
  lockedByBios,
  maskedPowercap,
  multiDie,
  noPowercap,
  sapphireRapids,
  zonePath,
} from "../testing/powercap-trees.ts";
import { scratchTree } from "../testing/scratch-tree.ts";
import { RaplBackend } from "./rapl-backend.ts";

const FOLDERS: Readonly<Record<string, string>> = { "package-0": "intel-rapl:0", "package-1": "intel-rapl:2" };
const limitOf = (id: string): string => `${zonePath(FOLDERS[id] ?? "")}/constraint_0_power_limit_uw`;
const limitPattern = (id: string): RegExp => new RegExp(`^${limitOf(id)}$`);

function setup(tree: HostTree, kernel: { locked?: boolean } = {}) {
  const host = new FakeHost(tree);
  emulateRapl(host, kernel);
  const clock = hastyClock();
  return { host, clock, backend: new RaplBackend({ files: host, clock }) };
}

interface Machine {
  readonly tree: HostTree;
  /** The folders of each package, one per die. */
  readonly folders: Readonly<Record<string, readonly string[]>>;
  readonly within: number;
  readonly most: number;
}

const MACHINES: Readonly<Record<string, Machine>> = {
  "two Xeons": {
    tree: sapphireRapids,
    folders: { "package-0": ["intel-rapl:0"], "package-1": ["intel-rapl:2"] },
    within: 200.125,
    most: 350,
  },
  "a client with memory-mapped limits": {
    tree: clientWithMmio,
    folders: { "package-0": ["intel-rapl:0"] },
    within: 40,
    most: 55,
  },
  "a package of two dies": {
    tree: multiDie,
    folders: { "package-0": ["intel-rapl:0", "intel-rapl:1"] },
    within: 250,
    most: 400,
  },
};

function fakeFixture({ tree, folders, within, most }: Machine): PowerCapFixture {
  const { host, backend } = setup(tree);
  const zones = (id: string): string[] => (folders[id] ?? []).map(zonePath);
  const limits = (id: string): RegExp => new RegExp(`^(${zones(id).join("|")})/constraint_0_power_limit_uw$`);
  const inForce = (zone: string): number =>
    host.get(`${zone}/enabled`) === "1" ? Number(host.get(`${zone}/constraint_0_power_limit_uw`)) / 1e6 : 4095.875;
  return {
    backend,
    boards: Object.keys(folders),
    within: watts(within),
    beyond: [watts(most + 1), watts(4096), watts(5000)],
    truth: (id) => watts(zones(id).reduce((sum, zone) => sum + inForce(zone), 0)),
    state: () => host.snapshot(),
    writes: () => host.writes.length,
    lose: (id) => {
      for (const zone of zones(id)) host.remove(zone);
    },
    forbid: (id) => refuseWrites(host, limits(id), "ENODATA"),
    spoil: (id) => refuseWrites(host, limits(id), "EIO"),
    ignore: (id) => ignoreWrites(host, limits(id)),
    vanish: () => host.remove("devices/virtual/powercap"),
  };
}

describe.each(Object.entries(MACHINES))("RAPL fulfils the power-cap contract on a fake kernel: %s", (_, machine) => {
  const lacking = Object.keys(machine.folders).length > 1 ? [] : (["several"] as const);
  it.each(powerCapCases(() => fakeFixture(machine), lacking))("%s", async (__, check) =>
    expect(check()).resolves.toBeUndefined(),
  );
});

function diskFixture({ tree, folders, within, most }: Machine): PowerCapFixture {
  const { root, remove } = scratchTree(tree);
  let writes = 0;
  class Counted extends HostDirectory {
    override write(path: string, text: string): void {
      writes += 1;
      super.write(path, text);
    }
  }
  const files = new Counted(root);
  const zones = (id: string): string[] => (folders[id] ?? []).map(zonePath);
  const inForce = (zone: string): number =>
    files.read(`${zone}/enabled`) === "1" ? Number(files.read(`${zone}/constraint_0_power_limit_uw`)) / 1e6 : 4095.875;
  const none = () => {};
  return {
    backend: new RaplBackend({ files, clock: hastyClock() }),
    boards: Object.keys(folders),
    within: watts(within),
    beyond: [watts(most + 1), watts(4096), watts(5000)],
    truth: (id) => watts(zones(id).reduce((sum, zone) => sum + inForce(zone), 0)),
    state: () => Object.keys(tree.files).map((path) => files.read(path)),
    writes: () => writes,
    lose: (id) => {
      for (const zone of zones(id)) rmSync(join(root, zone), { recursive: true });
    },
    vanish: () => rmSync(join(root, "devices"), { recursive: true }),
    forbid: none,
    spoil: none,
    ignore: none,
    end: () => {
      files.close();
      remove();
    },
  };
}

describe.each(Object.entries(MACHINES))("RAPL fulfils the power-cap contract on real files: %s", (_, machine) => {
  // Tests run as root, so ordinary files reject no write.
  const several = Object.keys(machine.folders).length > 1 ? [] : (["several"] as const);
  it.each(powerCapCases(() => diskFixture(machine), ["forbid", "spoil", "ignore", ...several]))(
    "%s",
    async (__, check) => expect(check()).resolves.toBeUndefined(),
  );
});

describe("RAPL discovery", () => {
  it("X-36 AGT-16 selects zones by name and never writes psys, dram and core", async () => {
    for (const tree of [sapphireRapids, clientWithMmio]) {
      const { host, backend } = setup(tree);
      const ids = ((await backend.discover()).boards ?? []).map(({ id }) => id);
      for (const id of ids) await backend.cap(id, watts(tree === sapphireRapids ? 100 : 50));
      expect(host.writes.length).toBe(ids.length);
      for (const { path } of host.writes) {
        expect(host.get(path.replace(/constraint_0_.*/, "name"))).toMatch(/^package-\d+$/);
        expect(path).not.toContain("mmio");
      }
    }
    expect((await setup(sapphireRapids).backend.discover()).boards?.map(({ id }) => id)).toEqual([
      "package-0",
      "package-1",
    ]);
  });

  it("reports the cap range from the part's values", async () => {
    const { boards } = await setup(sapphireRapids).backend.discover();
    expect(boards?.[0]).toMatchObject({
      device: { min: undefined, max: 350, registerLimit: 4095.875, step: 0.125 },
      averagingWindow: 999.424,
    });
  });

  it("uses the catalogue if the part reports no rated power", async () => {
    const host = new FakeHost(sapphireRapids);
    host.set(`${zonePath("intel-rapl:0")}/constraint_0_max_power_uw`, "0");
    refuseReads(host, new RegExp(`^${zonePath("intel-rapl:2")}/constraint_0_max_power_uw$`), "ENODATA");
    const unaided = new RaplBackend({ files: host, clock: hastyClock() });
    expect((await unaided.discover()).boards?.map(({ device }) => device.max)).toEqual([undefined, undefined]);
    const aided = new RaplBackend({ files: host, clock: hastyClock(), ratedPower: () => watts(270) });
    expect((await aided.discover()).boards?.map(({ device }) => device.max)).toEqual([270, 270]);
  });

  it("finds the long-term limit by name at any index", async () => {
    const { host, backend } = setup(sapphireRapids);
    const zone = zonePath("intel-rapl:0");
    host.set(`${zone}/constraint_0_name`, "short_term");
    host.set(`${zone}/constraint_1_name`, "long_term");
    expect((await backend.cap("package-0", watts(300))).result).toBe("applied");
    expect(host.writes).toEqual([{ path: `${zone}/constraint_1_power_limit_uw`, text: "300000000" }]);
  });

  it.each([
    ["AMD has energy only", epyc, /HSMP/],
    ["AMD with a zone per die has energy only", epycWithDieZones, /HSMP/],
    ["an empty class", emptyPowercap, /intel_rapl_msr/],
    ["no class", noPowercap, /intel_rapl_msr/],
    ["links that lead nowhere", maskedPowercap, /HOST_SYS_ROOT/],
  ])("X-70 is absent and says what to do: %s", async (_, tree, expectedText) => {
    const { host, backend } = setup(tree);
    expect((await backend.discover()).absent).toMatch(expectedText);
    expect((await backend.cap("package-0", watts(100))).result).toBe("error");
    expect(host.writes).toEqual([]);
  });

  it("treats a package of two dies as one board and splits its cap", async () => {
    const { host, backend } = setup(multiDie);
    const before = host.snapshot();
    const { boards } = await backend.discover();
    expect(boards).toMatchObject([{ id: "package-0", device: { max: 400, step: 0.25, registerLimit: 8191.75 } }]);
    const { original = "" } = await backend.original("package-0");
    expect((await backend.cap("package-0", watts(300))).result).toBe("applied");
    expect(host.writes.map(({ text }) => text)).toEqual(["150000000", "150000000"]);
    expect(await backend.limit("package-0")).toEqual({ limit: 300 });
    expect((await backend.restore("package-0", original)).result).toBe("applied");
    expect(host.snapshot()).toEqual(before);
  });

  it("restores the other die if one fails", async () => {
    const { host, backend } = setup(multiDie);
    const { original = "" } = await backend.original("package-0");
    await backend.cap("package-0", watts(300));
    refuseWrites(host, /intel-rapl:0\/constraint_0/, "EIO");
    expect((await backend.restore("package-0", original)).result).toBe("error");
    expect(host.get(`${zonePath("intel-rapl:1")}/constraint_0_power_limit_uw`)).toBe("200000000");
  });
});

describe("RAPL's quirks", () => {
  it("reports a locked register as blocked after the first write and does not retry on every tick", async () => {
    const { host, clock, backend } = setup(sapphireRapids, { locked: true });
    expect((await backend.discover()).boards?.[0]?.locked).toBeUndefined();
    for (let tick = 0; tick < 40; tick += 1) {
      const { result, message } = await backend.cap("package-0", watts(200));
      expect(result).toBe("blocked");
      expect(message).toMatch(/locked by firmware.*BIOS.*ENODATA/);
      await clock.sleep(milliseconds(20_000));
    }
    expect(host.writes.length).toBe(1);
    expect((await backend.discover()).boards?.[0]?.locked).toMatch(/locked by firmware/);
    await clock.sleep(milliseconds(3_600_000));
    await backend.cap("package-0", watts(200));
    expect(host.writes.length).toBe(2);
  });

  it("retries a locked zone as soon as its values change", async () => {
    const { host, backend } = setup(sapphireRapids, { locked: true });
    expect((await backend.cap("package-0", watts(200))).result).toBe("blocked");
    emulateRapl(host);
    host.set(limitOf("package-0"), "349000000");
    expect((await backend.cap("package-0", watts(200))).result).toBe("applied");
  });

  it("reports a lower memory-mapped limit before and after a cap", async () => {
    const { backend } = setup(clientWithMmio);
    expect((await backend.discover()).boards?.[0]?.warnings?.join()).toMatch(/memory-mapped limit of 45 W is lower/);
    const { result, message } = await backend.cap("package-0", watts(50));
    expect(result).toBe("applied");
    expect(message).toMatch(/memory-mapped limit of 45 W is lower/);
    expect((await backend.cap("package-0", watts(40))).message).toBeUndefined();
  });

  it("reports both values if the firmware reverts the limit", async () => {
    const { host, backend } = setup(sapphireRapids);
    host.on(limitOf("package-0"), { write: () => "150000000" });
    const { result, message } = await backend.cap("package-0", watts(200));
    expect(result).toBe("error");
    expect(message).toMatch(/wrote 200 W but read back 150 W/);
  });

  it("reads a limit that another program changed later", async () => {
    const { host, backend } = setup(sapphireRapids);
    await backend.cap("package-0", watts(200));
    host.set(limitOf("package-0"), "350000000");
    expect(await backend.limit("package-0")).toEqual({ limit: 350 });
    host.set(limitOf("package-0"), "200000000");
    host.set(`${zonePath("intel-rapl:0")}/enabled`, "0");
    expect((await backend.limit("package-0")).limit).toBeGreaterThan(4000);
  });

  it("X-36 never writes watts that the register would truncate", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.double({ min: 0, max: 400 }), fc.double(), fc.integer({ min: 4000, max: 20_000 })),
        async (asked) => {
          const { host, backend } = setup(sapphireRapids);
          host.set(`${zonePath("intel-rapl:0")}/constraint_0_max_power_uw`, "0");
          const { result } = await backend.cap("package-0", watts(asked));
          const now = Number(host.get(limitOf("package-0"))) / 1e6;
          const stepped = 0 < now && now <= asked + 1e-6 && asked - now < 0.125;
          expect(result === "applied" ? stepped : now === 350, `${asked} W: ${result}, ${now} W`).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });

  it("X-91 does not enable a disabled limit, because the short-term limit's bit could not be restored", async () => {
    const host = new FakeHost(lockedByBios);
    const bits = emulateRapl(host);
    const backend = new RaplBackend({ files: host, clock: hastyClock() });
    const before = host.snapshot();
    expect((await backend.discover()).boards?.[0]?.locked).toMatch(/disabled.*BIOS/);
    const { original = "" } = await backend.original("package-0");
    const { result, message } = await backend.cap("package-0", watts(200));
    expect(result).toBe("blocked");
    expect(message).toMatch(/disabled.*BIOS/);
    await backend.proveWritable();
    await backend.restore("package-0", original);
    expect(host.snapshot()).toEqual(before);
    for (const zone of ["intel-rapl:0", "intel-rapl:2"])
      expect(bits.get(zonePath(zone))).toEqual({ clamp: true, shortTerm: true });
  });

  it("X-91 reports a capped limit that another program disabled, and restores only the limit value", async () => {
    const { host, backend } = setup(sapphireRapids);
    const { original = "" } = await backend.original("package-0");
    await backend.cap("package-0", watts(200));
    host.set(`${zonePath("intel-rapl:0")}/enabled`, "0");
    expect((await backend.cap("package-0", watts(200))).result).toBe("blocked");
    expect((await backend.restore("package-0", original)).result).toBe("applied");
    expect(host.writes.map(({ text }) => text)).toEqual(["200000000", "350000000"]);
  });

  it("changes nothing if one die rejects the write", async () => {
    const dies = setup(multiDie);
    const whole = dies.host.snapshot();
    refuseWrites(dies.host, /intel-rapl:1\/constraint_0/, "ENODATA");
    expect((await dies.backend.cap("package-0", watts(200))).result).toBe("blocked");
    expect(dies.host.snapshot()).toEqual(whole);
  });

  it("never writes `enabled`, which would clear the clamp", async () => {
    const { host, backend } = setup(sapphireRapids);
    const { original = "" } = await backend.original("package-0");
    await backend.cap("package-0", watts(200));
    await backend.restore("package-0", original);
    await backend.restore("package-0", original);
    expect(host.writes.map(({ text }) => text)).toEqual(["200000000", "350000000"]);
  });

  it("X-88 reports the minimum that the device exposes and never writes less, and reports none otherwise", async () => {
    const { host, backend } = setup(sapphireRapids);
    expect((await backend.discover()).boards?.[1]?.device.min).toBeUndefined();
    host.set(`${zonePath("intel-rapl:2")}/constraint_0_min_power_uw`, "60000000");
    expect((await backend.discover()).boards?.[1]?.device.min).toBe(60);
    expect(await backend.cap("package-1", watts(59))).toEqual({
      result: "error",
      message: "package-1: 59 W is not between 60 W and 350 W",
    });
    expect((await backend.cap("package-1", watts(60))).result).toBe("applied");
  });

  it("X-70 tests control by writing each limit back, so that a lock shows before the first cap", async () => {
    const locked = setup(sapphireRapids, { locked: true });
    const before = locked.host.snapshot();
    await locked.backend.proveWritable();
    expect(locked.host.snapshot()).toEqual(before);
    expect((await locked.backend.discover()).boards?.map((board) => board.locked)).toEqual([
      expect.stringMatching(/locked by firmware/),
      expect.stringMatching(/locked by firmware/),
    ]);
    await locked.backend.proveWritable();
    expect(locked.host.writes).toHaveLength(2);

    const open = setup(sapphireRapids);
    await open.backend.proveWritable();
    expect(open.host.writes.map(({ text }) => text)).toEqual(["350000000", "350000000"]);
    expect((await open.backend.discover()).boards?.map((board) => board.locked)).toEqual([undefined, undefined]);
  });

  it.each(["EROFS", "EACCES"])("X-70 reports %s during discovery without a write, until it is fixed", async (code) => {
    const { host, backend } = setup(sapphireRapids);
    const end = refuseWrites(host, /constraint_0_power_limit_uw$/, code);
    expect((await backend.discover()).boards?.[0]?.locked).toContain(code);
    await backend.proveWritable();
    expect(host.writes).toEqual([]);
    expect((await backend.cap("package-0", watts(200))).result).toBe("blocked");
    end();
    expect((await backend.discover()).boards?.[0]?.locked).toBeUndefined();
    expect((await backend.cap("package-0", watts(200))).result).toBe("applied");
  });

  it.each([
    ["EACCES", "blocked", /as root/],
    ["EROFS", "blocked", /is mounted read-only: mount the host's \/sys writable/],
    ["EIO", "error", /EIO/],
    ["EINVAL", "error", /EINVAL/],
  ])("X-70 reports %s as %s with an explanation", async (code, expected, expectedText) => {
    const { host, backend } = setup(sapphireRapids);
    refuseWrites(host, limitPattern("package-0"), code);
    const { result, message } = await backend.cap("package-0", watts(200));
    expect(result).toBe(expected);
    expect(message).toMatch(expectedText);
    const restored = await backend.restore("package-0", '{"package-0":{"limit":300000000,"enabled":true}}');
    expect(restored.result).toBe(expected);
    expect((await backend.cap("package-1", watts(200))).result).toBe("applied");
  });

  it("restores an original above the cap range", async () => {
    const { host, backend } = setup(clientWithMmio);
    const { original = "" } = await backend.original("package-0");
    await backend.cap("package-0", watts(50));
    expect((await backend.restore("package-0", original)).result).toBe("applied");
    expect(host.get(`${zonePath("intel-rapl:0")}/constraint_0_power_limit_uw`)).toBe("135000000");
  });

  it("reports a package that disappears as lost", async () => {
    const { host, backend } = setup(sapphireRapids);
    await backend.discover();
    host.remove(zonePath("intel-rapl:2"));
    expect((await backend.discover()).boards?.[1]).toMatchObject({
      id: "package-1",
      lost: expect.stringMatching(/offline/),
    });
    host.set(limitOf("package-0"), "<unknown>");
    expect((await backend.discover()).boards?.[0]?.lost).toMatch(/not a number/);
    expect((await backend.limit("package-0")).unreadable).toMatch(/not a number/);
  });

  it("drops a package without online CPUs, with nothing to restore", async () => {
    const cpus = Object.fromEntries(
      [0, 1].map((id) => [`devices/system/cpu/cpu${id}/topology/physical_package_id`, `${id}`]),
    );
    const tree = joinTrees(sapphireRapids, { files: { "devices/system/cpu/online": "0-1", ...cpus } });
    const { host, backend } = setup(tree);
    await backend.discover();
    const { original = "" } = await backend.original("package-1");
    host.remove(zonePath("intel-rapl:2"));
    expect((await backend.discover()).boards?.[1]?.lost).toMatch(/disappeared/);
    expect((await backend.restore("package-1", original)).result).toBe("error");
    host.set("devices/system/cpu/online", "0");
    expect((await backend.discover()).boards?.map(({ id }) => id)).toEqual(["package-0"]);
    expect(await backend.restore("package-1", original)).toEqual({ result: "applied" });
  });

  it("returns an error instead of rejecting when aborted", async () => {
    const { host, backend } = setup(sapphireRapids);
    ignoreWrites(host, limitPattern("package-0"));
    expect(await backend.cap("package-0", watts(200), AbortSignal.abort(new Error("time is up")))).toEqual({
      result: "error",
      message: "package-0: time is up",
    });
  });

  it("reads a replaced limit file on a real file system", async () => {
    const { root, remove } = scratchTree(sapphireRapids);
    const files = new HostDirectory(root);
    const backend = new RaplBackend({ files, clock: hastyClock() });
    expect(await backend.limit("package-0")).toEqual({ limit: 350 });
    writeFileSync(join(root, limitOf("package-0")), "120000000\n");
    expect(await backend.limit("package-0")).toEqual({ limit: 120 });
    files.close();
    remove();
  });
});
