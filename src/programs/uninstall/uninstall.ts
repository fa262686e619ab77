import {
  annotations,
  arrivalsConfigMap,
  asleepTaint,
  labels,
  managedByOperator,
  operatorConfigMap,
} from "../../core/api/index.ts";
import { counted } from "../../core/report/index.ts";
import { elapsed, formatDuration, type Milliseconds, milliseconds } from "../../core/units/index.ts";
import { pollUntil } from "../../platform/backoff/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { forEachConcurrently } from "../../platform/concurrency/index.ts";
import type { DeviceKind } from "../../platform/hardware/index.ts";
import {
  isApiError,
  type KubeClient,
  type KubeObject,
  type ObjectName,
  type Resource,
  resources,
  stoppedBy,
} from "../../platform/kube/index.ts";
import { listed, nodesNotOn } from "../power/index.ts";

export interface UninstallOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly namespace: string;
  readonly timeout: Milliseconds;
  readonly wakeTimeout: Milliseconds;
  readonly labels: readonly string[];
  /** Keep NodeTwin, NodeHardware and mirrored NodePowerProfile objects. */
  readonly keepObjects: boolean;
  readonly fleet?: FleetDeployment;
}

interface FleetDeployment {
  readonly name: string;
  readonly podSelector: string;
}

/** Most are lists of all objects of a kind. */
const POLL = { first: milliseconds(1000), longest: milliseconds(10_000) };
const MAX_NAMES = 10;
/** For a node that fell asleep meanwhile, if the other wakes have used up their time. */
const LAST_WAKE = milliseconds(60_000);
/** Kubelets write to their Nodes meanwhile. */
const ATTEMPTS = 5;
/** One call after the other would take minutes on thousands of nodes. */
const CONCURRENT_CALLS = 32;

/** Waits until all nodes are awake and all agents confirm, then removes labels and objects. Returns what failed. */
export async function uninstall(options: UninstallOptions): Promise<string | undefined> {
  const { client, clock, namespace, timeout, keepObjects } = options;
  await annotateStop(client, namespace, "true");
  const started = clock.monotonic();
  const notAwake = await untilAwake(options, options.wakeTimeout);
  if (notAwake !== undefined) return notAwake;
  let unconfirmed: readonly string[] = [];
  const isConfirmed = await pollUntil(clock, { ...POLL, timeout }, async () => {
    unconfirmed = await listIfDefined(client, resources.nodeTwins, (twin: ReportedTwin) =>
      hasConfirmed(twin, namespace) ? undefined : twin.metadata.name,
    );
    return unconfirmed.length === 0;
  });
  if (!isConfirmed) {
    const nodes = counted(unconfirmed.length, "node");
    const more = unconfirmed.length > MAX_NAMES ? ", …" : "";
    const why = "that its original limits are restored";
    return `${nodes} did not confirm within ${formatDuration(timeout)} ${why}: ${unconfirmed.slice(0, MAX_NAMES).join(", ")}${more}`;
  }
  // A sleep may have begun before the power program saw the annotation. The Job of the chart counts one wake.
  const left = milliseconds(Math.max(options.wakeTimeout - elapsed(started, clock.monotonic()), LAST_WAKE));
  const fellAsleep = await untilAwake(options, left);
  if (fellAsleep !== undefined) return fellAsleep;
  if (options.fleet !== undefined && !(await endFleet(options, options.fleet)))
    return `the pod of Deployment ${options.fleet.name} still runs after ${formatDuration(timeout)}`;
  await removeLabelsAndTaints(options);
  if (!keepObjects) await removeObjects(client);
  return undefined;
}

async function untilAwake(
  { client, clock }: Pick<UninstallOptions, "client" | "clock">,
  timeout: Milliseconds,
): Promise<string | undefined> {
  let asleep: readonly string[] = [];
  const isAwake = await pollUntil(clock, { ...POLL, timeout }, async () => {
    asleep = await nodesNotOn(client);
    return asleep.length === 0;
  });
  if (isAwake) return undefined;
  const nodes = asleep.length === 1 ? "1 node is" : `${asleep.length} nodes are`;
  return `${nodes} not awake after ${formatDuration(timeout)}: ${listed(asleep)}; switch on what \`joulie power\` cannot wake, or delete the PowerEndpoint`;
}

/** A fleet deletes its nodes and pods as it stops. It must stop before Helm removes its rights. */
async function endFleet(
  { client, clock, namespace, timeout }: UninstallOptions,
  { name, podSelector }: FleetDeployment,
): Promise<boolean> {
  await deleteIfPresent(client, resources.deployments, { name, namespace });
  return pollUntil(clock, { ...POLL, timeout }, async () => hasNoPods(client, namespace, podSelector));
}

/** Waits until the release has no more pods, then removes the stop annotation and what replicas shared. Returns what failed. */
export async function clearStop({
  client,
  clock,
  namespace,
  timeout,
  selector,
  leases,
}: Omit<UninstallOptions, "labels" | "keepObjects" | "wakeTimeout" | "fleet"> & {
  readonly selector: string;
  readonly leases: readonly string[];
}): Promise<string | undefined> {
  const isGone = await pollUntil(clock, { ...POLL, timeout }, async () => hasNoPods(client, namespace, selector));
  if (!isGone)
    return `pods of ${selector} still run after ${formatDuration(timeout)}; remove the annotation ${annotations.stop} from namespace ${namespace} when they are gone`;
  await annotateStop(client, namespace, null);
  for (const name of leases) await deleteIfPresent(client, resources.leases, { name, namespace });
  for (const name of [arrivalsConfigMap, operatorConfigMap])
    await deleteIfPresent(client, resources.configMaps, { name, namespace });
  return undefined;
}

async function hasNoPods(client: KubeClient, namespace: string, labelSelector: string): Promise<boolean> {
  const { items } = await client.listAll(resources.pods, { namespace, labelSelector });
  return items.length === 0;
}

async function deleteIfPresent(client: KubeClient, resource: Resource, at: ObjectName): Promise<void> {
  try {
    await client.delete(resource, at);
  } catch (error) {
    if (!isApiError(error, "notFound")) throw error;
  }
}

async function annotateStop(client: KubeClient, name: string, value: "true" | null): Promise<void> {
  const patch = { metadata: { annotations: { [annotations.stop]: value } } };
  try {
    await client.mergePatch(resources.namespaces, { name }, patch);
  } catch (error) {
    if (value !== null || !isApiError(error, "notFound")) throw error;
  }
}

type ReportedTwin = KubeObject & {
  readonly status?: {
    readonly controlStatus?: Readonly<
      Partial<Record<DeviceKind, { readonly result?: string; readonly message?: string }>>
    > & { readonly observedGeneration?: number };
  };
};

/** Whether no limit of an agent is in force on the node. Without a report there never was an agent. */
function hasConfirmed({ status }: ReportedTwin, namespace: string): boolean {
  const { cpu, gpu, observedGeneration } = status?.controlStatus ?? {};
  const devices = [cpu, gpu].filter((device) => device !== undefined);
  if (devices.length === 0) return observedGeneration === undefined;
  const confirmations = [stoppedBy(namespace), "the agent has stopped"];
  return (
    devices.every(({ result }) => result === "none") &&
    devices.some(({ message = "" }) => confirmations.some((text) => message.includes(text)))
  );
}

type TaintedNode = KubeObject & { readonly spec?: { readonly taints?: readonly { readonly key: string }[] } };

/** A node keeps the taint if its PowerEndpoint was deleted while it slept. Nothing would remove it later. */
async function removeLabelsAndTaints({ client, labels: keys }: UninstallOptions): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { items } = await client.listOf(resources.nodes, (node: TaintedNode) => {
      const patch = cleanupPatch(node, keys);
      return patch && { name: node.metadata.name, patch };
    });
    const failures = await forEachConcurrently(items, CONCURRENT_CALLS, async ({ name, patch }) => {
      await client.mergePatch(resources.nodes, { name }, patch);
    });
    const conflicts = conflictsIn(failures);
    if (conflicts.length === 0) return;
    if (attempt >= ATTEMPTS) throw conflicts[0];
  }
}

/** The conflicts among failures. An object that is gone needs nothing more. Throws what else failed. */
function conflictsIn(failures: readonly unknown[]): readonly unknown[] {
  const left = failures.filter((error) => !isApiError(error, "notFound"));
  const other = left.find((error) => !isApiError(error, "conflict"));
  if (other !== undefined) throw other;
  return left;
}

function cleanupPatch(
  { metadata, spec: { taints = [] } = {} }: TaintedNode,
  keys: readonly string[],
): Readonly<Record<string, unknown>> | undefined {
  const present = keys.filter((key) => metadata.labels?.[key] !== undefined);
  const others = taints.filter(({ key }) => key !== asleepTaint.key);
  const isTainted = others.length < taints.length;
  if (present.length === 0 && !isTainted) return undefined;
  const none = Object.fromEntries(present.map((key) => [key, null]));
  // Taints are one list, so the write names the version that it was read from.
  const { resourceVersion } = metadata;
  return isTainted
    ? { metadata: { labels: none, resourceVersion }, spec: { taints: others } }
    : { metadata: { labels: none } };
}

/** A user's NodePowerProfiles and TelemetryProfiles stay. */
async function removeObjects(client: KubeClient): Promise<void> {
  const isMirror = ({ metadata }: KubeObject) => metadata.labels?.[labels.managedBy] === managedByOperator;
  for (const resource of [resources.nodeHardwares, resources.nodePowerProfiles, resources.nodeTwins]) {
    const objects = await listIfDefined(client, resource, (object) =>
      resource === resources.nodePowerProfiles && !isMirror(object)
        ? undefined
        : { name: object.metadata.name, uid: object.metadata.uid ?? "" },
    );
    const failures = await forEachConcurrently(objects, CONCURRENT_CALLS, async ({ name, uid }) => {
      await client.delete(resource, { name }, { preconditions: { uid } });
    });
    // A conflict: another object has the name now, and stays.
    conflictsIn(failures);
  }
}

async function listIfDefined<Kept>(
  client: KubeClient,
  resource: Resource,
  project: (object: KubeObject) => Kept | undefined,
): Promise<readonly Kept[]> {
  try {
    return (await client.listOf(resource, project)).items;
  } catch (error) {
    if (isApiError(error, "notFound")) return [];
    throw error;
  }
}
