import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { resolveCap } from "../../../core/control/index.ts";
import { milliseconds, percent, watts } from "../../../core/units/index.ts";
import { systemClock, VirtualClock } from "../../clock/index.ts";
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

function scene(): PowerCapFixture {
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

describe("AGT-45 NVML keeps the contract of every backend", () => {
  it.each(powerCapCases(scene))("%s", async (_, check) => {
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
  /** Real threads answer in their own time: only once nothing but the hung calls is waited for does virtual time jump. */
  async function untilGivenUp<Result>(hung: number, work: Promise<Result>): Promise<Result> {
    const ended = work.then(() => "ended");
    while ((await Promise.race([ended, systemClock.sleep(milliseconds(1))])) !== "ended") {
      if (clock.waiting <= hung) clock.advance(clock.untilNext ?? milliseconds(0));
    }
    return work;
  }

  it("AGT-45 tells each board by its UUID, with model, range and default, in whole watts", async () => {
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

  it.each([15, 16, 999, 6, 28])(
    "quirk 11: a board lost with code %i, even its handle, hides no other",
    async (code) => {
      stub.set(1, "lost", code);
      const seen = await boards();
      expect(seen.map(({ id, lost }) => [id, lost !== undefined])).toEqual([
        [uuidOf(0), false],
        [uuidOf(2), false],
        ["nvidia-1", true],
      ]);
      expect(seen[2]?.lost).toContain(`NVML ${code}`);
      expect(await nvml.cap(uuidOf(2), watts(400))).toEqual({ result: "applied" });
    },
  );

  it("quirk 11: a board that was known keeps its id when it is lost, and when the driver no longer lists it", async () => {
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

  it("quirk 12: a limit that the BMC undercuts is blocked and says what is enforced", async () => {
    nvml = new NvmlBackend({ library: stub.library, clock: systemClock });
    stub.set(0, "oob", 500_000);
    expect(await nvml.cap(uuidOf(0), watts(600))).toEqual({
      result: "blocked",
      message: expect.stringContaining("enforced 500 W, not 600 W"),
    });
    expect(await nvml.limit(uuidOf(0))).toEqual({ limit: 500 });
    expect((await boards())[0]?.warnings).toEqual([expect.stringContaining("enforced 500 W")]);
    // What was written is taken back, and the BMC's limit is not ours to keep.
    expect(await nvml.original(uuidOf(0))).toEqual({ original: "700" });
    expect(await nvml.cap(uuidOf(0), watts(450))).toEqual({ result: "applied" });
  });

  it("quirk 2: a limit that reads back and is not enforced is an error", async () => {
    nvml = new NvmlBackend({ library: stub.library, clock: systemClock });
    stub.set(0, "lies", 1);
    const outcome = await nvml.cap(uuidOf(0), watts(400));
    expect(outcome).toEqual({ result: "error", message: "400 W reads back, yet the board enforces 700 W" });
    expect(stub.get(0, "limit")).toBe(700_000);
  });

  it("quirk 10: without persistence it warns, and a limit that fell back to the default is read as that", async () => {
    stub.set(0, "persistence", 0);
    expect((await boards())[0]?.warnings).toEqual([expect.stringContaining("nvidia-persistenced")]);
    await nvml.cap(uuidOf(0), watts(400));
    stub.reload();
    expect(await nvml.limit(uuidOf(0))).toEqual({ limit: 700 });
  });

  it("quirk 21: a limit that a rival undid is read as it is, and can be set again", async () => {
    await nvml.cap(uuidOf(0), watts(400));
    stub.set(0, "limit", 700_000);
    expect(await nvml.limit(uuidOf(0))).toEqual({ limit: 700 });
    expect(await nvml.cap(uuidOf(0), watts(400))).toEqual({ result: "applied" });
  });

  it("quirk 13: a percentage that falls below the least the board takes is raised to it", async () => {
    stub.set(0, "min", 150_000);
    stub.set(0, "max", 180_000);
    const cap = resolveCap({ pctOfMax: percent(83) }, (await boards())[0]?.device ?? {});
    expect(cap).toMatchObject({ kind: "watts", watts: 150, clamped: expect.stringContaining("minimum") });
    expect(cap.kind === "watts" && (await nvml.cap(uuidOf(0), cap.watts))).toEqual({ result: "applied" });
  });

  it("initialises anew after the driver was reloaded", async () => {
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

  it("quirk 14: a range that changed is read again after a refusal, and an original outside it goes to its edge", async () => {
    await boards();
    const { original = "" } = await nvml.original(uuidOf(0));
    stub.set(0, "max", 600_000);
    expect(await nvml.cap(uuidOf(0), watts(650))).toEqual({
      result: "error",
      message: expect.stringMatching(/not valid .*its range was 200 W to 700 W/),
    });
    expect((await boards())[0]?.device).toEqual({ min: 200, max: 600, step: 1 });
    expect(await nvml.restore(uuidOf(0), original)).toEqual({
      result: "applied",
      message: "700 W is out of range by now: restored to 600 W",
    });
    expect(stub.get(0, "limit")).toBe(600_000);
  });

  it("what a board says of itself is believed for a minute", async () => {
    await boards();
    stub.set(0, "min", 250_000);
    expect((await boards())[0]?.device.min).toBe(200);
    clock.advance(milliseconds(60_000));
    expect((await boards())[0]?.device.min).toBe(250);
  });

  it("MIG: the cap is the whole board's, and a warning says so", async () => {
    stub.set(0, "mig", 1);
    stub.set(1, "mig", -1);
    const [sliced, whole] = await boards();
    expect(sliced?.warnings).toEqual([expect.stringContaining("whole board")]);
    expect(whole?.slicing).toBeUndefined();
    expect(await nvml.cap(uuidOf(0), watts(400))).toEqual({ result: "applied" });
  });

  it("a board without power limits is locked, not lost, and a cap on it is blocked", async () => {
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
  ])("says in words why it does not start: code %i", async (code, words) => {
    stub.set(-1, "initcode", code);
    expect((await nvml.discover()).absent).toContain(words);
    stub.set(-1, "initcode", 0);
    expect(await boards()).toHaveLength(3);
  });

  it("X-65 a missing library is absent with what to install", async () => {
    const missing = new NvmlBackend({ library: "libno-such-nvml.so.1", clock });
    const view = await missing.discover();
    expect(view.absent).toMatch(/libno-such-nvml.so.1 does not load .*container toolkit.*NVML_LIBRARY/);
    expect(await missing.cap("x", watts(300))).toMatchObject({ result: "error" });
    await missing.close();
  });

  it("no board at all is absent", async () => {
    stub.set(-1, "count", 0);
    expect(await nvml.discover()).toEqual({ absent: "NVML finds no GPU on this node" });
  });

  it("power: what the board draws now, then the mean by its energy counter", async () => {
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), power: 310 });
    clock.advance(milliseconds(10_000));
    stub.set(0, "energy", 5_000_000 + 4_000_000);
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), power: 400 });
    // A counter that started over, or one that cannot be true, is passed over.
    clock.advance(milliseconds(10_000));
    stub.set(0, "energy", 1000);
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), power: 310 });
    clock.advance(milliseconds(10_000));
    stub.set(0, "energy", 1e12);
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), power: 310 });
  });

  it("power: no mean reaches back to before a new limit", async () => {
    await nvml.power();
    clock.advance(milliseconds(10_000));
    stub.set(0, "energy", 5_000_000 + 6_000_000);
    await nvml.cap(uuidOf(0), watts(400));
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), power: 310 });
    clock.advance(milliseconds(10_000));
    stub.set(0, "energy", 11_000_000 + 4_000_000);
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), power: 400 });
  });

  it("quirk 23: a power that cannot be read is missing, never 0 W", async () => {
    stub.set(0, "energy", -1);
    stub.set(0, "power", -1);
    expect((await nvml.power())[0]).toEqual({ id: uuidOf(0), missing: expect.stringContaining("does not support") });
  });

  it("a hung board is given up after its time, closed until it answers, and hides no other", async () => {
    await boards();
    stub.set(1, "hang", 1);
    const seen = (await untilGivenUp(1, nvml.discover())).boards ?? [];
    expect(seen.find(({ id }) => id === uuidOf(1))?.lost).toContain("gave no answer within 30000 ms");
    expect(seen.filter(({ lost }) => lost === undefined)).toHaveLength(2);
    expect(await nvml.cap(uuidOf(0), watts(400))).toEqual({ result: "applied" });
    const again = await boards();
    expect(again.find(({ id }) => id === uuidOf(1))?.lost).toMatch(/not tried: .*has not returned since \d{4}-/);
    stub.set(1, "hang", 0);
    await expect.poll(async () => (await boards()).every(({ lost }) => lost === undefined)).toBe(true);
  });

  it("a driver that hangs altogether is refused at once from the second call on, and the loop goes on", async () => {
    await boards();
    for (let board = 0; board < 3; board += 1) stub.set(board, "hang", 1);
    const outcomes = untilGivenUp(2, Promise.all([0, 1, 2].map(async (board) => nvml.limit(uuidOf(board)))));
    expect((await outcomes).map(({ unreadable }) => unreadable !== undefined)).toEqual([true, true, true]);
    expect(await nvml.cap(uuidOf(0), watts(400))).toMatchObject({ result: "error" });
    expect(stub.get(0, "writes")).toBe(0);
  });

  it("what is no longer waited for ends at once", async () => {
    stub.set(-1, "inithang", 1);
    const stop = new AbortController();
    const looking = nvml.discover(stop.signal);
    stop.abort();
    expect((await looking).absent).toBeDefined();
  });
});

describe("NVML of an old driver", () => {
  it("lacks a function: only that feature is missing", async () => {
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
