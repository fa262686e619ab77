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
import { withTimeLimit } from "../../platform/clock/index.ts";
import { type KubeObject, resources } from "../../platform/kube/index.ts";
import type { ConsoleContext, Screen } from "./context.ts";
import type { Printable } from "./output.ts";
import { paintFor, wrap } from "./screen.ts";

/** One thing that the doctor looked at. */
export interface DoctorFinding {
  readonly check: string;
  /** Undefined: it is in order. */
  readonly severity: Severity | undefined;
  readonly what: string;
  readonly fix: string | undefined;
}

export interface DoctorOptions {
  readonly namespace: string;
  readonly service: string;
}

const CALL_TIMEOUT = milliseconds(5000);
const MAX_SKEW = milliseconds(30_000);
const fine = (check: string, what: string): DoctorFinding => ({ check, severity: undefined, what, fix: undefined });
const bad = (check: string, severity: Severity, what: string, fix: string): DoctorFinding => ({
  check,
  severity,
  what,
  fix,
});

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
      const why = error instanceof Error ? error.message : String(error);
      return [bad(check, "notice", `Not checked: ${why}`, "check your permissions: kubectl auth can-i --list")];
    }
  };
  const found = await Promise.all([
    Promise.resolve(definitions(objects)),
    guarded("permissions", permissions(context)),
    guarded("extender", extender(context, options)),
    guarded("clock", clockSkew(context)),
    Promise.resolve(mounts(objects)),
  ]);
  return [...found.flat(), ...problemsAsFindings(objects)];
}

function definitions({ installation }: ClusterObjects): readonly DoctorFinding[] {
  const missing = installation?.missingKinds ?? [];
  return missing.length > 0
    ? [bad("crds", "critical", `The API server does not know ${missing.join(", ")}.`, "joulie crds apply")]
    : [fine("crds", `all ${kinds.length} kinds of ${apiGroup} are served`)];
}

/** What the commands of this console need; with fewer rights some of them fail. */
const questions = [
  ["list", "", "nodes"],
  ["list", "", "pods"],
  ["list", apiGroup, "nodetwins"],
  ["list", apiGroup, "nodehardwares"],
  ["list", apiGroup, "powerendpoints"],
  ["create", apiGroup, "nodepowerprofiles"],
  ["delete", apiGroup, "nodepowerprofiles"],
  ["patch", "", "namespaces"],
] as const;

async function permissions({ client }: ConsoleContext): Promise<readonly DoctorFinding[]> {
  const answers = await Promise.all(
    questions.map(async ([verb, group, resource]) => {
      const spec = { resourceAttributes: { verb, group, resource } };
      const { status } = await client.create<KubeObject & { readonly status?: { readonly allowed?: boolean } }>(
        resources.selfSubjectAccessReviews,
        { metadata: {}, spec },
        { timeout: CALL_TIMEOUT },
      );
      return status?.allowed === true ? [] : [`${verb} ${resource}`];
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

const METRICS = /^joulie_scheduler_(?:filter|prioritize)_requests_total(?:\{[^}]*\})? (\d+)/gm;

/** Asks through the API server, whose network is that of kube-scheduler in most clusters. */
async function extender(
  { transport, clock }: ConsoleContext,
  { namespace, service }: DoctorOptions,
): Promise<readonly DoctorFinding[]> {
  const page = async (path: string): Promise<{ status: number; text: string }> =>
    withTimeLimit(clock, CALL_TIMEOUT, async (signal) => {
      const url = `/api/v1/namespaces/${namespace}/services/${service}:metrics/proxy${path}`;
      const { status, body } = await transport.request({ method: "GET", path: url, signal });
      const chunks: Buffer[] = [];
      for await (const chunk of body) chunks.push(Buffer.from(chunk));
      return { status, text: Buffer.concat(chunks).toString() };
    });
  const ready = await page("/readyz");
  if (ready.status === 403)
    return [
      bad(
        "extender",
        "notice",
        "You may not ask the extender through the API server.",
        `grant get on services/proxy in ${namespace}`,
      ),
    ];
  if (ready.status !== 200)
    return [
      bad(
        "extender",
        "warning",
        `The extender is not ready: the Service ${service} in ${namespace} answers with status ${ready.status}.`,
        `kubectl -n ${namespace} get pods -l app.kubernetes.io/component=extender`,
      ),
    ];
  const { text } = await page("/metrics");
  const asked = Array.from(text.matchAll(METRICS), ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0);
  return asked > 0
    ? [fine("extender", `it is ready, and kube-scheduler has asked it ${asked} times since it started`)]
    : [
        bad(
          "extender",
          "warning",
          "It is ready, but kube-scheduler has never asked it since it started.",
          "joulie scheduler-config prints what kube-scheduler's configuration needs",
        ),
      ];
}

async function clockSkew({ transport, clock }: ConsoleContext): Promise<readonly DoctorFinding[]> {
  const skew = await withTimeLimit(clock, CALL_TIMEOUT, async (signal) => {
    const before = clock.now();
    const { headers, body } = await transport.request({ method: "GET", path: "/version", signal });
    for await (const _ of body); // A connection is free for others once the body has been read.
    const there = Date.parse(headers["date"] ?? "");
    // The header has whole seconds.
    return Number.isNaN(there) ? undefined : there + 500 - (before + clock.now()) / 2;
  });
  if (skew === undefined)
    return [bad("clock", "notice", "The API server does not tell its time.", "compare with date on a node")];
  if (Math.abs(skew) <= MAX_SKEW) return [fine("clock", "this machine and the API server agree about the time")];
  const seconds = Math.round(Math.abs(skew) / 1000);
  return [
    bad(
      "clock",
      "warning",
      `The API server's clock is ${seconds} s ${skew > 0 ? "ahead of" : "behind"} this machine's; ages in this console are wrong.`,
      "synchronise the clocks: chronyc tracking",
    ),
  ];
}

const BLOCKED_BY_MOUNT = /read-only|permission denied|EROFS|EACCES/i;

/** Agents that could not write to the host, by what they report. */
function mounts({ twins, hardware }: ClusterObjects): readonly DoctorFinding[] {
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
  if (managed.length > 0 && !ids.has("agent-silent"))
    parts.push(fine("agents", `agents of ${ofNodes(reporting.length)} report`));
  if (managed.length > 0 && !ids.has("twin-stale") && !ids.has("twin-missing"))
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
