import {
  annotations,
  apiGroup,
  kinds,
  type Node,
  type NodeHardware,
  type NodePowerProfile,
  type NodeTwin,
  nodeHardwareKind,
  nodePowerProfileKind,
  nodeTwinKind,
  type Pod,
  type PowerEndpoint,
  powerEndpointKind,
  type ResourceKind,
  readObject,
} from "../../core/api/index.ts";
import type { ClusterObjects, Installation, InstalledWorkload } from "../../core/report/index.ts";
import { type Instant, instant, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import {
  isApiError,
  type KubeClient,
  type KubeObject,
  type Lease,
  type Resource,
  resources,
} from "../../platform/kube/index.ts";

export interface ClusterReading {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Of the installation. */
  readonly namespace: string;
  /** Which nodes; all by default. */
  readonly nodeSelector?: string | undefined;
}

/** The labels that the chart gives to all its objects. */
const INSTALLED = "app.kubernetes.io/name=joulie";
const COMPONENT = "app.kubernetes.io/component";
const OPERATOR_LEASE = "joulie-operator";

/**
 * Reads everything that reports are made of. Nodes must be readable; all other kinds may be missing or forbidden, which is
 * reported in `installation.unreadable`.
 */
export async function readCluster({ client, clock, namespace, nodeSelector }: ClusterReading): Promise<ClusterObjects> {
  const unreadable: string[] = [];
  const missing = new Set<string>();
  const list = async (
    resource: Resource,
    selection: Parameters<KubeClient["listAll"]>[1] = {},
  ): Promise<KubeObject[]> => {
    try {
      return (await client.listAll<KubeObject>(resource, selection)).items as KubeObject[];
    } catch (error) {
      if (isApiError(error, "notFound")) missing.add(`${resource.plural}.${resource.group}`);
      else unreadable.push(`${resource.plural}: ${reasonOf(error)}`);
      return [];
    }
  };
  const ofKind = async <Value>(resource: Resource, kind: ResourceKind<Value>): Promise<Map<string, Value>> => {
    const found = new Map<string, Value>();
    for (const object of await list(resource)) {
      // One damaged object does not hide the others.
      const reading = readObject(kind, object);
      if (reading.ok) found.set(object.metadata.name, reading.value.object);
    }
    return found;
  };
  const [nodes, pods, twins, hardware, profiles, endpoints, installed] = await Promise.all([
    client.listAll<KubeObject & Node>(
      resources.nodes,
      nodeSelector === undefined ? {} : { labelSelector: nodeSelector },
    ),
    list(resources.pods),
    ofKind<NodeTwin>(resources.nodeTwins, nodeTwinKind),
    ofKind<NodeHardware>(resources.nodeHardwares, nodeHardwareKind),
    ofKind<NodePowerProfile>(resources.nodePowerProfiles, nodePowerProfileKind),
    ofKind<PowerEndpoint>(resources.powerEndpoints, powerEndpointKind),
    readInstallation(client, namespace, unreadable),
  ]);
  const ours = new Set(kinds.map(({ plural }) => `${plural}.${apiGroup}`));
  const installation: Installation = {
    ...installed,
    missingKinds: Array.from(missing)
      .filter((name) => ours.has(name))
      .toSorted(),
    unreadable: unreadable.toSorted(),
  };
  return {
    now: clusterTime(twins, clock.now()),
    nodes: nodes.items,
    twins,
    hardware,
    profiles,
    endpoints,
    pods: pods as unknown as Pod[],
    installation,
  };
}

type Workload = KubeObject & {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: { readonly spec?: { readonly containers?: readonly { readonly image?: string }[] } };
  };
  readonly status?: {
    readonly readyReplicas?: number;
    readonly desiredNumberScheduled?: number;
    readonly numberReady?: number;
  };
};

async function readInstallation(
  client: KubeClient,
  namespace: string,
  unreadable: string[],
): Promise<Pick<Installation, "namespace" | "stopped" | "programs" | "operatorLease">> {
  const attempt = async <Value>(what: string, work: () => Promise<Value>, otherwise: Value): Promise<Value> => {
    try {
      return await work();
    } catch (error) {
      if (!isApiError(error, "notFound")) unreadable.push(`${what}: ${reasonOf(error)}`);
      return otherwise;
    }
  };
  const selection = { namespace, labelSelector: INSTALLED };
  const [owner, deployments, daemonSets, lease] = await Promise.all([
    attempt(`namespace ${namespace}`, async () => client.get(resources.namespaces, { name: namespace }), undefined),
    attempt("deployments", async () => (await client.listAll<Workload>(resources.deployments, selection)).items, []),
    attempt("daemonsets", async () => (await client.listAll<Workload>(resources.daemonSets, selection)).items, []),
    attempt("leases", async () => client.get<Lease>(resources.leases, { name: OPERATOR_LEASE, namespace }), undefined),
  ]);
  const programs = [
    ...deployments.map((object) => workloadOf(object, "Deployment")),
    ...daemonSets.map((object) => workloadOf(object, "DaemonSet")),
  ];
  const renewed = Date.parse(lease?.spec?.renewTime ?? "");
  return {
    namespace,
    stopped: owner?.metadata.annotations?.[annotations.stop] === "true",
    programs: programs.toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    operatorLease: lease && {
      holder: lease.spec?.holderIdentity || undefined,
      renewedAt: Number.isNaN(renewed) ? undefined : instant(renewed),
    },
  };
}

function workloadOf({ metadata, spec, status }: Workload, kind: InstalledWorkload["kind"]): InstalledWorkload {
  const image = spec?.template?.spec?.containers?.[0]?.image ?? "";
  return {
    program: metadata.labels?.[COMPONENT] ?? metadata.name,
    kind,
    name: metadata.name,
    desired: kind === "Deployment" ? (spec?.replicas ?? 1) : (status?.desiredNumberScheduled ?? 0),
    ready: (kind === "Deployment" ? status?.readyReplicas : status?.numberReady) ?? 0,
    version: image.includes("@") ? undefined : /:([^/:]+)$/.exec(image)?.[1],
  };
}

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const ALLOWED_SKEW = milliseconds(60_000);

/** A twin from the future means that the clock of the cluster is ahead of this machine's: ages are counted from its time. */
function clusterTime(twins: ReadonlyMap<string, NodeTwin>, now: Instant): Instant {
  let latest: number = now;
  for (const { status } of twins.values()) latest = Math.max(latest, Date.parse(status?.lastUpdated ?? "") || 0);
  return latest - now > ALLOWED_SKEW ? instant(latest) : now;
}
