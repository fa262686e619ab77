import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { defaultFacility, THERMAL_DEFAULTS, WORK_KINDS } from "../src/core/physics/index.ts";
import { CPU_CLASSES, type DeviceClass, GPU_CLASSES, POWER_STATES, REST_OF_SERVER } from "../src/core/power/index.ts";
import { VirtualClock } from "../src/platform/clock/testing/index.ts";
import { parseConfig } from "../src/platform/config/index.ts";
import { simulateConfig } from "../src/programs/simulate/config.ts";
import { simulate } from "../src/programs/simulate/simulate.ts";

const readGuide = (name: string): string => readFileSync(join(import.meta.dirname, "../docs/guides", name), "utf8");
const model = readGuide("model.md");
const experiments = readGuide("experiments.md");

const THERMAL_ROWS: Readonly<Record<keyof typeof THERMAL_DEFAULTS, string>> = {
  riseAtFull: "Degrees above the air at full power",
  timeConstant: "Time constant, seconds",
};

const FACILITY_ROWS: Readonly<Record<keyof typeof defaultFacility, string>> = {
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

const REST_ROWS: Readonly<Record<keyof typeof REST_OF_SERVER, string>> = {
  idlePerPackage: "Idle watts for each CPU package",
  cpuSlope: "Watts for each watt above idle, without GPUs",
  idlePerBoardWatt: "Idle watts for each watt of the boards' rating",
  gpuSlope: "Watts for each watt above idle, with GPUs",
};

const STATE_ROWS: Readonly<Record<keyof typeof POWER_STATES, string>> = {
  offWithoutGpus: "Watts while off, without GPUs",
  offWithGpus: "Watts while off, with GPUs",
  shutdown: "Shutdown, seconds",
  bootWithoutGpus: "Boot, seconds, without GPUs",
  bootWithGpus: "Boot, seconds, with GPUs",
  bootLoad: "A boot draws as much as this CPU load",
  failedBoots: "Share of boots that fail",
  repair: "Repair after a second failure, seconds",
};

const SHOWN = /<!-- figures[^>]*-->\n\n([\s\S]*?)\n\n### Sources\n\n([\s\S]*?)\n\n<!-- end of figures -->/;
const [, shown = "", sources = ""] = SHOWN.exec(model) ?? [];
/** What stands behind each figure in the guide. */
const ORIGIN = / (?:measured|vendor|assumed) \[(\d+)\]/g;

/** The tables of the model guide, built from the code, without the origins of the figures. */
function tables(): string {
  const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
    [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  const classRow = ({ name, clock, shape }: DeviceClass): readonly string[] => [
    name,
    ...[clock.staticShare, clock.slowest, clock.voltageFloor, clock.floorClock].map(String),
    shape(0.5) === 0.5 ? "line" : "points",
  ];
  const clocks = ["Static share s", "Slowest clock", "Voltage floor", "Floor reached at", "Load curve"];
  const parts = [
    "### CPUs",
    table(["CPUs", ...clocks], CPU_CLASSES.map(classRow)),
    "### GPUs",
    table(["GPUs", ...clocks], GPU_CLASSES.map(classRow)),
    "### Work",
    table(
      ["Work", "CPU load", "CPU share", "GPU load", "GPU share"],
      Object.values(WORK_KINDS).map((kind) => [
        kind.name,
        String(kind.cpuUtil),
        String(kind.cpuShare),
        String(kind.gpuUtil),
        String(kind.gpuShare),
      ]),
    ),
    "### Heat of a node",
    table(
      ["Heat", "Value"],
      Object.entries(THERMAL_DEFAULTS).map(([name, figure]) => [
        THERMAL_ROWS[name as keyof typeof THERMAL_DEFAULTS],
        String(figure),
      ]),
    ),
    "### Facility figures",
    table(
      ["Facility", "Value"],
      Object.entries(defaultFacility).map(([name, figure]) => [
        FACILITY_ROWS[name as keyof typeof defaultFacility],
        String(figure),
      ]),
    ),
    "### Rest of the server",
    table(
      ["Rest of the server", "Value"],
      Object.entries(REST_OF_SERVER).map(([name, figure]) => [
        REST_ROWS[name as keyof typeof REST_OF_SERVER],
        String(figure),
      ]),
    ),
    "### Power states",
    table(
      ["Power states", "Value"],
      Object.entries(POWER_STATES).map(([name, figure]) => [
        STATE_ROWS[name as keyof typeof POWER_STATES],
        String(figure),
      ]),
    ),
  ];
  return parts.join("\n\n");
}

describe("docs/guides/model.md", () => {
  it("shows the same figures as the code", () => {
    expect(shown.replaceAll(ORIGIN, "")).toBe(tables());
  });

  it("states the origin of every figure, and a source for it", () => {
    const rows = shown.split("\n").filter((line) => line.startsWith("|") && /\d/.test(line));
    const figures = rows.flatMap((row) => row.split("|").slice(2, -1));
    expect(figures.length).toBeGreaterThan(100);
    for (const figure of figures) expect(figure.match(ORIGIN)).toHaveLength(1);
    const numbers = new Set(Array.from(shown.matchAll(ORIGIN), ([, number]) => Number(number)));
    const listed = sources.split("\n").map((line) => Number(/^(\d+)\. \S/.exec(line)?.[1]));
    expect(listed).toEqual(Array.from(numbers).toSorted((one, other) => one - other));
    for (const word of ["measured", "vendor", "assumed"]) expect(model).toContain(`**${word}**`);
  });
});

interface Result {
  readonly command: string;
  readonly shown: string;
}

/** Each command of the guide that stands alone in a block directly above a table. */
const results: readonly Result[] = Array.from(
  `${experiments}\n${readGuide("energy.md")}\n${readGuide("sleep.md")}`.matchAll(
    /```sh\n(joulie simulate [^\n]*)\n```\n\n(\|[^]*?)\n\n/g,
  ),
  ([, command = "", shown = ""]) => ({ command, shown }),
);

async function printedBy(command: string): Promise<string> {
  const flags = Object.fromEntries(
    Array.from(command.matchAll(/--(\S+)(?: (?!--)(\S+))?/g), ([, name = "", value = "true"]) => [
      name.toUpperCase().replaceAll("-", "_"),
      value,
    ]),
  );
  const config = parseConfig(simulateConfig, { env: {}, flags, machine: { isTerminal: false, exists: () => false } });
  if (!config.ok) throw new Error(JSON.stringify(config.error));
  let printed = "";
  const out = (text: string): void => void (printed += text);
  await simulate(config.value.values, {
    clock: new VirtualClock(),
    out,
    err: out,
  });
  return printed;
}

/** The columns of the output that the guide's table shows; the header of that table names them. */
function chosenFrom(printed: string, header: string): string {
  const [, means = [], differences = [], changes = []] = printed
    .split("\n\n")
    .map((part) => part.split("\n").map((line) => line.split(/ {2,}/)));
  const titles = header
    .split("|")
    .slice(1, -1)
    .map((title) => title.trim());
  const rows = means.slice(1).map((row) =>
    titles.map((title) => {
      const [, compared, percent] = /^(.*) \((% )?against .*\)$/.exec(title) ?? [];
      if (compared === undefined) return row[means[0]?.indexOf(title) ?? -1];
      const columns = percent === undefined ? changes : differences;
      const other = columns.find(([arm]) => arm === row[0]);
      return other === undefined ? "" : other[columns[0]?.indexOf(compared) ?? -1];
    }),
  );
  return [titles, titles.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

describe("the results in docs/guides/experiments.md, energy.md and sleep.md", () => {
  const isSmall = ({ command }: Result): boolean => command.includes("--nodes");
  // All of them take minutes, so they run only with JOULIE_GUIDE_RESULTS=1. A change of the code also changes the small one.
  const isWanted = (result: Result): boolean => isSmall(result) || process.env["JOULIE_GUIDE_RESULTS"] !== undefined;

  it.each(results.filter(isWanted))("are what $command prints", { timeout: 600_000 }, async ({ command, shown }) => {
    const [header = ""] = shown.split("\n");
    expect(shown).toBe(chosenFrom(await printedBy(command), header));
  });

  it("have a command each, one of them small enough to run every time", () => {
    expect(results.length).toBeGreaterThanOrEqual(6);
    expect(results.filter(isSmall)).toHaveLength(1);
  });
});
