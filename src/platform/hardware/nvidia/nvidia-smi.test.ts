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

function scene(): PowerCapFixture {
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

describe("AGT-45 nvidia-smi keeps the contract of every backend", () => {
  it.each(powerCapCases(scene))("%s", async (_, check) => {
    await expect(check()).resolves.toBeUndefined();
  });
});

describe("nvidia-smi", () => {
  it("AGT-45 tells boards by UUID and sets one by it, as arguments and never through a shell", async () => {
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

  it("one run serves a look, the limits and the power of one tick", async () => {
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

  it.each(["[N/A]", "[Not Supported]", "[Unknown Error]", "N/A", ""])("quirk 23: %j is missing, never 0 W", (words) => {
    const line = `0, GPU-a, NVIDIA T4, ${words}, ${words}, ${words}, ${words}, ${words}, ${words}, [N/A], Enabled`;
    const [row] = parseSmiTable(line, smiColumns);
    expect(row).toMatchObject({ draw: undefined, limit: undefined, enforced: undefined });
    expect(row?.board.device).toEqual({ min: undefined, max: undefined, step: 1 });
    expect(row?.board.lost ?? row?.board.locked).toContain("nvidia-smi says");
    expect(row?.board.slicing).toBeUndefined();
  });

  it("passes over what is no row", () => {
    expect(parseSmiTable("", smiColumns)).toEqual([]);
    expect(parseSmiTable("No devices were found\n", smiColumns)).toEqual([]);
    expect(parseSmiTable("0, GPU-a\n, , ,\n", smiColumns)).toEqual([]);
    const wild = "1, GPU-b, X, 1e308, -5, NaN, 1e999, Infinity, 0x10, ?, ?";
    expect(parseSmiTable(wild, smiColumns)[0]).toMatchObject({ draw: undefined, limit: undefined });
  });

  it("quirk 11: a lost board spoils the answer for all, and the others are asked for one by one", async () => {
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
    // A program that starts now knows no UUIDs yet, and finds the same.
    expect((await smi().discover()).boards?.map(({ id, lost }) => [id, lost !== undefined])).toEqual([
      [uuid(0), false],
      ["nvidia-1", true],
      [uuid(2), false],
    ]);
  });

  it("quirk 12: a limit that the BMC undercuts is blocked, and taken back", async () => {
    boards(1);
    tool.set(0, "oob", "500.00");
    expect(await smi().cap(uuid(0), watts(600))).toMatchObject({
      result: "blocked",
      message: expect.stringContaining("enforced 500 W, not 600 W"),
    });
    expect(tool.get(0, "power.limit")).toBe("700.00");
    expect(tool.writes()).toBe(2);
  });

  it("quirk 12: a restore goes by the board's own limit, whatever the BMC enforces: our cap does not come back", async () => {
    boards(1);
    const backend = smi();
    expect(await backend.cap(uuid(0), watts(400))).toEqual({ result: "applied" });
    tool.set(0, "oob", "500.00");
    expect(await backend.restore(uuid(0), "700")).toEqual({ result: "applied" });
    expect(tool.get(0, "power.limit")).toBe("700.00");
    expect(tool.writes()).toBe(2);
  });

  it("a restore that the board does not take is an error, and is not followed by our cap", async () => {
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

  it("a refusal says its range, or its permission", async () => {
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

  it("quirk 14: an original outside today's range goes to its edge", async () => {
    boards(1);
    tool.set(0, "power.max_limit", "600.00");
    expect(await smi().restore(uuid(0), "700")).toEqual({
      result: "applied",
      message: "700 W is out of range by now: restored to 600 W",
    });
  });

  it("a column that an old driver does not know is left out", async () => {
    boards(1);
    tool.set(-1, "unknown-field", "mig.mode.current");
    const [board] = (await smi().discover()).boards ?? [];
    expect(board).toMatchObject({ id: uuid(0), device: { max: 700 } });
    expect(board?.slicing).toBeUndefined();
  });

  it("X-65 a missing tool is absent with what to install", async () => {
    const backend = new NvidiaSmiBackend({ clock: systemClock, files: ["no-such-nvidia-smi"] });
    expect((await backend.discover()).absent).toMatch(/no-such-nvidia-smi is not installed: install .*driver/);
  });
});
