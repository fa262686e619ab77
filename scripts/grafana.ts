import type { MetricDefinition } from "../src/platform/metrics/index.ts";

interface PanelPlan {
  readonly title: string;
  readonly about: string;
  readonly unit: string;
  /** Width of 24. */
  readonly width: number;
  readonly type: "timeseries" | "stat";
  readonly queries: readonly { readonly expression: string; readonly legend: string }[];
}

const row = (title: string, panels: readonly PanelPlan[]) => ({ title, panels });
const series = (title: string, about: string, unit: string, queries: PanelPlan["queries"], width = 12): PanelPlan => ({
  title,
  about,
  unit,
  width,
  type: "timeseries",
  queries,
});
const stat = (title: string, about: string, unit: string, expression: string): PanelPlan => ({
  title,
  about,
  unit,
  width: 6,
  type: "stat",
  queries: [{ expression, legend: title }],
});

/** While the leader changes, two operators may be scraped: `max by (node)` counts each node once. */
const perNode = (metric: string): string => `max by (node) (${metric})`;

const rows = [
  row("Power and energy", [
    stat("Power", "All nodes with a reading.", "watt", `sum(${perNode("joulie_operator_node_power_watts")})`),
    stat(
      "Allowed by caps",
      "Most power that CPUs and GPUs may draw under their caps.",
      "watt",
      `sum(${perNode("joulie_operator_node_capped_power_watts")})`,
    ),
    stat(
      "Energy in this range",
      "From the counters of all nodes.",
      "joule",
      "sum(increase(joulie_operator_node_energy_joules_total[$__range]))",
    ),
    stat("Nodes asleep", "Switched off, or on their way.", "short", "max(joulie_operator_nodes_asleep)"),
    series("Power against caps and capacity", "Sums over all nodes.", "watt", [
      { expression: `sum(${perNode("joulie_operator_node_power_watts")})`, legend: "drawn" },
      { expression: `sum(${perNode("joulie_operator_node_capped_power_watts")})`, legend: "allowed by caps" },
      { expression: `sum(${perNode("joulie_operator_node_uncapped_power_watts")})`, legend: "capacity" },
    ]),
    series("Energy per hour", "By counters and increase, so that restarts do not matter.", "joule", [
      { expression: "sum(increase(joulie_operator_node_energy_joules_total[1h]))", legend: "all nodes" },
    ]),
    series("Nodes that use most", "Energy of the last hour.", "joule", [
      {
        expression: "topk(10, sum by (node) (increase(joulie_operator_node_energy_joules_total[1h])))",
        legend: "{{node}}",
      },
    ]),
    series("Nodes by state", "As published in NodeTwins.", "short", [
      { expression: "sum by (state) (max by (node, state) (joulie_operator_node_state))", legend: "{{state}}" },
    ]),
  ]),
  row("Caps", [
    series("Caps that are not proven", "The agent could not read its cap back.", "short", [
      { expression: "sum(joulie_cap_unproven)", legend: "devices" },
      { expression: "sum by (reason) (joulie_cap_alarm)", legend: "alarm: {{reason}}" },
    ]),
    series("State transitions", "Per second, by result.", "short", [
      {
        expression: "sum by (to_state, result) (rate(joulie_operator_state_transitions_total[5m]))",
        legend: "{{to_state}} {{result}}",
      },
    ]),
  ]),
  row("Placement", [
    series("Requests of kube-scheduler", "Per second.", "reqps", [
      { expression: "sum(rate(joulie_scheduler_filter_requests_total[5m]))", legend: "filter" },
      { expression: "sum(rate(joulie_scheduler_prioritize_requests_total[5m]))", legend: "prioritize" },
    ]),
    series("Duration of answers, 99th percentile", "By the extender's own clock.", "s", [
      {
        expression:
          "histogram_quantile(0.99, sum by (le) (rate(joulie_scheduler_prioritize_duration_seconds_bucket[5m])))",
        legend: "prioritize",
      },
      {
        expression: "histogram_quantile(0.99, sum by (le) (rate(joulie_scheduler_filter_duration_seconds_bucket[5m])))",
        legend: "filter",
      },
    ]),
    series("Stale twins", "Nodes that score neutrally because their twin is old.", "short", [
      { expression: "sum(max by (node) (joulie_scheduler_stale_twin_data))", legend: "nodes" },
    ]),
    series("Pending performance pods", "By what fit_aware_v1 has for them.", "short", [
      { expression: "max by (fit) (joulie_operator_pending_performance_pods)", legend: "{{fit}}" },
    ]),
  ]),
  row("Health", [
    series("Errors", "Per second.", "short", [
      { expression: "sum by (kind) (rate(joulie_operator_write_errors_total[5m]))", legend: "operator write {{kind}}" },
      { expression: "sum(rate(joulie_reconcile_errors_total[5m]))", legend: "agent reconcile" },
      { expression: "sum by (reason) (rate(joulie_power_switch_errors_total[5m]))", legend: "switch {{reason}}" },
    ]),
    series("Duration of a planning pass, 95th percentile", "Of the leader.", "s", [
      {
        expression: "histogram_quantile(0.95, sum by (le) (rate(joulie_operator_pass_duration_seconds_bucket[5m])))",
        legend: "pass",
      },
    ]),
  ]),
];

/** The names of all metrics in an expression, without the suffix of a histogram's series. */
export const metricsIn = (expression: string): string[] =>
  [...expression.matchAll(/\bjoulie_\w+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ""));

export const grafanaExpressions = (): readonly string[] =>
  rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(({ expression }) => expression)));

/** charts/joulie/files/grafana.json. Throws if a panel names a metric that no program has, or sums a counter without a rate. */
export function grafanaDashboard(catalogue: readonly MetricDefinition[]): string {
  const types = new Map(catalogue.map(({ name, type }) => [name, type]));
  for (const expression of grafanaExpressions())
    for (const name of metricsIn(expression)) {
      const type = types.get(name);
      if (type === undefined) throw new Error(`the Grafana dashboard names ${name}, which no program serves`);
      if (type === "counter" && !new RegExp(`(rate|increase)\\(${name}\\[`).test(expression))
        throw new Error(`the Grafana dashboard shows the counter ${name} without rate or increase`);
    }
  let id = 0;
  let y = 0;
  const panels: object[] = [];
  for (const { title, panels: planned } of rows) {
    panels.push({ id: ++id, type: "row", title, collapsed: false, gridPos: { x: 0, y: y++, w: 24, h: 1 }, panels: [] });
    let x = 0;
    let height = 0;
    for (const panel of planned) {
      const h = panel.type === "stat" ? 4 : 8;
      if (x + panel.width > 24) [x, y, height] = [0, y + height, 0];
      panels.push(panelOf(panel, ++id, { x, y, w: panel.width, h }));
      x += panel.width;
      height = Math.max(height, h);
    }
    y += height;
  }
  const dashboard = {
    title: "Joulie",
    uid: "joulie",
    description: "Written by `npm run generate` from scripts/grafana.ts. Change it there.",
    tags: ["joulie", "energy"],
    editable: true,
    schemaVersion: 39,
    refresh: "1m",
    time: { from: "now-24h", to: "now" },
    templating: {
      list: [{ name: "datasource", type: "datasource", query: "prometheus", label: "Prometheus" }],
    },
    panels,
  };
  return `${JSON.stringify(dashboard, undefined, 2)}\n`;
}

const source = { type: "prometheus", uid: "${datasource}" };

const panelOf = ({ title, about, unit, type, queries }: PanelPlan, id: number, gridPos: object): object => ({
  id,
  title,
  description: about,
  type,
  datasource: source,
  gridPos,
  fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
  options:
    type === "stat"
      ? { reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false }, graphMode: "none" }
      : { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi" } },
  targets: queries.map(({ expression, legend }, index) => ({
    refId: String.fromCharCode(65 + index),
    datasource: source,
    expr: expression,
    legendFormat: legend,
  })),
});
