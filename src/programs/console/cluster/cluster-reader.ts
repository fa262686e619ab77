import {
  annotations,
  apiGroup,
  errorMessageOf,
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
} from "../../../core/api/index.ts";
import { presetSettings } from "../../../core/presets/index.ts";
import {
  type ClusterKind,
  type ClusterObjects,
  type ClusterObjectsWithPods,
  type Installation,
  type InstalledWorkload,
  resourceNames,
  type WorkloadKind,
} from "../../../core/report/index.ts";
import { between, type Instant, instant, milliseconds, parseInstant } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import {
  isApiError,
  type KubeClient,
  type KubeObject,
  type Lease,
  type Resource,
  resources,
} from "../../../platform/kube/index.ts";
import { ConsoleError } from "../context.ts";
import {
  COMPONENT,
  listWorkloads,
  OPERATOR_LEASE,
  PAGES_ANNOTATION,
  variablesOf,
  type WorkloadObject,
  workloadKinds,
  workloadResources,
} from "./installation.ts";

export interface ClusterReading {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Of the installation. */
  readonly namespace: string;
  /** Which nodes; all by default. */
  readonly nodeSelector?: string | undefined;
}

/** Reads everything that reports are made of. Nodes must be readable; the rest may be missing, as `unreadable` says. */
export async function readCluster({ client, clock, namespace, nodeSelector }: ClusterReading): Promise<ClusterObjects> {
  const unreadable: string[] = [];
  const missing = new Set<string>();
  const list = async (resource: Resource): Promise<readonly KubeObject[] | undefined> => {
    try {
      return (await client.listAll<KubeObject>(resource)).items;
    } catch (error) {
      if (isApiError(error, "notFound")) missing.add(`${resource.plural}.${resource.group}`);
      else unreadable.push(`${resource.plural}: ${errorMessageOf(error)}`);
      return undefined;
    }
  };
  const notListed: ClusterKind[] = [];
  const ofKind = async <Value>(
    name: ClusterKind,
    resource: Resource,
    kind: ResourceKind<Value>,
  ): Promise<Map<string, Value>> => {
    const found = new Map<string, Value>();
    const listed = await list(resource);
    if (listed === undefined) notListed.push(name);
    for (const object of listed ?? []) {
      // One damaged object does not hide the others.
      const reading = readObject(kind, object);
      if (reading.ok) found.set(object.metadata.name, reading.value);
    }
    return found;
  };
  const [nodes, pods, twins, hardware, profiles, endpoints, installed] = await Promise.all([
    client.listAll<KubeObject & Node>(
      resources.nodes,
      nodeSelector === undefined ? {} : { labelSelector: nodeSelector },
    ),
    list(resources.pods),
    ofKind<NodeTwin>("twins", resources.nodeTwins, nodeTwinKind),
    ofKind<NodeHardware>("hardware", resources.nodeHardwares, nodeHardwareKind),
    ofKind<NodePowerProfile>("profiles", resources.nodePowerProfiles, nodePowerProfileKind),
    ofKind<PowerEndpoint>("endpoints", resources.powerEndpoints, powerEndpointKind),
    readInstallation(client, namespace, clock.now(), (part, error) =>
      unreadable.push(`${part}: ${errorMessageOf(error)}`),
    ),
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
    pods: pods as readonly Pod[] | undefined,
    notListed: pods === undefined ? [...notListed, "pods"] : notListed,
    installation,
  };
}

/** For commands that have no answer without pods and twins. */
export function withPodsAndTwins(objects: ClusterObjects): ClusterObjectsWithPods {
  requireKinds(objects, ["pods", "twins"]);
  return { ...objects, pods: objects.pods ?? [] };
}

/** Throws if one of the kinds cannot be listed: without its objects a command would invent an answer. */
export function requireKinds(objects: ClusterObjects, kinds: readonly ClusterKind[]): void {
  const { pods, notListed = [], pending = [], installation } = objects;
  const unknown = kinds.find((kind) => notListed.includes(kind) || (kind === "pods" && pods === undefined));
  if (unknown === undefined) return;
  const name = resourceNames[unknown];
  if (pending.includes(unknown)) throw new Error(`the ${name} of the cluster are not read yet`);
  const why = installation?.unreadable.find((text) => text.startsWith(`${name}: `));
  throw new ConsoleError(
    `the ${name} of the cluster cannot be listed (${why ?? "you may not list or watch them, or the API server has none"}), and without them there is no answer; joulie doctor shows what is missing`,
  );
}

export const whyUnknown = ({ pending = [] }: ClusterObjects, kind: ClusterKind): string =>
  pending.includes(kind) ? "they are not read yet" : "they cannot be listed; see joulie doctor";

export async function readInstallation(
  client: KubeClient,
  namespace: string,
  now: Instant,
  onUnreadable: (part: string, error: unknown) => void,
): Promise<Pick<Installation, "namespace" | "stopped" | "programs" | "operatorLease" | "isDemo">> {
  const attempt = async <Value>(what: string, work: () => Promise<Value>, otherwise: Value): Promise<Value> => {
    try {
      return await work();
    } catch (error) {
      if (!isApiError(error, "notFound")) onUnreadable(what, error);
      return otherwise;
    }
  };
  const workloads = async (kind: WorkloadKind): Promise<readonly InstalledWorkload[]> => {
    const list = async () => listWorkloads(client, namespace, kind);
    const found = await attempt(workloadResources[kind].plural, list, []);
    return found.map((object) => workloadOf(object, kind));
  };
  const [owner, programs, lease] = await Promise.all([
    attempt(`namespace ${namespace}`, async () => client.get(resources.namespaces, { name: namespace }), undefined),
    Promise.all(workloadKinds.map(workloads)),
    attempt("leases", async () => client.get<Lease>(resources.leases, { name: OPERATOR_LEASE, namespace }), undefined),
  ]);
  const renewed = parseInstant(lease?.spec?.renewTime);
  return {
    namespace,
    stopped: owner?.metadata.annotations?.[annotations.stop] === "true",
    programs: programs.flat().toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    operatorLease: lease && {
      holder: lease.spec?.holderIdentity || undefined,
      age: renewed === undefined ? undefined : between(renewed, now),
    },
    isDemo: owner?.metadata.annotations?.[PAGES_ANNOTATION] !== undefined,
  };
}

function workloadOf(workload: WorkloadObject, kind: WorkloadKind): InstalledWorkload {
  const { metadata, spec, status } = workload;
  const { image = "" } = spec?.template?.spec?.containers?.[0] ?? {};
  const program = metadata.labels?.[COMPONENT] ?? metadata.name;
  const variables = variablesOf(workload);
  const settings = presetSettings(program, variables);
  return {
    program,
    kind,
    name: metadata.name,
    desired: kind === "DaemonSet" ? (status?.desiredNumberScheduled ?? 0) : (spec?.replicas ?? 1),
    ready: (kind === "DaemonSet" ? status?.numberReady : status?.readyReplicas) ?? 0,
    observeOnly: (settings?.values ?? variables)["SIMULATE_ONLY"] === "true",
    settings,
    version: image.includes("@") ? undefined : /:([^/:]+)$/.exec(image)?.[1],
  };
}

const ALLOWED_SKEW = milliseconds(60_000);

/** A twin from the future means that the clock of the cluster is ahead of this machine's: ages are counted from its time. */
export function clusterTime(twins: ReadonlyMap<string, NodeTwin>, now: Instant): Instant {
  let latest: number = now;
  for (const { status } of twins.values()) latest = Math.max(latest, Date.parse(status?.lastUpdated ?? "") || 0);
  return latest - now > ALLOWED_SKEW ? instant(latest) : now;
}
