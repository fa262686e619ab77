import { agentPermissions } from "../src/programs/agent/permissions.ts";
import { extenderPermissions } from "../src/programs/extender/permissions.ts";
import { fleetPermissions } from "../src/programs/fleet/permissions.ts";
import { operatorPermissions } from "../src/programs/operator/permissions.ts";
import { powerPermissions } from "../src/programs/power/permissions.ts";

interface Rule {
  readonly namespace?: string;
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** docs/reference/permissions.md: what each program may do with the Kubernetes API. */
export function permissionsReference(): string {
  const programs: readonly [string, readonly Rule[]][] = [
    ["agent, `agent.mode=daemonset`", agentPermissions("daemonset")],
    ["agent, `agent.mode=pool`", agentPermissions("pool")],
    ["operator", operatorPermissions("the release's namespace")],
    ["extender", extenderPermissions],
    ["power, only with `power.enabled=true`", powerPermissions("the release's namespace")],
    ["fleet, for test clusters only", fleetPermissions("`fleet.namespace`")],
  ];
  const sections = programs.map(([title, rules]) => `## ${title}\n\n${HEADER}${rules.map(row).join("")}`);
  return `# Permissions\n\n${ORIGIN}\n\n${INTRODUCTION}\n\n${sections.join("\n")}`;
}

const ORIGIN = "<!-- Written by `npm run generate` from the permissions.ts of each program. Change it there. -->";
const INTRODUCTION =
  "The chart creates one ServiceAccount per program with exactly these rights. Tests on a real API server fail if one of\nthem is not needed. [Security model](../guides/security.md) explains them.";
const HEADER = "| API group | Resource | Verbs | Where |\n| --- | --- | --- | --- |\n";

const row = ({ namespace, apiGroups, resources, verbs }: Rule): string =>
  `| ${apiGroups.map((group) => group || "core").join(", ")} | ${resources.join(", ")} | ${verbs.join(", ")} | ${namespace ?? "cluster-wide"} |\n`;
