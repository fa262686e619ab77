import { matchesLabels, parseLabelSelector } from "../../../core/api/index.ts";
import {
  ageText,
  type ClusterObjects,
  type DeviceCap,
  defaultReportSettings,
  type NodeSummary,
  sourceText,
  summarizeNodes,
} from "../../../core/report/index.ts";
import { type Screen, usageError } from "../context.ts";
import { asList, type Printable } from "../output/output.ts";
import { bar, percentText, powerText } from "../output/screen.ts";
import { renderColumns, type TableColumn } from "../output/table.ts";

export function capText(cap: DeviceCap | undefined): string {
  if (cap === undefined) return "-";
  if (cap.watts === undefined) return percentText(cap.percent);
  return powerText(cap.watts);
}

const BAR = 5;
const usedText = (used: number | undefined): string =>
  used === undefined ? "-" : `${bar(used / 100, BAR)} ${percentText(used).padStart(5)}`;

const countText = (count: number | undefined, unknown = "?"): string =>
  count === undefined ? unknown : String(Math.round(count));

const receiptText = ({ receipts, powerState }: NodeSummary): string =>
  powerState === "off" ? "-" : receipts.map(({ device, result }) => `${device}:${result ?? "?"}`).join(" ") || "-";

export const nodeColumns: readonly TableColumn<NodeSummary>[] = [
  { head: "NAME", cell: ({ name }) => name, flexible: true },
  { head: "CLASS", cell: ({ schedulableClass }) => schedulableClass },
  { head: "POWER", cell: ({ drawn }) => powerText(drawn), right: true },
  { head: "CAP", cell: ({ budget }) => powerText(budget), right: true },
  { head: "USED", cell: ({ used }) => usedText(used), drop: 6 },
  { head: "COOLING", cell: ({ cooling }) => percentText(cooling), right: true, drop: 5 },
  { head: "PSU", cell: ({ psu }) => percentText(psu), right: true, drop: 7 },
  { head: "PODS", cell: ({ pods }) => countText(pods, "-"), right: true, drop: 3 },
  {
    head: "CPUS",
    cell: ({ allocation: { cpus, cpuCapacity } }) => `${countText(cpus)}/${countText(cpuCapacity)}`,
    right: true,
    drop: 8,
  },
  {
    head: "GPUS",
    cell: ({ allocation: { gpus, gpuCapacity } }) => (gpuCapacity === 0 ? "-" : `${gpus ?? "?"}/${gpuCapacity}`),
    right: true,
    drop: 9,
  },
  { head: "RACK", cell: ({ rack }) => rack ?? "-", drop: 10 },
  {
    head: "UPDATED",
    cell: ({ twinAge }) => (twinAge === undefined ? "never" : ageText(twinAge)),
    right: true,
    drop: 2,
  },
  {
    head: "PROFILE",
    cell: ({ profile, policy }) => `${profile ?? "-"}${policy === "pinned" ? " (pinned)" : ""}`,
    wide: true,
    drop: 13,
  },
  { head: "CPU-CAP", cell: ({ cpuCap }) => capText(cpuCap), right: true, wide: true, drop: 12 },
  { head: "GPU-CAP", cell: ({ gpuCap }) => capText(gpuCap), right: true, wide: true, drop: 12 },
  { head: "COOLING-AT-CAP", cell: ({ coolingAtCap }) => percentText(coolingAtCap), right: true, wide: true, drop: 14 },
  { head: "SLOWDOWN", cell: ({ slowdownPct }) => percentText(slowdownPct), right: true, wide: true, drop: 14 },
  { head: "SOURCE", cell: (node) => (node.source === undefined ? "-" : sourceText(node)), wide: true, drop: 15 },
  { head: "CONTROL", cell: receiptText, wide: true, drop: 16 },
  {
    head: "STATE",
    cell: ({ powerState, eligibility }) => (powerState === "on" ? eligibility : powerState),
    wide: true,
    drop: 17,
  },
];

const byValue: Readonly<Record<string, (node: NodeSummary) => number | string | undefined>> = {
  name: ({ name }) => name,
  class: ({ schedulableClass }) => schedulableClass,
  power: ({ drawn }) => drawn,
  cap: ({ budget }) => budget,
  used: ({ used }) => used,
  cooling: ({ cooling }) => cooling,
  psu: ({ psu }) => psu,
  pods: ({ pods }) => pods,
  cpus: ({ allocation }) => allocation.cpus,
  gpus: ({ allocation }) => allocation.gpus,
  rack: ({ rack }) => rack,
  updated: ({ twinAge }) => twinAge,
};
export const sortKeys: readonly string[] = Object.keys(byValue);
const textKeys: ReadonlySet<string> = new Set(["name", "class", "rack"]);
export const isAscending = (key: string, reversed: boolean): boolean => textKeys.has(key) !== reversed;

/** Texts ascending, numbers descending; unknown ones last. `key` is a column, or a label for `label:KEY`. */
export function sortedBy(nodes: readonly NodeSummary[], key: string, reversed = false): NodeSummary[] {
  const label = /^label:(.+)$/.exec(key)?.[1];
  const valueOf = label === undefined ? byValue[key] : ({ labels }: NodeSummary) => labels[label];
  if (valueOf === undefined) throw usageError(`--sort-by ${key}: use ${sortKeys.join(", ")} or label:KEY`);
  const order = (a: number | string, b: number | string): number =>
    typeof a === "number" && typeof b === "number" ? b - a : String(a) < String(b) ? -1 : Number(a !== b);
  return nodes
    .map((node) => ({ node, value: valueOf(node) }))
    .toSorted((one, other) => {
      if (one.value === undefined || other.value === undefined)
        return Number(one.value === undefined) - Number(other.value === undefined) || byName(one.node, other.node);
      return (reversed ? -1 : 1) * order(one.value, other.value) || byName(one.node, other.node);
    })
    .map(({ node }) => node);
}

const byName = (one: NodeSummary, other: NodeSummary): number => (one.name < other.name ? -1 : 1);

export function filterOf(text: string): (node: NodeSummary) => boolean {
  const wanted = text.trim();
  if (wanted === "") return () => true;
  const ofClass = /^class:(.*)$/.exec(wanted)?.[1];
  if (ofClass !== undefined) return ({ schedulableClass }) => schedulableClass.startsWith(ofClass);
  if (/[=!]|\bin\b/.test(wanted)) {
    const parsed = parseLabelSelector(wanted);
    if (parsed.ok) return ({ labels }) => matchesLabels(parsed.value, labels);
  }
  return ({ name }) => name.includes(wanted);
}

export interface NodeListOptions {
  readonly sortBy: string;
  readonly headers: boolean;
  readonly screen: Screen;
  readonly filter?: string;
}

export function nodeListOf(
  objects: ClusterObjects,
  { sortBy, headers, screen, filter = "" }: NodeListOptions,
): Printable {
  const nodes = sortedBy(summarizeNodes(objects, defaultReportSettings).filter(filterOf(filter)), sortBy);
  return {
    text: (wide) =>
      nodes.length === 0
        ? "No nodes found.\n"
        : renderColumns(nodes, nodeColumns, { columns: wide ? undefined : screen.columns, wide, headers }),
    value: () => asList(nodes),
    names: () => nodes.map(({ name }) => `node/${name}`),
  };
}
