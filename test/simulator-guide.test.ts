import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Figure, Source } from "../src/core/inventory/index.ts";
import {
  CPU_CLASSES,
  type DeviceClass,
  FACILITY_FIGURES,
  GPU_CLASSES,
  THERMAL_FIGURES,
  WORK_KINDS,
} from "../src/core/physics/index.ts";

const guide = readFileSync(join(import.meta.dirname, "../docs/guides/simulator.md"), "utf8");

const THERMAL_ROWS: Readonly<Record<keyof typeof THERMAL_FIGURES, string>> = {
  riseAtFull: "Degrees above the air at full power",
  timeConstant: "Time constant, seconds",
  throttleAt: "Slows itself down at, °C",
  resumeAt: "Stops doing so at, °C",
  hotClock: "Highest clock while hot",
};

const FACILITY_ROWS: Readonly<Record<keyof typeof FACILITY_FIGURES, string>> = {
  outsideMean: "Outside air, mean of the day, °C",
  outsideSwing: "Swing around it, degrees",
  warmestAt: "Warmest, seconds after midnight",
  supply: "Air to the nodes, °C",
  freeCoolingBelow: "Outside air cools for nothing up to, °C",
  supplyPerDegree: "Air to the nodes per warmer degree outside",
  standingShare: "Standing losses, share of rated IT power",
  coolingShare: "Cooling per watt of IT under free cooling",
  coolingPerDegree: "More of it per warmer degree outside",
};

/** The guide's tables as the code has them, sources numbered as they come. */
function tables(): string {
  const sources: Source[] = [];
  const told = ({ provenance, source }: Pick<Figure, "provenance" | "source">): string => {
    if (!sources.includes(source)) sources.push(source);
    return `${provenance} [${sources.indexOf(source) + 1}]`;
  };
  const cell = (figure: Figure): string => `${figure.value} ${told(figure)}`;
  const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
    [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  const classRow = ({ name, figures, load }: DeviceClass): readonly string[] => [
    name,
    cell(figures.staticShare),
    cell(figures.slowest),
    cell(figures.voltageFloor),
    cell(figures.floorClock),
    `${load.kind} ${told(load)}`,
  ];
  const clocks = ["Static share s", "Slowest clock", "Voltage floor", "Floor reached at", "Load curve"];
  const parts = [
    table(["CPUs", ...clocks], CPU_CLASSES.map(classRow)),
    table(["GPUs", ...clocks], GPU_CLASSES.map(classRow)),
    table(
      ["Work", "CPU load", "CPU share", "GPU load", "GPU share"],
      Object.values(WORK_KINDS).map((kind) => [
        kind.name,
        cell(kind.cpuUtil),
        cell(kind.cpuShare),
        cell(kind.gpuUtil),
        cell(kind.gpuShare),
      ]),
    ),
    table(
      ["Heat", "Value"],
      Object.entries(THERMAL_FIGURES).map(([name, figure]) => [
        THERMAL_ROWS[name as keyof typeof THERMAL_FIGURES],
        cell(figure),
      ]),
    ),
    table(
      ["Facility", "Value"],
      Object.entries(FACILITY_FIGURES).map(([name, figure]) => [
        FACILITY_ROWS[name as keyof typeof FACILITY_FIGURES],
        cell(figure),
      ]),
    ),
  ];
  const list = sources.map(({ title, where }, index) => `${index + 1}. ${title} (${where})`).join("\n");
  return [...parts, list].join("\n\n");
}

describe("docs/guides/simulator.md", () => {
  it("shows the model's figures as the code has them", () => {
    const [, shown] = /<!-- figures[^>]*-->\n\n([\s\S]*?)\n\n<!-- end of figures -->/.exec(guide) ?? [];
    expect(shown).toBe(tables());
  });

  it("says of every figure how it is known", () => {
    expect(tables().match(/undefined|\[0\]/)).toBeNull();
    for (const word of ["measured", "vendor", "assumed"]) expect(guide).toContain(`**${word}**`);
  });
});
