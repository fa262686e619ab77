import { agentConfig } from "../../src/programs/agent/config.ts";
import { agentPermissions } from "../../src/programs/agent/permissions.ts";
import { extenderConfig } from "../../src/programs/extender/config.ts";
import { extenderPermissions } from "../../src/programs/extender/permissions.ts";
import { fleetConfig } from "../../src/programs/fleet/config.ts";
import { fleetPermissions } from "../../src/programs/fleet/permissions.ts";
import { operatorConfig } from "../../src/programs/operator/config.ts";
import { operatorPermissions } from "../../src/programs/operator/permissions.ts";
import { powerConfig } from "../../src/programs/power/config.ts";
import { powerPermissions } from "../../src/programs/power/permissions.ts";
import { startOptions } from "../../src/programs/start-options.ts";
import { uninstallPermissions } from "../../src/programs/uninstall/permissions.ts";
import { imageConfig } from "../image/layout.ts";
import { rbacTemplate, startTemplate, valuesFile, valuesReference, valuesSchema } from "./generate.ts";
import { chartValues, reservedVariables } from "./values.ts";

/** The chart's generated files, by path in the repository. */
export async function chartFiles(): Promise<[string, string][]> {
  const values = chartValues({
    operator: operatorConfig,
    agent: agentConfig,
    extender: extenderConfig,
    fleet: fleetConfig,
    power: powerConfig,
  });
  const agent = (mode: "daemonset" | "pool") =>
    rbacTemplate(
      "agent",
      `.Values.agent.enabled (eq .Values.agent.mode "${mode}")`,
      agentPermissions(mode, "{{ .Release.Namespace }}"),
    );
  return [
    ["charts/joulie/values.yaml", valuesFile(values)],
    ["charts/joulie/values.schema.json", valuesSchema(values)],
    ["docs/reference/chart.md", valuesReference(values, reservedVariables)],
    ["charts/joulie/templates/generated/_start.tpl", startTemplate(imageConfig.entrypoint, startOptions)],
    [rbacFile("agent"), `${agent("daemonset")}${agent("pool")}`],
    [
      rbacFile("operator"),
      rbacTemplate("operator", ".Values.operator.enabled", operatorPermissions("{{ .Release.Namespace }}")),
    ],
    [rbacFile("extender"), rbacTemplate("extender", "true", extenderPermissions)],
    [rbacFile("power"), rbacTemplate("power", ".Values.power.enabled", powerPermissions("{{ .Release.Namespace }}"))],
    [
      rbacFile("uninstall"),
      rbacTemplate(
        "uninstall",
        ".Values.uninstall.enabled",
        uninstallPermissions("{{ .Release.Namespace }}"),
        "pre-delete,post-delete",
      ),
    ],
    [
      rbacFile("fleet"),
      rbacTemplate("fleet", ".Values.fleet.enabled", fleetPermissions("{{ .Values.fleet.namespace }}")),
    ],
  ];
}

const rbacFile = (program: string) => `charts/joulie/templates/generated/rbac-${program}.yaml`;
