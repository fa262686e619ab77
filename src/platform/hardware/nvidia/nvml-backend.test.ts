import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { resolveCap } from "../../../core/control/index.ts";
import { milliseconds, percent, watts } from "../../../core/units/index.ts";
import { systemClock } from "../../clock/index.ts";
import { eventually, VirtualClock } from "../../clock/testing/index.ts";
import { buildNvmlStub, type NvmlStub, uuidOf } from "../testing/nvml-stub.ts";
import { type PowerCapFixture, powerCapCases } from "../testing/power-cap-contract.ts";
import { NvmlBackend } from "./nvml-backend.ts";

let stub: NvmlStub;
beforeAll(() => {
  stub = buildNvmlStub();
});
afterAll(() => stub.remove());

const boardOf = (id: string): number => Number(id.at(-1));
const settings = ["min", "max", "default", "limit"];

function fixture(): PowerCapFixture {
  stub.reset(3);
  const backend = new NvmlBackend({ library: stub.library, clock: systemClock });
  const boards = [uuidOf(0), uuidOf(1), uuidOf(2)];
  return {
    backend,
    boards,
    within: watts(400),
    beyond: [watts(701), watts(5000)],
    truth: (id) => watts(stub.get(boardOf(id), "limit") / 1000),
    state: () => boards.map((id) => settings.map((key) => stub.get(boardOf(id), key))),
    writes: () => boards.reduce((sum, id) => sum + stub.get(boardOf(id), "writes"), 0),
    lose: (id) => stub.set(boardOf(id), "lost", 15),
    forbid: (id) => stub.set(boardOf(id), "setcode", 4),
    spoil: (id) => stub.set(boardOf(id), "setcode", 999),
    ignore: (id) => stub.set(boardOf(id), "ignore", 1),
    vanish: () => stub.set(-1, "loaded", 0),
    end: async () => backend.close(),
  };
}

describe("AGT-45 NVML fulfils the power-cap contract", () => {
  it.each(powerCapCases(fixture))("%s", async (_, check) => {
    await expect(check()).resolves.toBeUndefined();
  });
});

describe("NVML", () => {
  let clock: VirtualClock;
  let nvml: NvmlBackend;
  beforeEach(() => {
    stub.reset(3);
    clock = new VirtualClock();
    nvml = new NvmlBackend({ library: stub.library, clock });
  });
  afterEach(async () => {
    for (let board = 0; board < 3; board += 1) stub.set(board, "hang", 0);
    stub.set(-1, "inithang", 0);
    await nvml.close();
  });

  const boards = async () => (await nvml.discover()).boards ?? [];
  /** Lets the time limit pass once the driver holds `hung` calls and every other call, which runs on a real thread, has returned. */
  async function untilGivenUp<Result>(hung: number, work: Promise<Result>): Promise<Result> {
    await eventually(() => stub.get(-1, "hanging") === hung && clock.waiting === hung);
    clock.advance(clock.untilNext ?? milliseconds(0));
    return work;
  }

  it("AGT-45 identifies boards by UUID, with model, range and default in whole watts", async () => {
    stub.set(1, "longname", 1);
    const [first, second] = await boards();
    expect(first).toEqual({
      id: uuidOf(0),
      vendor: "nvidia",
      model: "NVIDIA H100 80GB HBM3",
      device: { min: 200, max: 700, step: 1 },
      defaultLimit: 700,
      slicing: ["mig"],
    });
    expect(second?.model).toBe("x".repeat(95));
  });

  it.each([15, 16, 999, 6, 28])("quirk 11: a board lost with code %i does not hide the others", async (code) => {
    stub.set(1, "lost", code);
    const seen = await boards();
    expect(seen.map(({ id, lost }) => [id, lost !== undefined])).toEqual([
      [uuidOf(0), false],
      [uuidOf(2), false],
      ["nvidia-1", true],
    ]);
    expect(seen[2]?.lost).toContain(`NVML ${code}`);
    expect(await nvml.cap(uuidOf(2), watts(400))).toEqual({ result: "applied" });
  });

  it("quirk 11: keeps the id of a lost or unlisted board", async () => {
    await boards();
    stub.set(2, "lost", 15);
    expect((await boards()).find(({ id }) => id === uuidOf(2))?.lost).toContain("fell off the bus");
    stub.set(-1, "count", 2);
    const seen = await boards();
    expect(seen.map(({ id }) => id)).toEqual([uuidOf(0), uuidOf(1), uuidOf(2)]);
    expect(seen[2]?.lost).toContain("no longer lists it");
    stub.set(-1, "count", 3);
    stub.set(2, "lost", 0);
    expect((await boards()).map(({ lost }) => lost)).toEqual([undefined, undefined, undefined]);
  });

  it("quirk 12: blocks a limit that the BMC undercuts and reports the enforced limit", async () => {
    nvml = new NvmlBackend({ library: stub.library, clock: systemClock });
    stub.set(0, "oob", 500_000);
    expect(await nvml.cap(uuidOf(0), watts(600))).toEqual({
      result: "blocked",
      message: expect.stringContaining("enforces 500 W, not 600 W"),
    });
    expect(await nvml.limit(uuidOf(0))).toEqual({ limit: 500 });
    expect((await boards())[0]?.warnings).toEqual([expect.stringContaining("enforces 500 W")]);
    // The write is rolled back, and the BMC's limit is not recorded as the original.
    expect(await nvml.original(uuidOf(0))).toEqual({ original: "700" });
    expect(await nvml.cap(uuidOf(0), watts(450))).toEqual({ result: "applied" });
  });

  it("quirk 2: reports a limit that is read back but not enforced as an error", async () => {
    nvml = new NvmlBackend({ library: stub.library, clock: systemClock });
    stub.set(0, "lies", 1);
    const outcome = await nvml.cap(uuidOf(0), watts(400));
    expect(outcome).toEqual({ result: "error", message: "read back 400 W, but the board enforces 700 W" });
    expect(stub.get(0, "limit")).toBe(700_000);
  });

  it("quirk 10: warns without persistence mode and reads a limit that returned to the default", async () => {
    stub.set(0, "persistence", 0);
    expect((await boards())[0]?.warnings).toEqual([expect.stringContaining("nvidia-persistenced")]);
    await nvml.cap(uuidOf(0), watts(400));
    stub.reload();
    expect(await nvml.limit(uuidOf(0))).toEqual({ limit: 700 });
  });

  it("quirk 21: reads a limit that another program changed, and can set it again", async () => {
    await nvml.cap(uuidOf(0), watts(400));
    stub.set(0, "limit", 700_000);
    expect(await nvml.limit(uuidOf(0))).toEqual({ limit: 700 });
    expect(await nvml.cap(uuidOf(0), watts(400))).toEqual({ result: "applied" });
  });

  it("quirk 13: raises a percentage below the board's minimum to the minimum", async () => {
    stub.set(0, "min", 150_000);
    stub.set(0, "max", 180_000);
    const cap = resolveCap({ pctOfMax: percent(83) }, (await boards())[0]?.device ?? {});
    expect(cap).toMatchObject({ kind: "watts", watts: 150, clamped: expect.stringContaining("minimum") });
    expect(cap.kind === "watts" && (await nvml.cap(uuidOf(0), cap.watts))).toEqual({ result: "applied" });
  });

  it("initialises NVML again after a driver reload", async () => {
    await boards();
    stub.reload();
    expect((await boards()).map(({ lost }) => lost)).toEqual([undefined, undefined, undefined]);
    stub.reload();
    expect(await nvml.cap(uuidOf(1), watts(300))).toEqual({ result: "applied" });
    stub.reload();
    const limits = await Promise.all([0, 1, 2].map(async (board) => nvml.limit(uuidOf(board))));
    expect(limits).toEqual([700, 700, 700].map((limit) => ({ limit })));
    expect(stub.get(-1, "inits")).toBe(4);
    stub.set(-1, "loaded", 0);
    expect((await nvml.discover()).absent).toContain("modprobe nvidia");
    stub.set(-1, "loaded", 1);
    expect(await boards()).toHaveLength(3);
  });

  it("quirk 14: reads a changed range again after a rejection and clamps an original to it", async () => {
    await boards();
    const { original = "" } = await nvml.original(uuidOf(0));
    stub.set(0, "max", 600_000);
    expect(await nvml.cap(uuidOf(0), watts(650))).toEqual({
      result: "error",
      message: expect.stringMatching(/invalid argument .*its last known range is 200 W to 700 W/),
    });
    expect((await boards())[0]?.device).toEqual({ min: 200, max: 600, step: 1 });
    expect(await nvml.restore(uuidOf(0), original)).toEqual({
      result: "applied",
      message: "700 W is out of range now: restored to 600 W",
    });
    expect(stub.get(0, "limit")).toBe(600_000);
  });

  it("caches a board description for a minute", async () => {
    await boards();
    stub.set(0, "min", 250_000);
    expect((await boards())[0]?.device.min).toBe(200);
    clock.advance(milliseconds(60_000));
    expect((await boards())[0]?.device.min).toBe(250);
  });

  it("warns that a cap applies to the whole board with MIG", async () => {
    stub.set(0, "mig", 1);
    stub.set(1, "mig", -1);
    const [sliced, whole] = await boards();
    expect(sliced?.warnings).toEqual([expect.stringContaining("whole board")]);
    expect(whole?.slicing).toBeUndefined();
    expect(await nvml.cap(uuidOf(0), watts(400))).toEqual({ result: "applied" });
  });

  it("reports a board without power limits as locked and blocks its cap", async () => {
    stub.set(0, "limit", 0);
    const [board] = await boards();
    expect(board).toMatchObject({ locked: expect.stringContaining("not supported"), device: { step: 1 } });
    expect(board?.lost).toBeUndefined();
    expect(await nvml.cap(uuidOf(0), watts(400))).toMatchObject({ result: "blocked" });
  });

  it.each([
    [9, "modprobe nvidia"],
    [18, "different versions"],
    [12, "install"],
    [4, "root"],
    [999, "Xid"],
    [77, "NVML 77"],
  ])("explains why NVML does not start: code %i", async (code, expectedText) => {
    stub.set(-1, "initcode", code);
    expect((await nvml.discover()).absent).toContain(expectedText);
    stub.set(-1, "initcode", 0);
    expect(await boards()).toHaveLength(3);
  });

  it("X-65 is absent without the library and says what to install", async () => {
    const missing = new NvmlBackend({ library: "libno-such-nvml.so.1", clock });
    const view = await missing.discover();
    expect(view.absent).toMatch(/cannot load the NVML library libno-such-nvml.so.1 .*container toolkit.*NVML_LIBRARY/);
    expect(await missing.cap("x", watts(300))).toMatchObject({ result: "error" });
    await missing.close();
  });

  it("is absent without a board", async () => {
    stub.set(-1, "count", 0);
    expect(await nvml.discover()).toEqual({ absent: "NVML finds no GPU on this node" });
  });

  it("reads the power first, then the mean from the energy counter", async () => {
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), power: 310 });
    clock.advance(milliseconds(10_000));
    stub.set(0, "energy", 5_000_000 + 4_000_000);
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), power: 400 });
    // A reset or implausible counter is ignored.
    clock.advance(milliseconds(10_000));
    stub.set(0, "energy", 1000);
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), power: 310 });
    clock.advance(milliseconds(10_000));
    stub.set(0, "energy", 1e12);
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), power: 310 });
  });

  it("computes no mean power across a new limit", async () => {
    await nvml.power();
    clock.advance(milliseconds(10_000));
    stub.set(0, "energy", 5_000_000 + 6_000_000);
    await nvml.cap(uuidOf(0), watts(400));
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), power: 310 });
    clock.advance(milliseconds(10_000));
    stub.set(0, "energy", 11_000_000 + 4_000_000);
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), power: 400 });
  });

  it("quirk 23: reports unreadable power as missing, never as 0 W", async () => {
    stub.set(0, "energy", -1);
    stub.set(0, "power", -1);
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), missing: expect.stringContaining("not supported") });
  });

  it("abandons calls to a hung board, skips it until it responds, and keeps the others", async () => {
    await boards();
    stub.set(1, "hang", 1);
    const seen = (await untilGivenUp(1, nvml.discover())).boards ?? [];
    expect(seen.find(({ id }) => id === uuidOf(1))?.lost).toContain("did not return within 30000 ms");
    expect(seen.filter(({ lost }) => lost === undefined)).toHaveLength(2);
    expect(await nvml.cap(uuidOf(0), watts(400))).toEqual({ result: "applied" });
    const again = await boards();
    expect(again.find(({ id }) => id === uuidOf(1))?.lost).toMatch(/skipped: .*has not returned since \d{4}-/);
    stub.set(1, "hang", 0);
    await eventually(async () => (await boards()).every(({ lost }) => lost === undefined));
  });

  it("fails at once from the second call on if the whole driver hangs", async () => {
    await boards();
    for (let board = 0; board < 3; board += 1) stub.set(board, "hang", 1);
    const outcomes = untilGivenUp(2, Promise.all([0, 1, 2].map(async (board) => nvml.limit(uuidOf(board)))));
    expect((await outcomes).map(({ unreadable }) => unreadable !== undefined)).toEqual([true, true, true]);
    expect(await nvml.cap(uuidOf(0), watts(400))).toMatchObject({ result: "error" });
    expect(stub.get(0, "writes")).toBe(0);
  });

  it("returns at once when the caller aborts", async () => {
    stub.set(-1, "inithang", 1);
    const stop = new AbortController();
    const looking = nvml.discover(stop.signal);
    stop.abort();
    expect((await looking).absent).toBeDefined();
  });
});

describe("NVML of an old driver", () => {
  it("leaves out only the feature of a missing function", async () => {
    const old = buildNvmlStub("OLD_DRIVER");
    try {
      old.reset(1);
      const nvml = new NvmlBackend({ library: old.library, clock: systemClock });
      const [board] = (await nvml.discover()).boards ?? [];
      expect(board).toMatchObject({ id: uuidOf(0), device: { min: 200, max: 700 } });
      expect(board?.slicing).toBeUndefined();
      expect(await nvml.cap(uuidOf(0), watts(400))).toEqual({ result: "applied" });
      expect(await nvml.limit(uuidOf(0))).toEqual({ limit: 400 });
      expect(await nvml.power()).toEqual([{ id: uuidOf(0), power: 310 }]);
      await nvml.close();
    } finally {
      old.remove();
    }
  });
});
