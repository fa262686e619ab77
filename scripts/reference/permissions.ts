import type { PermissionRule } from "../../src/platform/kube/index.ts";
import { type InstalledProgram, programPermissions } from "../../src/programs/permissions.ts";
import { table } from "./markdown.ts";

/** The heading of each program; the compiler asks for that of a new one. */
const titles: Readonly<Record<InstalledProgram, string>> = {
  agent: "agent, `agent.mode=daemonset`",
  "agent-pool": "agent, `agent.mode=pool`",
  operator: "operator",
  "operator-sleep": "operator, `preset=energy-sleep`, or `sleep.mode=recommend` or `on`",
  extender: "extender",
  "extender-energy": "extender, `preset=energy` or `energy-sleep`, or `extender.env.SCORING=energy`",
  dashboard: "dashboard, only with `dashboard.enabled=true`",
  power: "power, only with `power.enabled=true`, `preset=energy-sleep`, or `sleep.mode=recommend` or `on`",
  fleet: "fleet, for test clusters only",
  "fleet-sleep": "fleet, `fleet.sleep=true`",
  check: "check, a Job after an installation or upgrade",
  crds: "crds, a Job before an upgrade with `crds.upgrade=true`",
  uninstall: "uninstall, Jobs before and after the chart is uninstalled",
  "uninstall-fleet": "uninstall, with `fleet.enabled=true`",
};

/** docs/reference/permissions.md: what each program may do with the Kubernetes API. */
export function permissionsReference(): string {
  const names = {
    namespace: "the release's namespace",
    service: "the extender's Service",
    workloadNamespace: "`fleet.namespace`",
    lease: "the operator's Lease",
    powerLease: "the power program's Lease",
    fleet: "the fleet's Deployment",
  };
  const sections = Object.entries(titles).map(
    ([program, title]) =>
      `## ${title}\n\n${table(HEAD, programPermissions[program as InstalledProgram](names).map(cellsOf))}`,
  );
  return `# Permissions\n\n${ORIGIN}\n\n${INTRODUCTION}\n\n${sections.join("\n")}`;
}

const ORIGIN = "<!-- Written by `npm run generate` from the permissions.ts of each program. Change it there. -->";
const INTRODUCTION =
  "The chart creates one ServiceAccount per program with exactly these rights. Tests on a real API server fail if one of\nthem is not needed. [Security model](../guides/security.md) explains them.";
const HEAD = ["API group", "Resource", "Verbs", "Where"];

const cellsOf = ({ namespace, apiGroups, resources, resourceNames = [], verbs }: PermissionRule): string[] => [
  apiGroups.map((group) => group || "core").join(", "),
  resources.join(", ") + (resourceNames.length === 0 ? "" : `, only ${resourceNames.join(", ")}`),
  verbs.join(", "),
  namespace ?? "cluster-wide",
];
