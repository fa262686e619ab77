import { presetSettings } from "../../../core/presets/index.ts";
import { type ClusterObjects, counted, type Severity, type WorkloadKind } from "../../../core/report/index.ts";
import { between, instant, milliseconds } from "../../../core/units/index.ts";
import {
  clockSkewOf,
  isApiError,
  type KubeClient,
  type KubeObject,
  type Lease,
  resources,
} from "../../../platform/kube/index.ts";
import {
  type ExaminedCluster,
  type MissingPart,
  missingExtender,
  type ProgramAccount,
  pageThroughApi,
} from "../../check/index.ts";
import {
  COMPONENT,
  hasReadyCondition,
  INSTALLED,
  listWorkloads,
  variablesOf,
  type WorkloadObject,
  workloadKinds,
} from "../cluster/installation.ts";
import { pageUrl, readProgramPages } from "../cluster/program-pages.ts";
import type { ConsoleContext } from "../context.ts";

export interface DoctorFinding {
  readonly check: string;
  /** Undefined: it is in order. */
  readonly severity: Severity | undefined;
  readonly what: string;
  readonly fix: string | undefined;
}

export const fine = (check: string, what: string): DoctorFinding => ({
  check,
  severity: undefined,
  what,
  fix: undefined,
});
export const bad = (check: string, severity: Severity, what: string, fix: string): DoctorFinding => ({
  check,
  severity,
  what,
  fix,
});
export const missing = (check: string, { severity, what, fix }: MissingPart): DoctorFinding =>
  bad(check, severity, what, fix);

export async function installedAccounts(client: KubeClient, namespace: string): Promise<readonly ProgramAccount[]> {
  const listed = async (kind: WorkloadKind): Promise<readonly WorkloadObject[]> => {
    try {
      return await listWorkloads(client, namespace, kind);
    } catch (error) {
      // The embedded API of the demo has no workloads.
      if (isApiError(error, "notFound")) return [];
      throw error;
    }
  };
  const workloads = await Promise.all(workloadKinds.map(listed));
  // The agents of all kinds of nodes have one account.
  const accounts = workloads.flat().flatMap(accountOf);
  return [...new Map(accounts.map((one) => [`${one.program} ${one.account}`, one])).values()];
}

function accountOf(workload: WorkloadObject): ProgramAccount[] {
  const { metadata, spec } = workload;
  const account = spec?.template?.spec?.serviceAccountName ?? "default";
  const component = metadata.labels?.[COMPONENT] ?? "";
  const variables = variablesOf(workload);
  const { AGENT_MODE, SLEEP_MODE = "off", SCORING } = { ...variables, ...presetSettings(component, variables)?.values };
  const programs: Readonly<Record<string, ProgramAccount["program"]>> = {
    agent: AGENT_MODE === "pool" ? "agent-pool" : "agent",
    operator: SLEEP_MODE === "off" ? "operator" : "operator-sleep",
    extender: SCORING === "energy" ? "extender-energy" : "extender",
    power: "power",
    dashboard: "dashboard",
  };
  const program = programs[component];
  return program === undefined ? [] : [{ program, account }];
}

const CALLS = /^joulie_scheduler_(?:filter|prioritize)_requests_total(?:\{[^}]*\})? (\d+)/gm;
/** The chart's port of the extender's metrics. */
const METRICS_PORT = 9877;
const PODS_LIMIT = 8;
const NEW_FOR = milliseconds(600_000);

async function namedExtender(
  context: ConsoleContext,
  namespace: string,
): Promise<readonly DoctorFinding[] | undefined> {
  if ((await pageUrl(context, namespace, "extender")) === undefined) return undefined;
  const { answers, why } = await readProgramPages(context, namespace, "extender", "debug/decisions");
  const [first] = answers;
  if (first === undefined)
    return [bad("extender", "warning", `It does not answer: ${why}`, "start it again, or name its address")];
  const { decisions = [] } = first.value as { readonly decisions?: readonly unknown[] };
  if (decisions.length > 0)
    return [
      fine("extender", `the ${first.from} answers, and a scheduler has asked it at least ${decisions.length} times`),
    ];
  return [
    bad("extender", "warning", `The ${first.from} answers, but no scheduler has asked it.`, "joulie scheduler-config"),
  ];
}

export async function extenderFindings(
  context: ConsoleContext,
  cluster: ExaminedCluster,
): Promise<readonly DoctorFinding[]> {
  const named = await namedExtender(context, cluster.namespace);
  if (named !== undefined) return named;
  const notReady = await missingExtender(cluster);
  if (notReady !== undefined) return [missing("extender", notReady)];
  const { calls, unknown } = await callsOf(cluster);
  if (calls > 0)
    return [fine("extender", `it is ready, and kube-scheduler has asked it ${calls} times since it started`)];
  const fix = "joulie scheduler-config prints what kube-scheduler's configuration needs";
  if (unknown !== undefined)
    return [
      bad("extender", "notice", `It is ready, but it is unknown whether kube-scheduler asks it: ${unknown}.`, fix),
    ];
  return [bad("extender", "warning", "It is ready, but kube-scheduler has never asked it since it started.", fix)];
}

type ExtenderPod = KubeObject & {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly state?: { readonly running?: { readonly startedAt?: string } } }[];
  };
};

/** The calls of all replicas: kube-scheduler keeps its connection to one. `unknown` says why 0 calls prove nothing. */
async function callsOf(cluster: ExaminedCluster): Promise<{ calls: number; unknown: string | undefined }> {
  const { client, clock, namespace, service } = cluster;
  const labelSelector = `${INSTALLED},${COMPONENT}=extender`;
  const { items } = await client.listAll<ExtenderPod>(resources.pods, { namespace, labelSelector });
  const ready = items.filter(hasReadyCondition);
  const paths = ready.slice(0, PODS_LIMIT).map(({ metadata }) => `pods/${metadata.name}:${METRICS_PORT}/proxy/metrics`);
  const asked = paths.length === 0 ? [`services/${service}:metrics/proxy/metrics`] : paths;
  const pages = await Promise.allSettled(asked.map(async (path) => pageThroughApi(cluster, path)));
  const texts = pages.flatMap((page) =>
    page.status === "fulfilled" && page.value.status === 200 ? [page.value.text] : [],
  );
  const calls = texts
    .flatMap((text) => Array.from(text.matchAll(CALLS), ([, count]) => Number(count)))
    .reduce((sum, count) => sum + count, 0);
  const replicas = Math.max(ready.length, asked.length);
  if (texts.length < replicas)
    return { calls, unknown: `${replicas - texts.length} of ${replicas} replicas did not show their metrics` };
  const starts = ready.flatMap(({ status }) =>
    (status?.containerStatuses ?? []).map(({ state }) => Date.parse(state?.running?.startedAt ?? "")),
  );
  // On an idle cluster nothing is scheduled for a while.
  const isNew = starts.length > 0 && clock.now() - Math.min(...starts) < NEW_FOR;
  return { calls, unknown: isNew ? `it started less than ${NEW_FOR / 60_000} minutes ago` : undefined };
}

const MAX_SKEW = milliseconds(30_000);

export async function machineClock({ transport, clock, skew }: ConsoleContext): Promise<readonly DoctorFinding[]> {
  const found = skew ?? (await clockSkewOf(transport, clock));
  if (found === undefined)
    return [bad("clock", "notice", "The API server sends no Date header.", "compare with date on a node")];
  if (Math.abs(found) <= MAX_SKEW) return [fine("clock", "this machine and the API server agree about the time")];
  return [
    bad(
      "clock",
      "warning",
      `The API server's clock is ${Math.round(Math.abs(found) / 1000)} s ${found > 0 ? "ahead of" : "behind"} this machine's; this console counts in the API server's time.`,
      "synchronise this machine's clock: chronyc tracking",
    ),
  ];
}

export const NODE_LEASES = "kube-node-lease";
/** A kubelet renews its Lease every 10 seconds; the node lifecycle controller takes the node as lost after 40. */
const MAX_LATE = milliseconds(90_000);

/** Nodes whose kubelet stamps its Lease with another time than the API server's. Agents stamp their reports with the same clock. */
export async function nodeClocks(
  { client, clock }: ConsoleContext,
  { nodes }: ClusterObjects,
): Promise<readonly DoctorFinding[]> {
  const ready = new Set(nodes.filter(hasReadyCondition).map(({ metadata }) => metadata.name));
  const { items } = await client.listAll<Lease>(resources.leases, { namespace: NODE_LEASES });
  const now = clock.now();
  const wrong: string[] = [];
  let known = 0;
  for (const { metadata, spec } of items) {
    const renewed = Date.parse(spec?.renewTime ?? "");
    if (!ready.has(metadata.name) || Number.isNaN(renewed)) continue;
    known++;
    const late = between(instant(renewed), now);
    if (late + MAX_SKEW < 0) wrong.push(`${metadata.name} ${Math.round(Math.abs(late) / 1000)} s ahead`);
    else if (late > MAX_LATE) wrong.push(`${metadata.name} ${Math.round(late / 1000)} s behind`);
  }
  if (known === 0) return [];
  if (wrong.length === 0)
    return [fine("node-clocks", `the clocks of ${counted(known, "node")} agree with the API server's`)];
  return [
    bad(
      "node-clocks",
      "warning",
      `The clocks of ${counted(wrong.length, "node")} differ from the API server's, for example ${wrong[0]}. Their agents' reports look too old or too new.`,
      "synchronise the clocks of these nodes: chronyc tracking",
    ),
  ];
}

export function consoleVersion({ installation }: ClusterObjects, version: string): readonly DoctorFinding[] {
  const others = new Set((installation?.programs ?? []).flatMap((program) => program.version ?? []));
  if (others.size !== 1 || others.has(version)) return [];
  const [installed = ""] = others;
  return [
    bad(
      "console-version",
      "notice",
      `This console is version ${version}, the programs are ${installed}; it may not know all that they report.`,
      `install joulie ${installed} on this machine`,
    ),
  ];
}
