import { Ansis } from "ansis";
import type { Percent } from "../../../core/units/index.ts";
import { printable } from "../../../platform/log/index.ts";
import type { Probe } from "./probe-machine.ts";

export function probeText(
  probe: Probe,
  requested: { readonly CPU_PCT: Percent; readonly GPU_PCT: Percent },
  ansis: Ansis = new Ansis(),
): string {
  const { cpu, memoryBytes, backends, throttle, energy, ...rest } = readable(probe);
  const reported = [...backends.map(({ absent }) => absent), throttle.absent, energy.missing];
  const warnings = rest.warnings.filter(
    (warning) => !reported.some((text) => text !== undefined && warning.endsWith(text)),
  );
  const heading = (text: string): string => ansis.bold(text);
  const facts = [
    ["model", cpu.model ?? "unknown"],
    ["in the catalogue as", cpu.catalogue],
    ["packages and cores", `${cpu.sockets ?? "?"} and ${cpu.cores ?? "?"}`],
    ["memory", memoryBytes === undefined ? "unknown" : `${Math.round(memoryBytes / 2 ** 30)} GiB`],
    ["driver", cpu.driver ?? "unknown"],
    ["throttle", throttle.absent ?? `${throttle.policies} cpufreq policies, down to ${throttle.lowestKHz / 1000} MHz`],
    [
      "energy counters",
      energy.zones.length === 0
        ? (energy.missing ?? "none")
        : energy.zones.map(({ zone, watts }) => `${zone} ${formatWatts(watts)}`).join(", "),
    ],
  ];
  const lines = [
    heading("This machine"),
    ...facts.map(([name = "", value = ""]) => `  ${name.padEnd(22)}${value}`),
    "",
    heading(
      `Power caps, and what ${requested.CPU_PCT} % of a CPU's and ${requested.GPU_PCT} % of a GPU's maximum would set`,
    ),
    ...backends.flatMap((backend) => backendLines(backend, ansis)),
    ...(warnings.length === 0 ? [] : ["", heading("Warnings"), ...warnings.map((warning) => `  ${warning}`)]),
  ];
  return `${lines.join("\n")}\n`;
}

/** Escapes control characters in model names and driver messages, so that a terminal does not interpret them. */
const readable = (probe: Probe): Probe =>
  JSON.parse(JSON.stringify(probe), (_, value: unknown) =>
    typeof value === "string" ? printable(value) : value,
  ) as Probe;

function backendLines({ name, absent, boards }: Probe["backends"][number], ansis: Ansis): string[] {
  if (absent !== undefined) return [`  ${name.padEnd(12)}${ansis.yellow("absent")}: ${absent}`];
  return boards.flatMap(({ id, model, min, max, limit, watts, wouldSet, problem, warnings }) => [
    `  ${name.padEnd(12)}${[id, model].filter((part) => part !== undefined).join(" ")}`,
    `  ${"".padEnd(12)}${rangeOf(min, max)}, limit now ${formatWatts(limit)}${watts === undefined ? "" : `, draws ${formatWatts(watts)}`}`,
    `  ${"".padEnd(12)}${problem === undefined ? `would set ${ansis.green(wouldSet)}` : `${ansis.yellow("cannot be capped")}: ${problem}`}`,
    ...warnings.map((warning) => `  ${"".padEnd(12)}${warning}`),
  ]);
}

const formatWatts = (watts: number | undefined): string =>
  watts === undefined ? "?" : `${Math.round(watts * 10) / 10} W`;

const rangeOf = (min: number | undefined, max: number | undefined): string =>
  min === undefined ? `up to ${formatWatts(max)}` : `${formatWatts(min)} to ${formatWatts(max)}`;
