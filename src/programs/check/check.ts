import { annotations, asleepTaint, type Node, type NodeTwin, nodeTwinKind, readAs } from "../../core/api/index.ts";
import { elapsed, formatDuration, type Milliseconds, milliseconds } from "../../core/units/index.ts";
import {
  isApiError,
  type KubeClient,
  type KubeObject,
  plainReason,
  resources,
  stoppedBy,
} from "../../platform/kube/index.ts";
import type { InstalledProgram } from "../permissions.ts";
import {
  CALL_TIMEOUT,
  type ExaminedCluster,
  listedUpToLimit,
  type MissingPart,
  missingDefinitions,
  missingExtender,
  missingPermissions,
} from "./missing-parts.ts";

export interface CheckOptions extends ExaminedCluster {
  /** The chart's name for its objects: ServiceAccounts are called NAME-agent, NAME-operator, NAME-extender. */
  readonly name: string;
  readonly programs: readonly InstalledProgram[];
  readonly nodeSelector: string;
  readonly timeout: Milliseconds;
}

export interface CheckResult {
  readonly missing: readonly string[];
  readonly nodes: number;
}

const POLL = milliseconds(1000);
/** Operator and agents refresh an unchanged status at least twice in this time. */
const FRESH = milliseconds(300_000);

export async function check(options: CheckOptions): Promise<CheckResult> {
  const { clock, timeout } = options;
  const started = clock.monotonic();
  for (;;) {
    const result = await inspect(options);
    if (result.missing.length === 0 || elapsed(started, clock.monotonic()) >= timeout) return result;
    await clock.sleep(POLL);
  }
}

export function summarize(
  { missing, nodes }: CheckResult,
  { nodeSelector }: Pick<CheckOptions, "nodeSelector">,
): string {
  if (missing.length > 0) return `missing: ${missing.join("; ")}`;
  if (nodes > 0) return `nothing is missing; Joulie manages ${nodes === 1 ? "1 node" : `${nodes} nodes`}`;
  return `nothing is missing; no node has the label ${nodeSelector} yet: kubectl label node NODE ${nodeSelector}`;
}

async function inspect(options: CheckOptions): Promise<CheckResult> {
  const { name, programs } = options;
  const accounts = programs.map((program) => ({
    program,
    account: `${name}-${program.replace(/-(pool|energy|sleep)$/, "")}`,
  }));
  const [definitions, permissions, extender, reports] = await Promise.all([
    finding("CRDs", missingDefinitions(options)),
    finding("permissions", missingPermissions(options, accounts)),
    finding("extender", missingExtender(options)),
    missingReports(options).catch((error: unknown) => ({ missing: [unexamined("nodes", error)], nodes: 0 })),
  ]);
  const missing = new Set([...definitions, ...permissions, ...extender, ...reports.missing]);
  return { missing: Array.from(missing), nodes: reports.nodes };
}

/** One part that cannot be examined does not hide the others. */
async function finding(what: string, work: Promise<MissingPart | undefined>): Promise<string[]> {
  try {
    const missing = await work;
    return missing === undefined ? [] : [missing.inOneLine];
  } catch (error) {
    // The API of a demo has no access reviews: everything is allowed there.
    return what === "permissions" && isApiError(error, "notFound") ? [] : [unexamined(what, error)];
  }
}

/** A server that does not answer is one finding, not one for each part. */
function unexamined(what: string, error: unknown): string {
  const why = plainReason(error);
  return why.endsWith("does not answer") ? why : `${what}: ${why}`;
}

async function missingReports(options: CheckOptions): Promise<CheckResult> {
  const isThere = await options.client.get(resources.namespaces, { name: options.namespace }).then(
    () => true,
    (error: unknown) => {
      if (isApiError(error, "notFound")) return false;
      throw error;
    },
  );
  if (!isThere)
    return {
      missing: [`the namespace ${options.namespace}; name that of the installation with --namespace`],
      nodes: 0,
    };
  const { client, clock, namespace, nodeSelector } = options;
  const { items: nodes } = await client.listAll<ManagedNode>(resources.nodes, { labelSelector: nodeSelector });
  if (await isStopped(options)) {
    const remedy = `to continue: kubectl annotate namespace ${namespace} ${annotations.stop}-`;
    return {
      missing: [`new reports: operator and agents are ${stoppedBy(namespace)} (${remedy})`],
      nodes: nodes.length,
    };
  }
  if (nodes.length === 0) return { missing: [], nodes: 0 };
  const twins = await twinsByName(client);
  const isFresh = (at: string | undefined): boolean => clock.now() - Date.parse(at ?? "") < FRESH;
  const withoutTwin = namesOf(nodes).filter((name) => !isFresh(twins.get(name)?.status?.lastUpdated));
  // A machine that is switched off runs no agent. The operator goes on publishing its twin.
  const withoutAgent = namesOf(nodes.filter((node) => !isAsleep(node))).filter((name) => {
    const { cpu, gpu } = twins.get(name)?.status?.controlStatus ?? {};
    return !isFresh(cpu?.updatedAt) && !isFresh(gpu?.updatedAt);
  });
  const within = `in the last ${formatDuration(FRESH)}`;
  const isInstalled = (program: string) => options.programs.some((one) => one.startsWith(program));
  const missing = [];
  if (isInstalled("operator") && withoutTwin.length > 0)
    missing.push(`the operator has published no twin ${within} of ${listedUpToLimit(withoutTwin, "nodes")}`);
  if (isInstalled("agent") && withoutAgent.length > 0)
    missing.push(`no agent has reported ${within} from ${listedUpToLimit(withoutAgent, "nodes")}`);
  return { missing, nodes: nodes.length };
}

type ManagedNode = KubeObject & Pick<Node, "spec">;

const namesOf = (nodes: readonly ManagedNode[]): string[] => nodes.map(({ metadata }) => metadata.name);

const isAsleep = ({ spec }: ManagedNode): boolean => spec?.taints?.some(({ key }) => key === asleepTaint.key) === true;

async function isStopped({ client, namespace: name }: CheckOptions): Promise<boolean> {
  const { metadata } = await client.get(resources.namespaces, { name }, { timeout: CALL_TIMEOUT });
  return metadata.annotations?.[annotations.stop] === "true";
}

async function twinsByName(client: KubeClient): Promise<ReadonlyMap<string, NodeTwin>> {
  try {
    const { items } = await client.listAll(resources.nodeTwins);
    const read = readAs(nodeTwinKind);
    return new Map(items.map((item) => [item.metadata.name, read(item)]));
  } catch (error) {
    if (isApiError(error, "notFound")) return new Map();
    throw error;
  }
}
