import {
  type ClusterObjects,
  type PlannedChange,
  type PlanReport,
  planReport,
  replan,
} from "../../core/report/index.ts";
import type { ConsoleContext, Screen } from "./context.ts";
import type { Printable } from "./output.ts";
import { catalogue, programSettings } from "./program-settings.ts";
import { wrap } from "./screen.ts";
import { renderColumns, type TableColumn } from "./table.ts";

/** The changes that the operator makes next, recomputed from the API by its own code. */
export async function planOf(
  context: ConsoleContext,
  objects: ClusterObjects,
  namespace: string,
): Promise<{ readonly report: PlanReport; readonly source: string }> {
  const { operatorConfig, settingsOf } = await import("../operator/index.ts");
  const { values, source } = await programSettings(context.client, namespace, "operator", operatorConfig);
  const notes = values.POLICY_TYPE === "fit_aware_v1" ? ", without the operator's memory of arrivals" : "";
  return { report: planReport(replan(objects, settingsOf(values, catalogue))), source: source + notes };
}

const columns: readonly TableColumn<PlannedChange>[] = [
  { head: "NODE", cell: ({ node }) => node, flexible: true },
  { head: "CHANGE", cell: ({ change }) => change },
  { head: "WAITS FOR", cell: ({ waitsFor }) => waitsFor ?? "the next pass", flexible: true },
  { head: "WHY", cell: ({ reason }) => reason, drop: 1 },
];

/** `joulie plan`. */
export function planText(
  { report, source }: { readonly report: PlanReport; readonly source: string },
  { screen, headers }: { readonly screen: Screen; readonly headers: boolean },
): Printable {
  return {
    text: (wide) => {
      const { changes, unchanged, performanceNodes, performancePods } = report;
      const head = `${performancePods} performance pods; the policy asks for ${performanceNodes} performance nodes. ${unchanged} nodes stay as they are.`;
      const table =
        changes.length === 0
          ? "Nothing changes.\n"
          : renderColumns(changes, columns, { columns: wide ? undefined : screen.columns, wide, headers });
      const note = wrap(`Computed now from the API with ${source}.`, screen.columns);
      return `${wrap(head, screen.columns).join("\n")}\n\n${table}\n${note.join("\n")}\n`;
    },
    value: () => ({ ...report, source }),
    names: () => report.changes.map(({ node }) => `node/${node}`),
  };
}
