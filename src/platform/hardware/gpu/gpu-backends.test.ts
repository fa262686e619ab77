import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { watts } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/index.ts";
import { type FakeTool, fakeTool } from "../testing/fake-gpu-tools.ts";
import { FakeHost, type HostTree, joinTrees } from "../testing/fake-host.ts";
import { buildNvmlStub, type NvmlStub, uuidOf } from "../testing/nvml-stub.ts";
import { type PowerCapFixture, powerCapCases } from "../testing/power-cap-contract.ts";
import { findGpuBackend } from "./gpu-backends.ts";
import type { GpuBackend } from "./gpu-board.ts";

const AMD = "5c88007d49b8e9e2";

const pci = (address: string, vendor: string, kind: string): HostTree => ({
  files: { [`bus/pci/devices/${address}/vendor`]: vendor, [`bus/pci/devices/${address}/class`]: kind },
});
const nvidiaBoard = pci("0000:17:00.0", "0x10de", "0x030200");
const amdBoard = pci("0000:19:00.0", "0x1002", "0x120000");
const amdCard: HostTree = {
  files: {
    "class/drm/card1/device/unique_id": AMD,
    "class/drm/card1/device/hwmon/hwmon4/name": "amdgpu",
    "class/drm/card1/device/hwmon/hwmon4/power1_cap": "750000000",
    "class/drm/card1/device/hwmon/hwmon4/power1_cap_max": "750000000",
    "class/drm/card1/device/hwmon/hwmon4/power1_input": "191000000",
  },
};
const nothing: HostTree = { files: {} };

let stub: NvmlStub;
let stateDir: string;
const tools: FakeTool[] = [];
const open: GpuBackend[] = [];
beforeAll(() => {
  stub = buildNvmlStub();
  stateDir = mkdtempSync(join(tmpdir(), "joulie-state-"));
});
afterAll(() => {
  stub.remove();
  rmSync(stateDir, { recursive: true });
});
beforeEach(() => {
  stub.reset(2);
  vi.stubEnv("PATH", "/usr/bin:/bin");
});
afterEach(async () => {
  for (const backend of open.splice(0)) await backend.close?.();
  for (const tool of tools.splice(0)) tool.remove();
  vi.unstubAllEnvs();
});

function gpus(sys: FakeHost, nvmlLibrary = "libno-such-nvml.so.1"): GpuBackend {
  const proc = new FakeHost(nothing, "/proc");
  const backend = findGpuBackend({ sys, proc, clock: new VirtualClock(), nvmlLibrary, stateDir, mayWrite: true });
  open.push(backend);
  return backend;
}

function installed(name: "nvidia-smi" | "rocm-smi", values: Readonly<Record<string, string>>): FakeTool {
  const tool = fakeTool(name, [values]);
  tools.push(tool);
  vi.stubEnv("PATH", `${dirname(tool.file)}:${process.env["PATH"]}`);
  return tool;
}

const smiBoard = {
  index: "0",
  uuid: uuidOf(0),
  name: "NVIDIA H100",
  "power.limit": "700.00",
  "power.min_limit": "200.00",
  "power.max_limit": "700.00",
};

function fixture(): PowerCapFixture {
  stub.reset(2);
  const host = new FakeHost(nothing);
  const boardOf = (id: string): number => Number(id.at(-1));
  return {
    backend: gpus(host, stub.library),
    boards: [uuidOf(0), uuidOf(1)],
    within: watts(400),
    beyond: [watts(701)],
    truth: (id) => watts(stub.get(boardOf(id), "limit") / 1000),
    state: () => [0, 1].map((board) => stub.get(board, "limit")),
    writes: () => [0, 1].reduce((sum, board) => sum + stub.get(board, "writes"), 0),
    lose: (id) => stub.set(boardOf(id), "lost", 15),
    forbid: (id) => stub.set(boardOf(id), "setcode", 4),
    spoil: (id) => stub.set(boardOf(id), "setcode", 999),
    ignore: () => expect.unreachable("it waits on the virtual clock; NVML's own suite has it"),
    vanish: () => stub.set(-1, "loaded", 0),
  };
}

describe("the combined GPU backend fulfils the power-cap contract", () => {
  it.each(powerCapCases(fixture, ["ignore"]))("%s", async (_, check) => {
    await expect(check()).resolves.toBeUndefined();
  });
});

describe("findGpuBackend", () => {
  it("AGT-47 X-65 is absent without a GPU and lists what was tried", async () => {
    const backend = gpus(new FakeHost(nothing));
    const { absent } = await backend.discover();
    expect(absent).toMatch(/^no GPU backend works on this node: /);
    for (const word of ["NVIDIA", "amdgpu", "AMD", "xe or i915"]) expect(absent).toContain(word);
    expect(backend.name).toBe("none");
    expect(await backend.cap("x", watts(300))).toEqual({
      result: "error",
      message: 'no GPU "x" on this node',
    });
    expect(await backend.power?.()).toEqual([]);
  });

  it("AGT-47 X-65 is absent for a GPU without driver or tools and says what to install", async () => {
    const { absent } = await gpus(new FakeHost(nvidiaBoard)).discover();
    expect(absent).toMatch(/cannot load .*install the NVIDIA driver.*nvidia-smi is not installed/);
  });

  it("drives boards of two vendors, each with its own backend", async () => {
    const host = new FakeHost(amdCard);
    const backend = gpus(host, stub.library);
    const { boards } = await backend.discover();
    expect(boards?.map(({ id }) => id)).toEqual([uuidOf(0), uuidOf(1), AMD]);
    expect(backend.name).toBe("nvml+amdgpu");
    expect(await backend.cap(AMD, watts(500))).toEqual({ result: "applied" });
    expect(await backend.cap(uuidOf(1), watts(300))).toEqual({ result: "applied" });
    expect(host.get("class/drm/card1/device/hwmon/hwmon4/power1_cap")).toBe("500000000");
    expect(stub.get(1, "limit")).toBe(300_000);
    expect((await backend.power?.())?.map(({ power }) => power)).toEqual([310, 310, 191]);
  });

  it("reports only the boards of a vendor whose driver disappeared as lost", async () => {
    const backend = gpus(new FakeHost(amdCard), stub.library);
    await backend.discover();
    stub.set(-1, "loaded", 0);
    const seen = (await backend.discover()).boards ?? [];
    expect(seen.map(({ id, lost }) => [id, lost?.includes("modprobe nvidia") ?? false])).toEqual([
      [AMD, false],
      [uuidOf(0), true],
      [uuidOf(1), true],
    ]);
    expect(backend.name).toBe("amdgpu");
    expect(await backend.cap(AMD, watts(500))).toEqual({ result: "applied" });
    expect(await backend.cap(uuidOf(0), watts(500))).toMatchObject({ result: "error" });
  });

  it("warns about a vendor without a working backend", async () => {
    const [board] = (await gpus(new FakeHost(joinTrees(amdCard, nvidiaBoard))).discover()).boards ?? [];
    expect(board).toMatchObject({ id: AMD, warnings: [expect.stringContaining("nvidia GPUs are not managed")] });
  });

  it("AGT-45 falls back to nvidia-smi with the same ids and originals until NVML works again", async () => {
    const tool = installed("nvidia-smi", smiBoard);
    stub.set(-1, "initcode", 18);
    const backend = gpus(new FakeHost(nvidiaBoard), stub.library);
    await backend.discover();
    expect(backend.name).toBe("nvidia-smi");
    const { original = "" } = await backend.original(uuidOf(0));
    expect(await backend.cap(uuidOf(0), watts(400))).toEqual({ result: "applied" });
    expect(tool.get(0, "power.limit")).toBe("400.00");
    stub.set(-1, "initcode", 0);
    await backend.discover();
    expect(backend.name).toBe("nvml");
    await backend.cap(uuidOf(0), watts(300));
    expect(await backend.restore(uuidOf(0), original)).toEqual({ result: "applied" });
    expect(stub.get(0, "limit")).toBe(700_000);
  });

  it("AGT-46 falls back to rocm-smi with the same ids, only if an AMD GPU is present", async () => {
    const draw = { "draw-key": "Average Graphics Package Power (W)", draw: "100", limit: "750", unique: `0x${AMD}` };
    const tool = installed("rocm-smi", draw);
    const backend = gpus(new FakeHost(amdBoard));
    expect((await backend.discover()).boards?.map(({ id }) => id)).toEqual([AMD]);
    expect(backend.name).toBe("rocm-smi");
    expect(tool.runs()).toHaveLength(1);
    await gpus(new FakeHost(pci("0000:00:01.0", "0x1002", "0x040300"))).discover();
    expect(tool.runs()).toHaveLength(1);
  });

  it("reads the PCI bus again only if the device list changes", async () => {
    const host = new FakeHost(joinTrees(amdBoard, amdCard));
    const backend = gpus(host);
    await backend.discover();
    await backend.discover();
    expect(host.reads.get("bus/pci/devices/0000:19:00.0/vendor")).toBe(1);
    for (const [path, text] of Object.entries(nvidiaBoard.files)) host.set(path, text);
    expect((await backend.discover()).boards?.[0]?.warnings).toEqual([expect.stringContaining("nvidia")]);
  });
});
