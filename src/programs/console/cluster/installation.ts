import { annotations } from "../../../core/api/index.ts";
import type { WorkloadKind } from "../../../core/report/index.ts";
import {
  isApiError,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
} from "../../../platform/kube/index.ts";
import { type ConsoleContext, ConsoleError } from "../context.ts";

/** The labels that the chart gives to all its objects. */
export const INSTALLED = "app.kubernetes.io/name=joulie";
export const COMPONENT = "app.kubernetes.io/component";
export const OPERATOR_LEASE = "joulie-operator";
export const workloadResources = {
  Deployment: resources.deployments,
  DaemonSet: resources.daemonSets,
  StatefulSet: resources.statefulSets,
} as const satisfies Readonly<Record<WorkloadKind, Resource>>;
export const workloadKinds = Object.keys(workloadResources) as readonly WorkloadKind[];

/** A program of the chart as the API server has it. */
export type WorkloadObject = KubeObject & {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: {
      readonly spec?: { readonly serviceAccountName?: string; readonly containers?: readonly WorkloadContainer[] };
    };
  };
  readonly status?: {
    readonly readyReplicas?: number;
    readonly desiredNumberScheduled?: number;
    readonly numberReady?: number;
  };
};

interface WorkloadContainer {
  readonly image?: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

export async function listWorkloads(
  client: KubeClient,
  namespace: string,
  kind: WorkloadKind,
  program?: string,
): Promise<readonly WorkloadObject[]> {
  const labelSelector = program === undefined ? INSTALLED : `${INSTALLED},${COMPONENT}=${program}`;
  return (await client.listAll<WorkloadObject>(workloadResources[kind], { namespace, labelSelector })).items;
}

/** The variables whose values the workload contains. Values from Secrets and ConfigMaps are not followed. */
export function variablesOf({ spec }: WorkloadObject): Readonly<Record<string, string>> {
  const { env = [] } = spec?.template?.spec?.containers?.[0] ?? {};
  return Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
}

export const hasReadyCondition = ({ status }: WithConditions): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false;

interface WithConditions {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export const PAGES_ANNOTATION = "joulie.io/demo-pages";
const DEFAULT_NAMESPACE = "joulie-system";

/** The namespace that the user names, else of the chart's Deployments, else of the operator's Lease, else the usual one. */
export async function installationNamespace(client: KubeClient, named: string | undefined): Promise<string> {
  if (named !== undefined) return named;
  const withWorkloads = await namespacesOf(client, resources.deployments, { labelSelector: INSTALLED });
  const found =
    withWorkloads.length > 0
      ? withWorkloads
      : await namespacesOf(client, resources.leases, { fieldSelector: `metadata.name=${OPERATOR_LEASE}` });
  if (found.length === 0 || found.includes(DEFAULT_NAMESPACE)) return DEFAULT_NAMESPACE;
  const [first = DEFAULT_NAMESPACE, ...others] = found;
  if (others.length > 0)
    throw new ConsoleError(
      `Joulie is installed in several namespaces (${found.join(", ")}); name one with -n, or for joulie why with --installation`,
    );
  return first;
}

/** None if this user may not list them in all namespaces, or the API server does not have them. */
async function namespacesOf(
  client: KubeClient,
  resource: Resource,
  selection: Parameters<KubeClient["listAll"]>[1],
): Promise<string[]> {
  try {
    const { items } = await client.listAll(resource, selection);
    return Array.from(new Set(items.map(({ metadata }) => metadata.namespace ?? ""))).toSorted();
  } catch (error) {
    if (isApiError(error, "notFound") || isApiError(error, "forbidden")) return [];
    throw error;
  }
}

export async function setStopped({ client }: ConsoleContext, name: string, stopped: boolean): Promise<string> {
  const patch = { metadata: { annotations: { [annotations.stop]: stopped ? "true" : null } } };
  try {
    await client.mergePatch(resources.namespaces, { name }, patch);
  } catch (error) {
    if (isApiError(error, "notFound"))
      throw new ConsoleError(`there is no namespace ${name}; name that of the installation with -n`);
    throw error;
  }
  return stopped
    ? `namespace/${name} stopped: agents restore the original limits, the operator changes nothing, sleeping nodes wake\n`
    : `namespace/${name} resumed: the operator plans again\n`;
}
