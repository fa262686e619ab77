import { afterEach, describe, expect, it } from "vitest";
import { watts } from "../../../core/units/index.ts";
import { systemClock, VirtualClock } from "../../clock/index.ts";
import { type FakeTool, fakeTool } from "../testing/fake-gpu-tools.ts";
import { type PowerCapFixture, powerCapCases } from "../testing/power-cap-contract.ts";
import { RocmSmiBackend } from "./rocm-smi.ts";
import { parseRocmReport } from "./rocm-smi-report.ts";

const unique = (board: number): string => `5c88007d49b8e9e${board}`;
const boardOf = (id: string): number => Number(id.at(-1));

const mi300x = (board: number): Record<string, string> => ({
  "draw-key": "Current Socket Graphics Package Power (W)",
  draw: "191.0",
  limit: "750.0",
  unique: `0x${unique(board)}`,
  series: "AMD Instinct MI300X OAM",
});

let tool: FakeTool;
const made: FakeTool[] = [];
function boards(count: number): FakeTool {
  tool = fakeTool(
    "rocm-smi",
    Array.from({ length: count }, (_, board) => mi300x(board)),
  );
  made.push(tool);
  return tool;
}
afterEach(() => {
  for (const one of made.splice(0)) one.remove();
});
const smi = (): RocmSmiBackend =>
  new RocmSmiBackend({ clock: new VirtualClock(), files: ["no-such-rocm-smi", tool.file] });

function fixture(): PowerCapFixture {
  const fake = boards(2);
  return {
    backend: smi(),
    boards: [unique(0), unique(1)],
    within: watts(500),
    beyond: [watts(751), watts(5000)],
    truth: (id) => watts(Number(fake.get(boardOf(id), "limit"))),
    state: () => [0, 1].map((board) => fake.get(board, "limit")),
    writes: () => fake.writes(),
    lose: (id) => fake.set(boardOf(id), "lost", ""),
    forbid: (id) => fake.set(boardOf(id), "forbid", ""),
    spoil: (id) => fake.set(boardOf(id), "spoil", ""),
    ignore: (id) => fake.set(boardOf(id), "ignore", ""),
    vanish: () => fake.vanish(),
  };
}

describe("AGT-46 rocm-smi fulfils the power-cap contract", () => {
  it.each(powerCapCases(fixture))("%s", async (_, check) => {
    await expect(check()).resolves.toBeUndefined();
  });
});

describe("rocm-smi", () => {
  it("AGT-46 identifies boards by unique id and sets the limit by card number", async () => {
    boards(2);
    tool.set(-1, "warn", "");
    const backend = smi();
    expect((await backend.discover()).boards?.[0]).toMatchObject({
      id: unique(0),
      vendor: "amd",
      model: "AMD Instinct MI300X OAM",
      device: { step: 1 },
    });
    expect(await backend.cap(unique(1), watts(500))).toEqual({ result: "applied" });
    expect(tool.runs()).toContain("-d 1 --setpoweroverdrive 500 --autorespond y");
    expect(await backend.power()).toEqual([0, 1].map((board) => ({ id: unique(board), power: 191 })));
  });

  it("quirk 20: caps the right board after its number changed", async () => {
    boards(2);
    const backend = smi();
    await backend.discover();
    tool.set(0, "unique", `0x${unique(1)}`);
    tool.set(1, "unique", `0x${unique(0)}`);
    expect(await backend.cap(unique(0), watts(500))).toEqual({ result: "applied" });
    expect([0, 1].map((board) => tool.get(board, "limit"))).toEqual(["750.0", "500.0"]);
  });

  it("quirk 23: treats N/A as missing, never as 0 W, and keeps the valid one of two keys", () => {
    const [card] = parseRocmReport(
      JSON.stringify({
        card0: {
          "Average Graphics Package Power (W)": "N/A",
          "Current Socket Graphics Package Power (W)": "191.0",
          "Max Graphics Package Power (W)": "N/A",
          "Unique ID": "N/A",
        },
      }),
    );
    expect(card).toMatchObject({ index: "0", draw: 191, limit: undefined, board: { id: "amd-0" } });
    expect(card?.board.locked).toContain("no power limit");
  });

  it("skips the second die of a package, which has no power", () => {
    const die = { "Average Graphics Package Power (W)": "N/A (Secondary die)", "Unique ID": "0x1" };
    expect(parseRocmReport(JSON.stringify({ card1: die, system: { "Driver version": "6" }, cardX: die }))).toEqual([]);
  });

  it.each(["[]", "null", "{}", '{"card0": null}', '{"card0": {}}'])("reads a report without cards: %j", (text) => {
    expect(parseRocmReport(text)).toEqual([]);
  });

  it.each(["", "Traceback (most recent call last)", '{"card0":'])("throws on invalid output: %j", (text) => {
    expect(() => parseRocmReport(text)).toThrow(SyntaxError);
  });

  it("X-65 is absent without the tool and says what to install", async () => {
    const backend = new RocmSmiBackend({ clock: systemClock, files: ["no-such-rocm-smi"] });
    expect((await backend.discover()).absent).toMatch(/no-such-rocm-smi is not installed: install rocm-smi/);
  });
});
