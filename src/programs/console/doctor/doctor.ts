import { apiGroup, errorMessageOf, kinds } from "../../../core/api/index.ts";
import {
  type ClusterObjects,
  counted,
  defaultReportSettings,
  findProblems,
  isManaged,
  type Severity,
  severities,
  summarizeNodes,
} from "../../../core/report/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import { isApiError, type KubeObject, resources } from "../../../platform/kube/index.ts";
import { type ExaminedCluster, missingDefinitions, missingPermissions } from "../../check/index.ts";
import { announcedUrl } from "../cluster/program-pages.ts";
import { advised, type ConsoleContext, type Screen } from "../context.ts";
import { EVENT_NAMESPACE } from "../nodes/node-details.ts";
import type { Printable } from "../output/output.ts";
import { paintFor, wrap } from "../output/screen.ts";
import {
  bad,
  consoleVersion,
  type DoctorFinding,
  extenderFindings,
  fine,
  installedAccounts,
  machineClock,
  missing,
  NODE_LEASES,
  nodeClocks,
} from "./doctor-checks.ts";

export interface DoctorOptions {
  readonly namespace: string;
  readonly service: string;
  readonly version: string;
}

const CALL_TIMEOUT = milliseconds(5000);

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
      const why = errorMessageOf(error);
      return [bad(check, "notice", `Not checked: ${why}`, "check your permissions: kubectl auth can-i --list")];
    }
  };
  const cluster = { ...context, ...options };
  // The time of a demo passes faster than that of this machine, and leases of its nodes are renewed in real time.
  const isDemo =
    (await announcedUrl(context.client, options.namespace, "operator").catch(() => undefined)) !== undefined;
  const found = await Promise.all([
    guarded("crds", definitions(context)),
    guarded("permissions", permissions(context, options.namespace)),
    guarded("program-permissions", programPermissions(cluster)),
    guarded("extender", extenderFindings(context, cluster)),
    ...(isDemo
      ? [Promise.resolve([fine("clock", "this is a demo with a time of its own, in which this console counts")])]
      : [guarded("clock", machineClock(context)), guarded("node-clocks", nodeClocks(context, objects))]),
    Promise.resolve(mounts(objects, context.target)),
    Promise.resolve(consoleVersion(objects, options.version)),
  ]);
  return [...found.flat(), ...problemsAsFindings(objects, context.target)];
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

interface NeededRight {
  readonly verbs: readonly string[];
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly changes?: true;
}

/** With fewer rights some commands fail or know less. */
const neededRights = (namespace: string): readonly NeededRight[] => [
  { verbs: ["get", "list", "watch"], group: "", resource: "nodes" },
  { verbs: ["list", "watch"], group: "", resource: "pods" },
  { verbs: ["list", "watch"], group: apiGroup, resource: "nodetwins" },
  { verbs: ["list", "watch"], group: apiGroup, resource: "nodehardwares" },
  { verbs: ["get", "list", "watch"], group: apiGroup, resource: "nodepowerprofiles" },
  { verbs: ["list", "watch"], group: apiGroup, resource: "powerendpoints" },
  { verbs: ["get"], group: "", resource: "namespaces", name: namespace },
  { verbs: ["get"], group: "coordination.k8s.io", resource: "leases", namespace },
  { verbs: ["list"], group: "coordination.k8s.io", resource: "leases", namespace: NODE_LEASES },
  { verbs: ["list"], group: "apps", resource: "deployments", namespace },
  { verbs: ["list"], group: "apps", resource: "daemonsets", namespace },
  { verbs: ["list"], group: "apps", resource: "statefulsets", namespace },
  { verbs: ["list"], group: "events.k8s.io", resource: "events", namespace: EVENT_NAMESPACE },
  { verbs: ["create"], group: "", resource: "pods", subresource: "portforward", namespace },
  { verbs: ["get"], group: "", resource: "pods", subresource: "log", namespace },
  { verbs: ["get"], group: "", resource: "pods", subresource: "proxy", namespace },
  { verbs: ["get"], group: "", resource: "services", subresource: "proxy", namespace },
  { verbs: ["create", "patch", "delete"], group: apiGroup, resource: "nodepowerprofiles", changes: true },
  { verbs: ["patch"], group: "", resource: "namespaces", name: namespace, changes: true },
];

async function permissions({ client }: ConsoleContext, namespace: string): Promise<readonly DoctorFinding[]> {
  const isAllowed = async (resourceAttributes: object): Promise<boolean> => {
    const { status } = await client.create<KubeObject & { readonly status?: { readonly allowed?: boolean } }>(
      resources.selfSubjectAccessReviews,
      { metadata: {}, spec: { resourceAttributes } },
      { timeout: CALL_TIMEOUT },
    );
    return status?.allowed === true;
  };
  const answers = await Promise.all(
    neededRights(namespace).map(async ({ verbs, changes = false, ...attributes }) => {
      const allowed = await Promise.all(verbs.map(async (verb) => isAllowed({ verb, ...attributes })));
      const refused = verbs.filter((_, at) => allowed[at] !== true);
      const { resource, subresource, namespace: within } = attributes;
      const what = subresource === undefined ? resource : `${resource}/${subresource}`;
      const where = within === undefined ? "" : ` in ${within}`;
      return refused.length === 0 ? [] : [{ changes, text: `${refused.join("/")} ${what}${where}` }];
    }),
  );
  const refused = answers.flat();
  if (refused.length === 0) return [fine("permissions", "you may read and change what this console needs")];
  const textOf = (changes: boolean) => refused.filter((one) => one.changes === changes).map(({ text }) => text);
  const fix = "ask an administrator for a ClusterRole with these verbs";
  const [reading, changing] = [textOf(false), textOf(true)];
  return [
    ...(reading.length === 0 ? [] : [bad("permissions", "warning", `You may not ${reading.join(", ")}.`, fix)]),
    // A console that only shows is usual.
    ...(changing.length === 0
      ? []
      : [
          bad(
            "permissions",
            "notice",
            `You may not ${changing.join(", ")}, which joulie pin, unpin, stop and resume need.`,
            fix,
          ),
        ]),
  ];
}

const BLOCKED_BY_MOUNT = /read-only|permission denied|EROFS|EACCES/i;

/** Agents that could not write to the host, by what they report. */
function mounts(
  { twins, hardware, notListed = [] }: ClusterObjects,
  target: ConsoleContext["target"],
): readonly DoctorFinding[] {
  const affected = Array.from(twins.values()).filter(({ status }) =>
    [status?.controlStatus?.cpu, status?.controlStatus?.gpu].some((report) =>
      BLOCKED_BY_MOUNT.test(report?.message ?? ""),
    ),
  );
  const withoutControl = Array.from(hardware.values()).filter(
    ({ status }) => status?.capabilities?.cpuControl === false,
  );
  if (affected.length > 0)
    return [
      bad(
        "mounts",
        "warning",
        `Agents of ${counted(affected.length, "node")} cannot write to the host, for example ${affected[0]?.metadata.name}.`,
        "mount /sys writable into the agent: see docs/guides/security.md",
      ),
    ];
  return withoutControl.length > 0
    ? [
        bad(
          "mounts",
          "notice",
          `Agents of ${counted(withoutControl.length, "node")} found no way to cap the CPU, for example ${withoutControl[0]?.metadata.name}.`,
          advised(`joulie node ${withoutControl[0]?.metadata.name}`, target),
        ),
      ]
    : notListed.includes("twins") || notListed.includes("hardware")
      ? []
      : [fine("mounts", "no agent reports that it cannot write to its host")];
}

function problemsAsFindings(objects: ClusterObjects, target: ConsoleContext["target"]): readonly DoctorFinding[] {
  const summaries = summarizeNodes(objects, defaultReportSettings);
  const problems = findProblems(objects, defaultReportSettings, summaries).filter(({ id }) => id !== "kinds-missing");
  const ids = new Set(problems.map(({ id }) => id));
  const managed = summaries.filter(isManaged);
  // Nodes that sleep or started a moment ago are no problem, and do not count as reporting either.
  const ofNodes = (count: number): string =>
    count === managed.length ? counted(count, "node") : `${count} of ${counted(managed.length, "node")}`;
  const reporting = managed.filter(({ receipts }) =>
    receipts.some(({ age }) => age !== undefined && age <= defaultReportSettings.agentSilentAfter),
  );
  const parts: DoctorFinding[] = [];
  // While Joulie is stopped, nothing refreshes them: that none is fresh is no problem, and not in order either.
  const isChecked = objects.installation?.stopped !== true && objects.notListed?.includes("twins") !== true;
  const fresh = managed.filter(({ stale }) => !stale);
  if (isChecked && reporting.length > 0 && !ids.has("agent-silent"))
    parts.push(fine("agents", `agents of ${ofNodes(reporting.length)} report`));
  if (isChecked && fresh.length > 0 && !ids.has("twin-stale") && !ids.has("twin-missing"))
    parts.push(fine("twins", `twins of ${ofNodes(fresh.length)} are fresh`));
  if (!ids.has("versions-differ") && (objects.installation?.programs.length ?? 0) > 0)
    parts.push(fine("versions", "all programs have one version"));
  return [
    ...parts,
    ...problems.map(({ id, severity, subject, what, meaning, command }) =>
      bad(id, severity, `${subject}: ${what} ${meaning}`, advised(command, target)),
    ),
  ];
}

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
