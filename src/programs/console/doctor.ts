import { apiGroup, kinds } from "../../core/api/index.ts";
import {
  type ClusterObjects,
  defaultReportSettings,
  findProblems,
  isManaged,
  type Severity,
  severities,
  summarizeNodes,
} from "../../core/report/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { isApiError, type KubeObject, resources } from "../../platform/kube/index.ts";
import { type ExaminedCluster, missingDefinitions, missingPermissions } from "../check/index.ts";
import type { ConsoleContext, Screen } from "./context.ts";
import {
  bad,
  consoleVersion,
  type DoctorFinding,
  extenderFindings,
  fine,
  installedAccounts,
  machineClock,
  missing,
  nodeClocks,
} from "./doctor-checks.ts";
import { EVENT_NAMESPACE } from "./node-details.ts";
import type { Printable } from "./output.ts";
import { paintFor, wrap } from "./screen.ts";

export interface DoctorOptions {
  readonly namespace: string;
  readonly service: string;
  /** Of this console. */
  readonly version: string;
}

const CALL_TIMEOUT = milliseconds(5000);

/** `joulie doctor`: looks at everything that an installation needs. It changes nothing. */
export async function examineInstallation(
  context: ConsoleContext,
  objects: ClusterObjects,
  options: DoctorOptions,
): Promise<readonly DoctorFinding[]> {
  const guarded = async (check: string, work: Promise<readonly DoctorFinding[]>): Promise<readonly DoctorFinding[]> => {
    try {
      return await work;
    } catch (error) {
      // The API of a demo has no access reviews: everything is allowed there.
      if (isApiError(error, "notFound")) return [];
      const why = error instanceof Error ? error.message : String(error);
      return [bad(check, "notice", `Not checked: ${why}`, "check your permissions: kubectl auth can-i --list")];
    }
  };
  const cluster = { ...context, ...options };
  const found = await Promise.all([
    guarded("crds", definitions(context)),
    guarded("permissions", permissions(context, options.namespace)),
    guarded("program-permissions", programPermissions(cluster)),
    guarded("extender", extenderFindings(context, cluster)),
    guarded("clock", machineClock(context)),
    guarded("node-clocks", nodeClocks(context, objects)),
    Promise.resolve(mounts(objects)),
    Promise.resolve(consoleVersion(objects, options.version)),
  ]);
  return [...found.flat(), ...problemsAsFindings(objects)];
}

/** Of each program's ServiceAccount; nothing without programs, as in the demo. */
async function programPermissions(cluster: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const accounts = await installedAccounts(cluster.client, cluster.namespace);
  if (accounts.length === 0) return [];
  const lacking = await missingPermissions(cluster, accounts);
  if (lacking !== undefined) return [missing("program-permissions", lacking)];
  return [fine("program-permissions", `${accounts.map(({ account }) => account).join(", ")} may do what they need`)];
}

async function definitions(context: ConsoleContext): Promise<readonly DoctorFinding[]> {
  const lacking = await missingDefinitions(context);
  return lacking === undefined
    ? [fine("crds", `all ${kinds.length} kinds of ${apiGroup} are served`)]
    : [missing("crds", lacking)];
}

interface Question {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
}

/** What the commands of this console need; with fewer rights some of them fail. */
const questionsIn = (namespace: string): readonly Question[] => [
  { verb: "list", group: "", resource: "nodes" },
  { verb: "list", group: "", resource: "pods" },
  { verb: "list", group: apiGroup, resource: "nodetwins" },
  { verb: "list", group: apiGroup, resource: "nodehardwares" },
  { verb: "list", group: apiGroup, resource: "nodepowerprofiles" },
  { verb: "list", group: apiGroup, resource: "powerendpoints" },
  { verb: "create", group: apiGroup, resource: "nodepowerprofiles" },
  { verb: "patch", group: apiGroup, resource: "nodepowerprofiles" },
  { verb: "delete", group: apiGroup, resource: "nodepowerprofiles" },
  { verb: "patch", group: "", resource: "namespaces" },
  { verb: "get", group: "coordination.k8s.io", resource: "leases", namespace },
  { verb: "list", group: "apps", resource: "deployments", namespace },
  { verb: "list", group: "events.k8s.io", resource: "events", namespace: EVENT_NAMESPACE },
  { verb: "create", group: "", resource: "pods", subresource: "portforward", namespace },
];

async function permissions({ client }: ConsoleContext, namespace: string): Promise<readonly DoctorFinding[]> {
  const answers = await Promise.all(
    questionsIn(namespace).map(async (resourceAttributes) => {
      const { verb, resource, subresource } = resourceAttributes;
      const spec = { resourceAttributes };
      const { status } = await client.create<KubeObject & { readonly status?: { readonly allowed?: boolean } }>(
        resources.selfSubjectAccessReviews,
        { metadata: {}, spec },
        { timeout: CALL_TIMEOUT },
      );
      const what = subresource === undefined ? resource : `${resource}/${subresource}`;
      return status?.allowed === true ? [] : [`${verb} ${what}`];
    }),
  );
  const missing = answers.flat();
  return missing.length === 0
    ? [fine("permissions", "you may read and change what this console needs")]
    : [
        bad(
          "permissions",
          "warning",
          `You may not ${missing.join(", ")}.`,
          "ask an administrator for a ClusterRole with these verbs",
        ),
      ];
}

const BLOCKED_BY_MOUNT = /read-only|permission denied|EROFS|EACCES/i;

/** Agents that could not write to the host, by what they report. */
function mounts({ twins, hardware, notListed = [] }: ClusterObjects): readonly DoctorFinding[] {
  const affected = Array.from(twins.values()).filter(({ status }) =>
    Object.values(status?.controlStatus ?? {}).some((report) => BLOCKED_BY_MOUNT.test(report?.message ?? "")),
  );
  const withoutControl = Array.from(hardware.values()).filter(
    ({ status }) => status?.capabilities?.cpuControl === false,
  );
  if (affected.length > 0)
    return [
      bad(
        "mounts",
        "warning",
        `Agents of ${affected.length} nodes cannot write to the host, for example ${affected[0]?.metadata.name}.`,
        "mount /sys writable into the agent: see docs/guides/security.md",
      ),
    ];
  return withoutControl.length > 0
    ? [
        bad(
          "mounts",
          "notice",
          `Agents of ${withoutControl.length} nodes found no way to cap the CPU, for example ${withoutControl[0]?.metadata.name}.`,
          `joulie node ${withoutControl[0]?.metadata.name}`,
        ),
      ]
    : notListed.includes("twins") || notListed.includes("hardware")
      ? []
      : [fine("mounts", "no agent reports that it cannot write to its host")];
}

/** The rest are the problems of `joulie status`, without those that are checked above. */
function problemsAsFindings(objects: ClusterObjects): readonly DoctorFinding[] {
  const summaries = summarizeNodes(objects, defaultReportSettings);
  const problems = findProblems(objects, defaultReportSettings, summaries).filter(({ id }) => id !== "kinds-missing");
  const ids = new Set(problems.map(({ id }) => id));
  const managed = summaries.filter(isManaged);
  // Nodes that sleep or started a moment ago are no problem, and do not count as reporting either.
  const ofNodes = (count: number): string =>
    count === managed.length ? `${count} nodes` : `${count} of ${managed.length} nodes`;
  const reporting = managed.filter(({ receipts }) =>
    receipts.some(({ age }) => age !== undefined && age <= defaultReportSettings.agentSilentAfter),
  );
  const parts: DoctorFinding[] = [];
  const isTwinKnown = managed.length > 0 && objects.notListed?.includes("twins") !== true;
  if (isTwinKnown && !ids.has("agent-silent"))
    parts.push(fine("agents", `agents of ${ofNodes(reporting.length)} report`));
  if (isTwinKnown && !ids.has("twin-stale") && !ids.has("twin-missing"))
    parts.push(fine("twins", `twins of ${ofNodes(managed.filter(({ stale }) => !stale).length)} are fresh`));
  if (!ids.has("versions-differ") && (objects.installation?.programs.length ?? 0) > 0)
    parts.push(fine("versions", "all programs have one version"));
  return [
    ...parts,
    ...problems.map(({ id, severity, subject, what, meaning, command }) =>
      bad(id, severity, `${subject}: ${what} ${meaning}`, command),
    ),
  ];
}

/** Whether something has to be done. */
export const needsAction = (findings: readonly DoctorFinding[]): boolean =>
  findings.some(({ severity }) => severity === "critical" || severity === "warning");

const INDENT = " ".repeat(9);

export function doctorText(findings: readonly DoctorFinding[], screen: Screen): Printable {
  const order = (severity: Severity | undefined): number =>
    severity === undefined ? severities.length : severities.indexOf(severity);
  const sorted = findings.toSorted((one, other) => order(one.severity) - order(other.severity));
  return {
    text: () => {
      const paint = paintFor(screen);
      const colours = { critical: paint.red, warning: paint.yellow, notice: paint.cyan } as const;
      const lines = sorted.flatMap(({ check, severity, what, fix }) => {
        const head = severity === undefined ? "ok" : severity;
        const width = screen.columns === undefined ? undefined : screen.columns - INDENT.length;
        const [first = "", ...rest] = wrap(`${check}: ${what}`, width);
        const line = head.padEnd(INDENT.length) + first;
        const painted = severity === undefined ? paint.green(line) : colours[severity](line);
        return [
          painted,
          ...rest.map((more) => INDENT + more),
          ...(fix === undefined ? [] : [INDENT + paint.bold(`fix: ${fix}`)]),
        ];
      });
      return `${lines.join("\n")}\n`;
    },
    value: () => sorted,
    names: () => sorted.filter(({ severity }) => severity !== undefined).map(({ check }) => `finding/${check}`),
  };
}
