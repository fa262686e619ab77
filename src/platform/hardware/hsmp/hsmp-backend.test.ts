import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Watts, watts } from "../../../core/units/index.ts";
import { HostDirectory } from "../host/host-directory.ts";
import { FakeHost, type HostTree } from "../testing/fake-host.ts";
import { emulateHsmp, ignoreWrites, refuseReads, refuseWrites } from "../testing/fake-kernel.ts";
import { hastyClock } from "../testing/hasty-clock.ts";
import { hsmpTree } from "../testing/hsmp-trees.ts";
import { type PowerCapFixture, powerCapCases } from "../testing/power-cap-contract.ts";
import { epyc } from "../testing/powercap-trees.ts";
import { scratchTree } from "../testing/scratch-tree.ts";
import { HsmpBackend } from "./hsmp-backend.ts";

interface Wiring {
  readonly hwmons: readonly number[];
  readonly acpi: boolean;
}

const WIRINGS: Readonly<Record<string, Wiring>> = {
  "a device for each socket": { hwmons: [3, 4], acpi: true },
  "sensors in another order": { hwmons: [9, 2], acpi: true },
  "one device for all sockets": { hwmons: [9, 10], acpi: false },
};

/** The folder of `package-N`. */
function folderOf(id: string, { hwmons, acpi }: Wiring): string {
  const socket = Number(id.at(-1));
  return `devices/platform/${acpi ? `AMDI0097:0${socket}` : "amd_hsmp"}/hwmon/hwmon${hwmons[socket]}`;
}

const ACPI: Wiring = { hwmons: [3, 4], acpi: true };
const capPattern = (id: string, wiring = ACPI): RegExp => new RegExp(`^${folderOf(id, wiring)}/power1_cap$`);

function setup(tree = hsmpTree(), maxPower?: () => Watts | undefined) {
  const host = new FakeHost(tree);
  emulateHsmp(host);
  const backend = new HsmpBackend({ files: host, clock: hastyClock(), ...(maxPower ? { maxPower } : {}) });
  return { host, backend };
}

const common = {
  boards: ["package-0", "package-1"],
  within: watts(240.5),
  beyond: [watts(401), watts(5000)],
};

function fakeFixture(wiring: Wiring): PowerCapFixture {
  const { host, backend } = setup(hsmpTree(wiring));
  return {
    ...common,
    backend,
    truth: (id) => watts(Number(host.get(`${folderOf(id, wiring)}/power1_cap`)) / 1e6),
    state: () => host.snapshot(),
    writes: () => host.writes.length,
    lose: (id) => host.remove(folderOf(id, wiring)),
    forbid: (id) => refuseWrites(host, capPattern(id, wiring), "EACCES"),
    spoil: (id) => refuseWrites(host, capPattern(id, wiring), "ETIMEDOUT"),
    ignore: (id) => ignoreWrites(host, capPattern(id, wiring)),
    vanish: () => host.remove("devices/platform"),
  };
}

function diskFixture(): PowerCapFixture {
  const tree = hsmpTree();
  const { root, remove } = scratchTree(tree);
  let writes = 0;
  class Counted extends HostDirectory {
    override write(path: string, text: string): void {
      writes += 1;
      super.write(path, text);
    }
  }
  const files = new Counted(root);
  const none = (): void => {};
  return {
    ...common,
    backend: new HsmpBackend({ files, clock: hastyClock() }),
    truth: (id) => watts(Number(files.read(`${folderOf(id, ACPI)}/power1_cap`)) / 1e6),
    state: () => Object.keys(tree.files).map((path) => files.read(path)),
    writes: () => writes,
    lose: (id) => rmSync(join(root, folderOf(id, ACPI)), { recursive: true }),
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

describe.each(Object.entries(WIRINGS))("HSMP fulfils the power-cap contract on a fake kernel: %s", (_, wiring) => {
  it.each(powerCapCases(() => fakeFixture(wiring)))("%s", async (__, check) =>
    expect(check()).resolves.toBeUndefined(),
  );
});

describe("HSMP fulfils the power-cap contract on real files", () => {
  it.each(powerCapCases(diskFixture, ["forbid", "spoil", "ignore"]))("%s", async (_, check) =>
    expect(check()).resolves.toBeUndefined(),
  );
});

describe("HSMP", () => {
  it("keeps a socket's id after its hwmon number changed", async () => {
    for (const hwmons of [
      [3, 4],
      [9, 2],
    ]) {
      const { host, backend } = setup(hsmpTree({ hwmons }));
      expect((await backend.discover()).boards?.map(({ id }) => id)).toEqual(["package-0", "package-1"]);
      await backend.cap("package-1", watts(200));
      expect(host.writes).toEqual([
        { path: `devices/platform/AMDI0097:01/hwmon/hwmon${hwmons[1]}/power1_cap`, text: "200000000" },
      ]);
    }
  });

  it("orders the sockets of the older driver by their sensors", async () => {
    const { host, backend } = setup(hsmpTree({ hwmons: [9, 10], acpi: false }));
    expect((await backend.discover()).boards?.map(({ id }) => id)).toEqual(["package-0", "package-1"]);
    await backend.cap("package-0", watts(200));
    expect(host.writes[0]?.path).toBe("devices/platform/amd_hsmp/hwmon/hwmon9/power1_cap");
  });

  it.each([
    { numbers: "all new", after: [11, 12] },
    { numbers: "moved up by one", after: [10, 11] },
    { numbers: "lower", after: [3, 9] },
  ])("keeps socket ids after the older driver was reloaded: numbers $numbers", async ({ after }) => {
    const before = { hwmons: [9, 10], acpi: false };
    const { host, backend } = setup(hsmpTree(before));
    await backend.discover();
    await backend.cap("package-1", watts(200));
    const place = (tree: HostTree): void => {
      for (const [path, target] of Object.entries(tree.links ?? {})) host.link(path, target);
      for (const [path, text] of Object.entries(tree.files)) host.set(path, text);
    };
    for (const hwmon of before.hwmons) host.remove(`class/hwmon/hwmon${hwmon}`);
    host.remove("devices/platform/amd_hsmp");
    expect((await backend.discover()).absent).toBeDefined();
    const wiring = { hwmons: after, acpi: false };
    // Sensors appear one by one; the firmware has kept the cap.
    place(hsmpTree({ hwmons: after.slice(0, 1), acpi: false }));
    expect((await backend.discover()).boards).toMatchObject([
      { id: "package-0" },
      { id: "package-1", lost: expect.stringMatching(/HSMP files disappeared/) },
    ]);
    place(hsmpTree(wiring));
    host.set(`${folderOf("package-1", wiring)}/power1_cap`, "200000000");
    expect((await backend.discover()).boards?.map(({ id, lost }) => [id, lost])).toEqual([
      ["package-0", undefined],
      ["package-1", undefined],
    ]);
    expect(await backend.limit("package-0")).toEqual({ limit: 400 });
    expect(await backend.limit("package-1")).toEqual({ limit: 200 });
    expect(await backend.restore("package-1", "400000000")).toEqual({ result: "applied" });
    expect(host.get(`${folderOf("package-1", wiring)}/power1_cap`)).toBe("400000000");
  });

  it("limits an implausible firmware maximum to the catalogue's, with a warning", async () => {
    const { backend } = setup(hsmpTree({ capMax: 2_000_000_000 }), () => watts(400));
    const { boards } = await backend.discover();
    expect(boards?.[0]).toMatchObject({ device: { max: 400, step: 0.001 } });
    expect(boards?.[0]?.warnings?.join()).toMatch(/2000 W.*400 W/);
    expect((await backend.cap("package-0", watts(500))).result).toBe("error");
    expect((await setup().backend.discover()).boards?.[0]?.warnings).toEqual([]);
  });

  it("clamps an original to the firmware maximum, but not to the catalogue's", async () => {
    const lowered = setup(hsmpTree({ capMax: 320_000_000 }));
    emulateHsmp(lowered.host, (asked) => Math.min(asked, 320_000));
    await lowered.backend.cap("package-0", watts(200));
    expect(await lowered.backend.restore("package-0", "400000000")).toEqual({
      result: "applied",
      message: "400 W is out of range now: restored to 320 W",
    });
    const mere = setup(hsmpTree({ capMax: 2_000_000_000 }), () => watts(400));
    await mere.backend.cap("package-0", watts(200));
    expect(await mere.backend.restore("package-0", "2000000000")).toEqual({ result: "applied" });
    expect(mere.host.get(`${folderOf("package-0", ACPI)}/power1_cap`)).toBe("2000000000");
    mere.host.set(`${folderOf("package-0", ACPI)}/power1_cap_max`, "0");
    expect(await mere.backend.restore("package-0", "500000000")).toEqual({ result: "applied" });
  });

  it("reports both values if the firmware sets another limit", async () => {
    const { host, backend } = setup();
    emulateHsmp(host, (asked) => Math.max(asked, 225_000));
    expect(await backend.cap("package-0", watts(120))).toEqual({
      result: "error",
      message: "package-0: wrote 120 W but the firmware set 225 W",
    });
  });

  it("loses only the socket whose mailbox times out", async () => {
    const { host, backend } = setup();
    refuseReads(host, capPattern("package-1"), "ETIMEDOUT");
    expect((await backend.discover()).boards?.map(({ lost }) => lost)).toEqual([undefined, "package-1: ETIMEDOUT"]);
  });

  it("says what to install if it is absent", async () => {
    const { backend } = setup(epyc);
    expect((await backend.discover()).absent).toMatch(/kernel 6\.16.*BIOS/);
  });
});
