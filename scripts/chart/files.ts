import { presets } from "../../src/core/presets/index.ts";
import { agentConfig } from "../../src/programs/agent/config.ts";
import { dashboardConfig } from "../../src/programs/dashboard/config.ts";
import { extenderConfig } from "../../src/programs/extender/config.ts";
import { fleetConfig } from "../../src/programs/fleet/config.ts";
import { operatorConfig } from "../../src/programs/operator/config.ts";
import { type InstalledProgram, programPermissions } from "../../src/programs/permissions.ts";
import { powerConfig } from "../../src/programs/power/config.ts";
import { startOptions } from "../../src/programs/start-options.ts";
import { imageConfig } from "../image/layout.ts";
import { presetsTemplate, rbacTemplate, startTemplate, valuesFile, valuesReference, valuesSchema } from "./generate.ts";
import { chartValues, reservedVariables, shortestGrace } from "./values.ts";

interface RbacFile {
  /** When the chart creates the ServiceAccount and its roles. */
  readonly condition: string;
  /** The Helm hooks whose Jobs need them; otherwise they are part of the release. */
  readonly hook?: string;
  /** The ServiceAccount, if it has another name than the program. */
  readonly account?: string;
}

/** Whether the extender needs to read pods. */
const byEnergy = '(eq (include "joulie.scoring" .) "energy")';

/** Whether the operator decides about sleep, which needs the power program. */
const sleeps = '(ne (include "joulie.sleepMode" .) "off")';

/** The compiler asks for the row of a new program. */
const rbacFiles: Readonly<Record<InstalledProgram, RbacFile>> = {
  agent: { condition: '.Values.agent.enabled (eq .Values.agent.mode "daemonset")' },
  "agent-pool": { condition: '.Values.agent.enabled (eq .Values.agent.mode "pool")', account: "agent" },
  operator: { condition: `.Values.operator.enabled (not ${sleeps})` },
  "operator-sleep": { condition: `.Values.operator.enabled ${sleeps}`, account: "operator" },
  extender: { condition: `(not ${byEnergy})` },
  "extender-energy": { condition: byEnergy, account: "extender" },
  dashboard: { condition: ".Values.dashboard.enabled" },
  power: { condition: '(include "joulie.hasPower" .)' },
  fleet: { condition: ".Values.fleet.enabled (not .Values.fleet.sleep)" },
  "fleet-sleep": { condition: ".Values.fleet.enabled .Values.fleet.sleep", account: "fleet" },
  check: { condition: ".Values.check.enabled", hook: "post-install,post-upgrade" },
  crds: { condition: ".Values.crds.upgrade", hook: "pre-upgrade" },
  uninstall: { condition: ".Values.uninstall.enabled (not .Values.fleet.enabled)", hook: "pre-delete,post-delete" },
  "uninstall-fleet": {
    condition: ".Values.uninstall.enabled .Values.fleet.enabled",
    hook: "pre-delete,post-delete",
    account: "uninstall",
  },
};

/** Template expressions in the place of names. */
const names = {
  namespace: "{{ .Release.Namespace }}",
  service: "{{ .Values.extender.service.name }}",
  workloadNamespace: "{{ .Values.fleet.namespace }}",
  lease: '{{ .Values.operator.env.LEASE_NAME | default "joulie-operator" }}',
  powerLease: '{{ .Values.power.env.LEASE_NAME | default "joulie-power" }}',
  fleet: '{{ include "joulie.fullname" . }}-fleet',
};

/** The chart's generated files, by path in the repository. */
export async function chartFiles(): Promise<[string, string][]> {
  const values = chartValues({
    operator: operatorConfig,
    agent: agentConfig,
    extender: extenderConfig,
    fleet: fleetConfig,
    power: powerConfig,
    dashboard: dashboardConfig,
  });
  return [
    ["charts/joulie/values.yaml", valuesFile(values)],
    ["charts/joulie/values.schema.json", valuesSchema(values)],
    ["docs/reference/chart.md", valuesReference(values, reservedVariables)],
    [
      "charts/joulie/templates/generated/_start.tpl",
      startTemplate(imageConfig.entrypoint, startOptions, shortestGrace),
    ],
    ["charts/joulie/templates/generated/_presets.tpl", presetsTemplate(presets)],
    ...Object.entries(rbacFiles).map(([program, { condition, hook, account = program }]): [string, string] => [
      `charts/joulie/templates/generated/rbac-${program}.yaml`,
      rbacTemplate(account, condition, programPermissions[program as InstalledProgram](names), hook),
    ]),
  ];
}
