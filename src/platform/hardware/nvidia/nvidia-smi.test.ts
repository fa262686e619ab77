import { afterEach, describe, expect, it } from "vitest";
import { milliseconds, watts } from "../../../core/units/index.ts";
import { systemClock, VirtualClock } from "../../clock/index.ts";
import { type FakeTool, fakeTool } from "../testing/fake-gpu-tools.ts";
import { type PowerCapFixture, powerCapCases } from "../testing/power-cap-contract.ts";
import { NvidiaSmiBackend } from "./nvidia-smi.ts";
import { parseSmiTable, smiColumns } from "./nvidia-smi-table.ts";

const uuid = (board: number): string => `GPU-0000-${board}`;
const boardOf = (id: string): number => Number(id.at(-1));

const h100 = (board: number): Record<string, string> => ({
  index: String(board),
  uuid: uuid(board),
  name: "NVIDIA H100 80GB HBM3",
  "power.draw": "310.25",
  "power.limit": "700.00",
  "enforced.power.limit": "700.00",
  "power.default_limit": "700.00",
  "power.min_limit": "200.00",
  "power.max_limit": "700.00",
  "mig.mode.current": "Disabled",
  persistence_mode: "Enabled",
});

let tool: FakeTool;
const made: FakeTool[] = [];
function boards(count: number): FakeTool {
  tool = fakeTool(
    "nvidia-smi",
    Array.from({ length: count }, (_, board) => h100(board)),
  );
  made.push(tool);
  return tool;
}
afterEach(() => {
  for (const one of made.splice(0)) one.remove();
});
const smi = (clock = new VirtualClock()): NvidiaSmiBackend => new NvidiaSmiBackend({ clock, files: [tool.file] });

function fixture(): PowerCapFixture {
  const fake = boards(2);
  return {
    backend: smi(),
    boards: [uuid(0), uuid(1)],
    within: watts(400),
    beyond: [watts(701), watts(5000)],
    truth: (id) => watts(Number(fake.get(boardOf(id), "power.limit"))),
    state: () => [0, 1].map((board) => ["power.limit", "enforced.power.limit"].map((key) => fake.get(board, key))),
    writes: () => fake.writes(),
    lose: (id) => fake.set(boardOf(id), "lost", ""),
    forbid: (id) => fake.set(boardOf(id), "forbid", ""),
    spoil: (id) => fake.set(boardOf(id), "spoil", ""),
    ignore: (id) => fake.set(boardOf(id), "ignore", ""),
    vanish: () => fake.vanish(),
  };
}

describe("AGT-45 nvidia-smi fulfils the power-cap contract", () => {
  it.each(powerCapCases(fixture))("%s", async (_, check) => {
    await expect(check()).resolves.toBeUndefined();
  });
});

describe("nvidia-smi", () => {
  it("AGT-45 identifies and sets boards by UUID, without a shell", async () => {
    boards(2);
    const backend = smi();
    expect((await backend.discover()).boards?.[0]).toEqual({
      id: uuid(0),
      vendor: "nvidia",
      model: "NVIDIA H100 80GB HBM3",
      device: { min: 200, max: 700, step: 1 },
      defaultLimit: 700,
      slicing: ["mig"],
    });
    expect(await backend.cap(uuid(1), watts(400))).toEqual({ result: "applied" });
    expect(tool.runs()).toContain(`-i ${uuid(1)} -pl 400`);
    expect(await backend.cap("$(touch /tmp/x); GPU-0000-0", watts(400))).toMatchObject({ result: "error" });
    expect(tool.writes()).toBe(1);
  });

  it("reuses one run for discovery, limits and power of one tick", async () => {
    boards(2);
    const clock = new VirtualClock();
    const backend = smi(clock);
    await backend.discover();
    await backend.limit(uuid(0));
    await backend.limit(uuid(1));
    expect(await backend.power()).toEqual([0, 1].map((board) => ({ id: uuid(board), power: 310.25 })));
    expect(tool.runs()).toHaveLength(1);
    clock.advance(milliseconds(2_000));
    await backend.limit(uuid(0));
    expect(tool.runs()).toHaveLength(2);
  });

  it.each(["[N/A]", "[Not Supported]", "[Unknown Error]", "N/A", ""])(
    "quirk 23: treats %j as missing, never as 0 W",
    (expectedText) => {
      const line = `0, GPU-a, NVIDIA T4, ${expectedText}, ${expectedText}, ${expectedText}, ${expectedText}, ${expectedText}, ${expectedText}, [N/A], Enabled`;
      const [row] = parseSmiTable(line, smiColumns);
      expect(row).toMatchObject({ draw: undefined, limit: undefined, enforced: undefined });
      expect(row?.board.device).toEqual({ min: undefined, max: undefined, step: 1 });
      expect(row?.board.lost ?? row?.board.locked).toContain("nvidia-smi reports");
      expect(row?.board.slicing).toBeUndefined();
    },
  );

  it("skips lines that are not rows", () => {
    expect(parseSmiTable("", smiColumns)).toEqual([]);
    expect(parseSmiTable("No devices were found\n", smiColumns)).toEqual([]);
    expect(parseSmiTable("0, GPU-a\n, , ,\n", smiColumns)).toEqual([]);
    const wild = "1, GPU-b, X, 1e308, -5, NaN, 1e999, Infinity, 0x10, ?, ?";
    expect(parseSmiTable(wild, smiColumns)[0]).toMatchObject({ draw: undefined, limit: undefined });
  });

  it("quirk 11: queries boards one by one if a lost board truncates the output", async () => {
    boards(3);
    const backend = smi();
    await backend.discover();
    tool.set(1, "lost", "");
    const seen = (await backend.discover()).boards ?? [];
    expect(seen.map(({ id, lost }) => [id, lost !== undefined])).toEqual([
      [uuid(0), false],
      [uuid(1), true],
      [uuid(2), false],
    ]);
    expect(seen[1]?.lost).toContain("GPU is lost");
    expect(await backend.cap(uuid(2), watts(300))).toEqual({ result: "applied" });
    // A new program without known UUIDs finds the same boards.
    expect((await smi().discover()).boards?.map(({ id, lost }) => [id, lost !== undefined])).toEqual([
      [uuid(0), false],
      ["nvidia-1", true],
      [uuid(2), false],
    ]);
  });

  it("quirk 12: blocks and rolls back a limit that the BMC undercuts", async () => {
    boards(1);
    tool.set(0, "oob", "500.00");
    expect(await smi().cap(uuid(0), watts(600))).toMatchObject({
      result: "blocked",
      message: expect.stringContaining("enforces 500 W, not 600 W"),
    });
    expect(tool.get(0, "power.limit")).toBe("700.00");
    expect(tool.writes()).toBe(2);
  });

  it("quirk 12: restores by the board's own limit, whatever the BMC enforces", async () => {
    boards(1);
    const backend = smi();
    expect(await backend.cap(uuid(0), watts(400))).toEqual({ result: "applied" });
    tool.set(0, "oob", "500.00");
    expect(await backend.restore(uuid(0), "700")).toEqual({ result: "applied" });
    expect(tool.get(0, "power.limit")).toBe("700.00");
    expect(tool.writes()).toBe(2);
  });

  it("reports a rejected restore as an error and does not set the cap again", async () => {
    boards(1);
    const backend = smi();
    await backend.cap(uuid(0), watts(400));
    tool.set(0, "ignore", "");
    expect(await backend.restore(uuid(0), "700")).toMatchObject({ result: "error" });
    expect(tool.writes()).toBe(2);
    tool.unset(0, "ignore");
    tool.set(0, "lost", "");
    await backend.discover();
    expect(await backend.restore(uuid(0), "700")).toMatchObject({ result: "error" });
    expect(tool.writes()).toBe(2);
  });

  it("reports the range or the missing permission of a rejected write", async () => {
    boards(1);
    const backend = smi();
    expect(await backend.cap(uuid(0), watts(150))).toEqual({
      result: "error",
      message: expect.stringContaining("between 200.00 W and 700.00 W"),
    });
    tool.set(0, "forbid", "");
    expect(await backend.cap(uuid(0), watts(300))).toEqual({
      result: "blocked",
      message: expect.stringContaining("Insufficient Permissions"),
    });
  });

  it("quirk 14: clamps an original to the current range", async () => {
    boards(1);
    tool.set(0, "power.max_limit", "600.00");
    expect(await smi().restore(uuid(0), "700")).toEqual({
      result: "applied",
      message: "700 W is out of range now: restored to 600 W",
    });
  });

  it("drops a column that an old driver does not support", async () => {
    boards(1);
    tool.set(-1, "unknown-field", "mig.mode.current");
    const [board] = (await smi().discover()).boards ?? [];
    expect(board).toMatchObject({ id: uuid(0), device: { max: 700 } });
    expect(board?.slicing).toBeUndefined();
  });

  it("X-65 is absent without the tool and says what to install", async () => {
    const backend = new NvidiaSmiBackend({ clock: systemClock, files: ["no-such-nvidia-smi"] });
    expect((await backend.discover()).absent).toMatch(/no-such-nvidia-smi is not installed: install .*driver/);
  });
});
