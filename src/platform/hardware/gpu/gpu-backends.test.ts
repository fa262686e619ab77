import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { watts } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
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
const open: GpuBackend[] = [];
beforeAll(() => {
  stub = buildNvmlStub();
  stateDir = mkdtempSync(join(tmpdir(), "joulie-state-"));
});
afterAll(() => {
  stub.remove();
  rmSync(stateDir, { recursive: true });
});
beforeEach(() => stub.reset(2));
afterEach(async () => {
  for (const backend of open.splice(0)) await backend.close?.();
});

function gpus(sys: FakeHost, nvmlLibrary = "libno-such-nvml.so.1"): GpuBackend {
  const proc = new FakeHost(nothing, "/proc");
  const backend = findGpuBackend({ sys, proc, clock: new VirtualClock(), nvmlLibrary, stateDir, mayWrite: true });
  open.push(backend);
  return backend;
}

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
    for (const word of ["NVIDIA", "amdgpu", "xe or i915"]) expect(absent).toContain(word);
    expect(backend.name).toBe("none");
    expect(await backend.cap("x", watts(300))).toEqual({
      result: "error",
      message: 'no GPU "x" on this node',
    });
    expect(await backend.power?.()).toEqual([]);
  });

  it("AGT-47 X-65 is absent for a GPU without a driver and says what to install", async () => {
    const { absent } = await gpus(new FakeHost(nvidiaBoard)).discover();
    expect(absent).toMatch(/cannot load .*install the NVIDIA driver/);
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
