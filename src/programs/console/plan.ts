import {
  ageText,
  type ClusterObjects,
  counted,
  type PlannedChange,
  type PlanReport,
  planReport,
  replan,
} from "../../core/report/index.ts";
import { between, instant } from "../../core/units/index.ts";
import { requireKinds, whyUnknown } from "./cluster/cluster-reader.ts";
import { readProgramPages } from "./cluster/program-pages.ts";
import { catalogue, programSettings } from "./cluster/program-settings.ts";
import type { ConsoleContext, Screen } from "./context.ts";
import type { Printable } from "./output/output.ts";
import { wrap } from "./output/screen.ts";
import { renderColumns, type TableColumn } from "./output/table.ts";

/** A plan, and in words where it comes from. */
export interface SourcedPlan {
  readonly report: PlanReport;
  readonly source: string;
}

/** What changes next: by the leading operator, else recomputed from the API without its memory of arrivals, trends and sleep. */
export async function planOf(
  context: ConsoleContext,
  objects: ClusterObjects,
  namespace: string,
): Promise<SourcedPlan> {
  const { answers, why } = await readProgramPages(context, namespace, "operator", "debug/plan?changes", isPlanReport);
  for (const { value, from } of answers)
    if (isPlanReport(value)) {
      const age = between(instant(Date.parse(value.at)), objects.now);
      return { report: value, source: `The operator's own plan (${from}), ${ageText(age)} old.` };
    }
  // Without the twins every node would look new.
  requireKinds(objects, ["twins"]);
  const { operatorConfig, operatorSettingsOf } = await import("../operator/index.ts");
  const { values, source } = await programSettings(context.client, namespace, "operator", operatorConfig);
  const reason = why ?? (answers.length > 0 ? "it has no plan yet, or does not lead" : "it did not answer");
  const isPinKnown = objects.notListed?.includes("profiles") !== true;
  const pins = isPinKnown ? "" : ` Pins are unknown and left out: ${whyUnknown(objects, "profiles")}.`;
  return {
    report: planReport(replan(objects, operatorSettingsOf(values, catalogue))),
    source: `Computed now from the API with ${source}, without the operator's memory of arrivals, trends and sleep. The operator was not asked: ${reason}.${pins}`,
  };
}

const isPlanReport = (value: unknown): value is PlanReport =>
  typeof value === "object" && value !== null && Array.isArray((value as Partial<PlanReport>).changes);

const columns: readonly TableColumn<PlannedChange>[] = [
  { head: "NODE", cell: ({ node }) => node, flexible: true },
  { head: "CHANGE", cell: ({ change }) => change },
  { head: "WAITS FOR", cell: ({ waitsFor }) => waitsFor ?? "the next pass", flexible: true },
  { head: "WHY", cell: ({ reason }) => reason },
];

const INDENT = "  ";

/** Where the reasons do not fit beside the changes, each stands below its change. */
function changesTable(
  changes: readonly PlannedChange[],
  width: number | undefined,
  { wide, headers }: { readonly wide: boolean; readonly headers: boolean },
): string {
  const whole = renderColumns(changes, columns, { columns: undefined, wide, headers });
  if (wide || width === undefined || whole.split("\n").every((line) => line.length <= width)) return whole;
  const narrow = renderColumns(changes, columns.slice(0, -1), { columns: width, wide, headers });
  const lines = narrow.trimEnd().split("\n");
  const head = headers ? [lines.shift() ?? ""] : [];
  const below = lines.flatMap((line, index) => {
    const reason = changes[index]?.reason ?? "";
    return [line, ...(reason === "" ? [] : wrap(reason, width - INDENT.length).map((part) => INDENT + part))];
  });
  return `${[...head, ...below].join("\n")}\n`;
}

export function planText(
  { report, source }: SourcedPlan,
  { screen, headers }: { readonly screen: Screen; readonly headers: boolean },
): Printable {
  return {
    text: (wide) => {
      const { changes, unchanged, performanceNodes, performancePods, podsReadable, sleepBlocked } = report;
      const pods = podsReadable
        ? counted(performancePods, "performance pod")
        : "The pods cannot be read, so no node is downgraded";
      const head = `${pods}; the policy asks for ${counted(performanceNodes, "performance node")}. ${counted(unchanged, "node")} ${unchanged === 1 ? "stays as it is" : "stay as they are"}.`;
      const table =
        changes.length === 0 ? "Nothing changes.\n" : changesTable(changes, screen.columns, { wide, headers });
      const note = [
        ...(sleepBlocked === undefined ? [] : wrap(`No node falls asleep now: ${sleepBlocked}.`, screen.columns)),
        ...wrap(source, screen.columns),
      ];
      return `${wrap(head, screen.columns).join("\n")}\n\n${table}\n${note.join("\n")}\n`;
    },
    value: () => ({ ...report, source }),
    names: () => report.changes.map(({ node }) => `node/${node}`),
  };
}
