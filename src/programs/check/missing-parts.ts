// What an installation may lack. `joulie check` prints it in one line, `joulie doctor` with everything else it finds.
import { apiGroup, apiVersion, kinds } from "../../core/api/index.ts";
import type { Severity } from "../../core/report/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { type Clock, withTimeLimit } from "../../platform/clock/index.ts";
import {
  isApiError,
  type KubeClient,
  type KubeObject,
  type PermissionRule,
  resources,
  type Transport,
} from "../../platform/kube/index.ts";
import { HttpClient } from "../../platform/telemetry/index.ts";
import { type InstalledProgram, programPermissions } from "../permissions.ts";

export interface ExaminedCluster {
  readonly client: KubeClient;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly namespace: string;
  /** The extender's Service. */
  readonly service: string;
  readonly extenderUrl?: string | undefined;
}

export interface MissingPart {
  readonly severity: Severity;
  readonly what: string;
  readonly fix: string;
  /** The same for a list of missing parts in one line. */
  readonly inOneLine: string;
}

export interface ProgramAccount {
  readonly program: InstalledProgram;
  readonly account: string;
}

export const CALL_TIMEOUT = milliseconds(5000);
const MAX_NAMES = 3;

export async function missingDefinitions({
  client,
}: Pick<ExaminedCluster, "client">): Promise<MissingPart | undefined> {
  const served = await servedPlurals(client);
  const missing = kinds.filter(({ plural }) => !served.has(plural)).map(({ plural }) => `${plural}.${apiGroup}`);
  if (missing.length === 0) return undefined;
  const fix = "joulie crds apply";
  return {
    severity: "critical",
    what: `The API server does not know ${missing.join(", ")}.`,
    fix,
    inOneLine: `CRDs ${missing.join(", ")} (run: ${fix})`,
  };
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

/** What the ServiceAccounts of programs may not do although the programs need it. */
export async function missingPermissions(
  { client, namespace, service }: Pick<ExaminedCluster, "client" | "namespace" | "service">,
  accounts: readonly ProgramAccount[],
): Promise<MissingPart | undefined> {
  const names = { namespace, service, workloadNamespace: "default", lease: "", powerLease: "", fleet: "" };
  const questions = accounts.flatMap(({ program, account }) =>
    programPermissions[program](names).flatMap((rule) => questionsAbout(account, rule)),
  );
  const answers = await Promise.all(questions.map(async (question) => isAllowed(client, namespace, question)));
  const missing = questions
    .filter((_, index) => answers[index] === false)
    .map(({ account, verb, group, resource }) => `${account} may not ${verb} ${group && `${group}/`}${resource}`);
  if (missing.length === 0) return undefined;
  const text = listedUpToLimit(missing, "permissions");
  return {
    severity: "critical",
    what: `ServiceAccounts lack rights: ${text}.`,
    fix: "helm upgrade brings the roles of the chart; docs/reference/permissions.md lists them",
    inOneLine: text,
  };
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
export async function missingExtender(cluster: ExaminedCluster): Promise<MissingPart | undefined> {
  const { namespace, service, extenderUrl, clock } = cluster;
  if (extenderUrl !== undefined) {
    const http = new HttpClient({ clock, timeout: CALL_TIMEOUT });
    const answer = await http.send({ url: new URL("/readyz", extenderUrl) }).catch(() => undefined);
    await http.close();
    if (answer?.status === 200) return undefined;
    const what = `The extender of the demo at ${extenderUrl} is not ready.`;
    return { severity: "warning", what, fix: "see the log of the demo", inOneLine: `extender: ${what}` };
  }
  const { status } = await pageThroughApi(cluster, `services/${service}:metrics/proxy/readyz`);
  if (status === 200) return undefined;
  if (status === 403)
    return {
      severity: "notice",
      what: "You may not ask the extender through the API server.",
      fix: `grant get on services/proxy in ${namespace}`,
      inOneLine: `extender: the Service ${service} in namespace ${namespace} answers with status ${status}`,
    };
  return {
    severity: "warning",
    what: `The extender is not ready: the Service ${service} in ${namespace} answers with status ${status}.`,
    fix: `kubectl -n ${namespace} get pods -l app.kubernetes.io/component=extender`,
    inOneLine: `extender: the Service ${service} in namespace ${namespace} answers with status ${status}`,
  };
}

export async function pageThroughApi(
  { transport, clock, namespace }: Pick<ExaminedCluster, "transport" | "clock" | "namespace">,
  path: string,
): Promise<{ readonly status: number; readonly text: string }> {
  return withTimeLimit(clock, CALL_TIMEOUT, async (signal) => {
    const url = `/api/v1/namespaces/${namespace}/${path}`;
    const { status, body } = await transport.request({ method: "GET", path: url, signal });
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(Buffer.from(chunk));
    return { status, text: Buffer.concat(chunks).toString() };
  });
}

export const listedUpToLimit = (names: readonly string[], what: string): string =>
  names.length <= MAX_NAMES
    ? names.join(", ")
    : `${names.slice(0, MAX_NAMES).join(", ")} and ${names.length - MAX_NAMES} more ${what}`;
