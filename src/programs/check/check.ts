import { annotations, apiGroup, apiVersion, kinds, type NodeTwin, nodeTwinKind, readAs } from "../../core/api/index.ts";
import { elapsed, formatDuration, type Milliseconds, milliseconds } from "../../core/units/index.ts";
import { type Clock, withTimeLimit } from "../../platform/clock/index.ts";
import {
  isApiError,
  type KubeClient,
  type KubeObject,
  type PermissionRule,
  resources,
  stoppedBy,
  type Transport,
} from "../../platform/kube/index.ts";
import { type InstalledProgram, programPermissions } from "../permissions.ts";

export interface CheckOptions {
  readonly client: KubeClient;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly namespace: string;
  /** The chart's name for its objects: ServiceAccounts are called NAME-agent, NAME-operator, NAME-extender. */
  readonly name: string;
  readonly programs: readonly InstalledProgram[];
  /** The extender's Service. */
  readonly service: string;
  /** Labels of the nodes that Joulie manages. */
  readonly nodeSelector: string;
  /** How long to wait until nothing is missing. */
  readonly timeout: Milliseconds;
}

export interface CheckResult {
  /** What is missing, each with a remedy where there is one. */
  readonly missing: readonly string[];
  /** Number of nodes that Joulie manages. */
  readonly nodes: number;
}

const POLL = milliseconds(1000);
const CALL_TIMEOUT = milliseconds(5000);
/** Operator and agents refresh an unchanged status at least twice in this time. */
const FRESH = milliseconds(300_000);
const MAX_NAMES = 3;

/** Looks for what an installation needs, until nothing is missing or the time is over. Changes nothing. */
export async function check(options: CheckOptions): Promise<CheckResult> {
  const { clock, timeout } = options;
  const started = clock.monotonic();
  for (;;) {
    const result = await inspect(options);
    if (result.missing.length === 0 || elapsed(started, clock.monotonic()) >= timeout) return result;
    await clock.sleep(POLL);
  }
}

/** The result in one line. */
export function summarize(
  { missing, nodes }: CheckResult,
  { nodeSelector }: Pick<CheckOptions, "nodeSelector">,
): string {
  if (missing.length > 0) return `missing: ${missing.join("; ")}`;
  if (nodes > 0) return `nothing is missing; Joulie manages ${nodes === 1 ? "1 node" : `${nodes} nodes`}`;
  return `nothing is missing; no node has the label ${nodeSelector} yet: kubectl label node NODE ${nodeSelector}`;
}

async function inspect(options: CheckOptions): Promise<CheckResult> {
  const [definitions, permissions, extender, reports] = await Promise.all([
    finding("CRDs", missingDefinitions(options)),
    finding("permissions", missingPermissions(options)),
    finding("extender", missingExtender(options)),
    missingReports(options).catch((error: unknown) => ({ missing: [`nodes: ${messageOf(error)}`], nodes: 0 })),
  ]);
  return { missing: [...definitions, ...permissions, ...extender, ...reports.missing], nodes: reports.nodes };
}

/** One part that cannot be examined does not hide the others. */
async function finding(what: string, work: Promise<string | undefined>): Promise<string[]> {
  try {
    const missing = await work;
    return missing === undefined ? [] : [missing];
  } catch (error) {
    return [`${what}: ${messageOf(error)}`];
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function missingDefinitions({ client }: CheckOptions): Promise<string | undefined> {
  const served = await servedPlurals(client);
  const missing = kinds.filter(({ plural }) => !served.has(plural)).map(({ plural }) => `${plural}.${apiGroup}`);
  return missing.length === 0 ? undefined : `CRDs ${missing.join(", ")} (run: joulie crds apply)`;
}

async function servedPlurals(client: KubeClient): Promise<ReadonlySet<string>> {
  try {
    const { resources: served = [] } = (await client.raw(`/apis/${apiVersion}`)) as {
      readonly resources?: readonly { readonly name: string }[];
    };
    return new Set(served.map(({ name }) => name));
  } catch (error) {
    if (isApiError(error, "notFound")) return new Set();
    throw error;
  }
}

interface Question {
  readonly account: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly name?: string;
  readonly namespace?: string;
}

async function missingPermissions(options: CheckOptions): Promise<string | undefined> {
  const { client, namespace, service, name } = options;
  const questions = options.programs.flatMap((program) => {
    const account = `${name}-${program.replace(/-(pool|energy|sleep)$/, "")}`;
    const rules = programPermissions[program]({
      namespace,
      service,
      workloadNamespace: "default",
      lease: "",
      powerLease: "",
      fleet: "",
    });
    return rules.flatMap((rule) => questionsAbout(account, rule));
  });
  const answers = await Promise.all(questions.map(async (question) => isAllowed(client, namespace, question)));
  const missing = questions
    .filter((_, index) => answers[index] === false)
    .map(({ account, verb, group, resource }) => `${account} may not ${verb} ${group && `${group}/`}${resource}`);
  return missing.length === 0 ? undefined : abridged(missing, "permissions");
}

const questionsAbout = (account: string, rule: PermissionRule): Question[] =>
  rule.apiGroups.flatMap((group) =>
    rule.resources.flatMap((resource) =>
      (rule.resourceNames ?? [undefined]).flatMap((name) =>
        rule.verbs.map((verb) => ({
          account,
          verb,
          group,
          resource,
          ...(name !== undefined && { name }),
          ...(rule.namespace !== undefined && { namespace: rule.namespace }),
        })),
      ),
    ),
  );

async function isAllowed(client: KubeClient, namespace: string, question: Question): Promise<boolean> {
  const { account, resource: full, ...rest } = question;
  const [resource, subresource] = full.split("/");
  const user = `system:serviceaccount:${namespace}:${account}`;
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
  const spec = { user, groups, resourceAttributes: { ...rest, resource, ...(subresource && { subresource }) } };
  const { status } = await client.create<KubeObject & { readonly status?: { readonly allowed?: boolean } }>(
    resources.subjectAccessReviews,
    { metadata: {}, spec },
    { timeout: CALL_TIMEOUT },
  );
  return status?.allowed === true;
}

/** Asks a ready replica through the API server, whose network is that of kube-scheduler in most clusters. */
async function missingExtender({ transport, clock, namespace, service }: CheckOptions): Promise<string | undefined> {
  const path = `/api/v1/namespaces/${namespace}/services/${service}:metrics/proxy/readyz`;
  const status = await withTimeLimit(clock, CALL_TIMEOUT, async (signal) => {
    const { status: answered, body } = await transport.request({ method: "GET", path, signal });
    for await (const _ of body); // A connection is free for others once the body has been read.
    return answered;
  });
  return status === 200
    ? undefined
    : `extender: the Service ${service} in namespace ${namespace} answers with status ${status}`;
}

async function missingReports(options: CheckOptions): Promise<CheckResult> {
  const { client, clock, namespace, nodeSelector } = options;
  const { items: nodes } = await client.listAll(resources.nodes, { labelSelector: nodeSelector });
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
  const names = nodes.map(({ metadata }) => metadata.name);
  const withoutTwin = names.filter((name) => !isFresh(twins.get(name)?.status?.lastUpdated));
  const withoutAgent = names.filter((name) => {
    const { cpu, gpu } = twins.get(name)?.status?.controlStatus ?? {};
    return !isFresh(cpu?.updatedAt) && !isFresh(gpu?.updatedAt);
  });
  const within = `in the last ${formatDuration(FRESH)}`;
  const { programs } = options;
  const missing = [];
  if (programs.includes("operator") && withoutTwin.length > 0)
    missing.push(`the operator has published no twin ${within} of ${abridged(withoutTwin, "nodes")}`);
  if (programs.some((program) => program.startsWith("agent")) && withoutAgent.length > 0)
    missing.push(`no agent has reported ${within} from ${abridged(withoutAgent, "nodes")}`);
  return { missing, nodes: nodes.length };
}

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

const abridged = (names: readonly string[], what: string): string =>
  names.length <= MAX_NAMES
    ? names.join(", ")
    : `${names.slice(0, MAX_NAMES).join(", ")} and ${names.length - MAX_NAMES} more ${what}`;
