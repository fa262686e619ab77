import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { HostFiles } from "../port.ts";
import { FakeHost, type HostTree } from "../testing/fake-host.ts";
import { sapphireRapids } from "../testing/powercap-trees.ts";
import { scratchTree } from "../testing/scratch-tree.ts";
import { HostDirectory } from "./host-directory.ts";
import { errorCode } from "./host-error.ts";
import { isWrittenFile, writtenFiles } from "./written-files.ts";

const ZONE = "class/powercap/intel-rapl:0";
const LIMIT = `${ZONE}/constraint_0_power_limit_uw`;

const tree: HostTree = {
  files: {
    ...sapphireRapids.files,
    "devices/virtual/empty": "",
    "devices/virtual/two-lines": "one\ntwo",
    "devices/virtual/hwmon/hwmon1/power1_cap": "750000000",
  },
  links: {
    ...sapphireRapids.links,
    "class/absolute": "/sys/devices/virtual/hwmon/hwmon1",
    "class/outside": "/etc",
    "class/above": "../../../etc",
    "class/round": "round",
    "class/dangling": "../devices/nowhere",
  },
  folders: ["class/nothing"],
};

const codeOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    return errorCode(error);
  }
  return "no error";
};

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

function onDisk(): HostDirectory {
  const { root, remove } = scratchTree(tree);
  const host = new HostDirectory(root, { knownAs: "/sys" });
  ends.push(() => host.close(), remove);
  return host;
}

const kinds: (readonly [string, () => HostFiles])[] = [
  ["real files", onDisk],
  ["the fake", () => new FakeHost(tree)],
];

describe.each(kinds)("host files: %s", (_, make) => {
  it("reads files, also through relative links, without the trailing newline", async () => {
    const host = make();
    expect(host.read(`${ZONE}/name`)).toBe("package-0");
    expect(host.read("devices/virtual/two-lines")).toBe("one\ntwo");
    expect(host.read("devices/virtual/empty")).toBe("");
    await expect(host.readLater(LIMIT)).resolves.toBe("350000000");
    expect(host.real(ZONE)).toBe("devices/virtual/powercap/intel-rapl/intel-rapl:0");
  });

  it("follows an absolute link into the root's own path", () => {
    const host = make();
    expect(host.read("class/absolute/power1_cap")).toBe("750000000");
    expect(host.real("class/absolute")).toBe("devices/virtual/hwmon/hwmon1");
    host.write("class/absolute/power1_cap", "500000000");
    expect(host.read("devices/virtual/hwmon/hwmon1/power1_cap")).toBe("500000000");
  });

  it("refuses to read, write or list outside the root", async () => {
    const host = make();
    for (const path of [
      "../etc/hostname",
      "/etc/hostname",
      "class/../../etc",
      "class/outside/hostname",
      "class/above/x",
    ]) {
      expect(codeOf(() => host.read(path))).toBe("ESCAPE");
      expect(codeOf(() => host.write(path, "1"))).toBe("ESCAPE");
      expect(codeOf(() => host.list(path))).toBe("ESCAPE");
      await expect(host.readLater(path)).rejects.toMatchObject({ code: "ESCAPE" });
    }
    expect(codeOf(() => host.read("class/round"))).toBe("ELOOP");
    expect(codeOf(() => host.read("class/powercap\0"))).toBe("ESCAPE");
  });

  it("writes shorter and longer values, and creates no file", () => {
    const host = make();
    for (const text of ["1", "350000000", "90"]) {
      host.write(LIMIT, text);
      expect(host.read(LIMIT)).toBe(text);
    }
    expect(codeOf(() => host.write(`${ZONE}/constraint_9_power_limit_uw`, "1"))).toBe("ENOENT");
    expect(host.exists(`${ZONE}/constraint_9_power_limit_uw`)).toBe(false);
  });

  it("refuses to write files that are not on the list", () => {
    const host = make();
    expect(codeOf(() => host.write(`${ZONE}/energy_uj`, "0"))).toBe("EUNLISTED");
    expect(codeOf(() => host.write(`${ZONE}/name`, "x"))).toBe("EUNLISTED");
    expect(host.read(`${ZONE}/name`)).toBe("package-0");
  });

  it("lists a folder, and nothing for a missing folder", () => {
    const host = make();
    expect(host.list("class/powercap")).toContain("intel-rapl:2:0");
    expect(host.list("class/nothing")).toEqual([]);
    expect(host.list("class/missing")).toEqual([]);
    expect(host.list("class/dangling")).toEqual([]);
  });

  it("reports whether a file exists; a broken link does not", () => {
    const host = make();
    expect(host.exists(ZONE)).toBe(true);
    expect(host.exists(LIMIT)).toBe(true);
    expect(host.exists("class/nothing")).toBe(true);
    expect(host.exists("class/dangling")).toBe(false);
    expect(host.exists(`${ZONE}/min_power_uw`)).toBe(false);
  });

  it("keeps the kernel's error code", () => {
    const host = make();
    expect(codeOf(() => host.read(`${ZONE}/nothing`))).toBe("ENOENT");
    expect(codeOf(() => host.read(ZONE))).toBe("EISDIR");
    expect(codeOf(() => host.read("class/dangling"))).toBe("ENOENT");
  });
});

describe("HostDirectory on real files", () => {
  it("sees changes behind an open descriptor: the text, the file, the folder", () => {
    const host = onDisk();
    const at = join(host.root, host.real(LIMIT));
    expect(host.read(LIMIT)).toBe("350000000");
    writeFileSync(at, "1\n");
    expect(host.read(LIMIT)).toBe("1");
    rmSync(at);
    expect(codeOf(() => host.read(LIMIT))).toBe("ENOENT");
    writeFileSync(at, "2\n");
    expect(host.read(LIMIT)).toBe("2");
  });

  it("reads long files completely, and rejects endless ones", async () => {
    const host = onDisk();
    const long = "processor\t: 0\n".repeat(10_000);
    writeFileSync(join(host.root, "long"), long);
    expect(host.read("long")).toBe(long.slice(0, -1));
    expect(host.read("long")).toBe(long.slice(0, -1));
    await expect(host.readLater("long")).resolves.toBe(long.slice(0, -1));
    truncateSync(join(host.root, "long"), 5 * 1024 * 1024);
    expect(codeOf(() => host.read("long"))).toBe("EFBIG");
    await expect(host.readLater("long")).rejects.toMatchObject({ code: "EFBIG" });
  });

  it("limits the number of open descriptors", () => {
    const host = onDisk();
    mkdirSync(join(host.root, "many"));
    for (let index = 0; index < 1500; index += 1) writeFileSync(join(host.root, `many/${index}`), `${index}\n`);
    const before = openDescriptors();
    for (let round = 0; round < 2; round += 1) {
      for (let index = 0; index < 1500; index += 1) expect(host.read(`many/${index}`)).toBe(String(index));
    }
    expect(openDescriptors() - before).toBeLessThanOrEqual(512);
    host.close();
    expect(openDescriptors()).toBeLessThanOrEqual(before);
  });

  it("reads the real procfs and sysfs of this machine", () => {
    const proc = new HostDirectory("/proc");
    const sys = new HostDirectory("/sys");
    expect(proc.read("meminfo")).toContain("MemTotal");
    expect(proc.read("meminfo")).toContain("MemTotal");
    expect(sys.read("devices/system/cpu/online")).toMatch(/^\d/);
    expect(codeOf(() => proc.read("self/root/etc/hostname"))).toBe("ESCAPE");
    proc.close();
    sys.close();
  });

  it("accepts a root that is a link or does not exist", () => {
    const host = onDisk();
    symlinkSync(host.root, `${host.root}-link`);
    ends.push(() => rmSync(`${host.root}-link`));
    const linked = new HostDirectory(`${host.root}-link`);
    expect(linked.read(`${ZONE}/name`)).toBe("package-0");
    linked.close();
    const nowhere = new HostDirectory(`${host.root}/not/there`);
    expect(nowhere.list("class/powercap")).toEqual([]);
    expect(codeOf(() => nowhere.read("x"))).toBe("ENOENT");
  });
});

describe("the list of written files", () => {
  it("contains limit and frequency files only", () => {
    expect(writtenFiles.every(({ why }) => why.length > 0)).toBe(true);
    const zone = "devices/virtual/powercap/intel-rapl/intel-rapl:0";
    expect(isWrittenFile(`${zone}/constraint_0_power_limit_uw`)).toBe(true);
    expect(isWrittenFile(`${zone}/enabled`)).toBe(false);
    expect(isWrittenFile("devices/system/cpu/cpufreq/policy12/scaling_max_freq")).toBe(true);
    expect(isWrittenFile("devices/virtual/powercap/intel-rapl-mmio/intel-rapl-mmio:0/enabled")).toBe(false);
    expect(isWrittenFile("devices/virtual/powercap/intel-rapl/enabled")).toBe(false);
    expect(isWrittenFile("devices/system/cpu/cpufreq/policy12/scaling_governor")).toBe(false);
    expect(isWrittenFile("kernel/x/scaling_max_freq")).toBe(false);
  });
});

function openDescriptors(): number {
  const self = new HostDirectory("/proc");
  try {
    return self.list("self/fd").length;
  } finally {
    self.close();
  }
}
