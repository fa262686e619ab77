import { annotations, CodedError, type LabelSelector, matchesLabels, type Node } from "../../../core/api/index.ts";
import { EndpointList, hostRanges } from "../../../platform/config/index.ts";
import { isApiError, type KubeClient, type KubeObject, plainReason, resources } from "../../../platform/kube/index.ts";
import { type BareMetalHost, bareMetalHosts, isHostOf } from "../../../platform/switch/index.ts";
import { listed } from "../requests.ts";
import { readEndpoint } from "../watch/cluster-view.ts";
import { caSecretsOf, type ImportStep, planImport, type SecretUser, secretsOf } from "./import-plan.ts";
import { type ListedMachine, type MachineAccess, machinesByPattern } from "./machine-list.ts";

type ClusterNode = KubeObject & Node & { readonly spec?: { readonly providerID?: string } };

/** Where machines come from. */
export type MachineSource =
  | { readonly kind: "list"; readonly machines: readonly ListedMachine[] }
  | {
      readonly kind: "pattern";
      readonly pattern: string;
      readonly access: MachineAccess;
      readonly selector: LabelSelector;
    }
  | { readonly kind: "metal3"; readonly namespace: string };

export interface ImportOptions {
  readonly client: KubeClient;
  /** Namespace of the installation, where the Secrets are. */
  readonly namespace: string;
  readonly labelNodes: boolean;
}

export interface ImportPlan {
  readonly steps: readonly ImportStep[];
  /** Hosts that no node names, and Secrets that are missing or do not name all hosts, each with what to do. */
  readonly notes: readonly string[];
}

/** Reads the cluster and decides what an import would write. */
export async function planMachineImport(source: MachineSource, options: ImportOptions): Promise<ImportPlan> {
  const { client, labelNodes } = options;
  const [nodeList, endpointList] = await Promise.all([
    client.listAll<ClusterNode>(resources.nodes),
    client.listAll(resources.powerEndpoints),
  ]);
  const nodes = new Map(nodeList.items.map((node) => [node.metadata.name, node]));
  const endpoints = new Map(endpointList.items.map((item) => [item.metadata.name, readEndpoint(item)]));
  const { machines, notes } = await machinesOf(source, client, nodeList.items);
  const steps = planImport(machines, { nodes, endpoints }, labelNodes);
  return { steps, notes: [...notes, ...(await secretProblems(steps, options))] };
}

async function machinesOf(
  source: MachineSource,
  client: KubeClient,
  nodes: readonly ClusterNode[],
): Promise<FoundMachines> {
  if (source.kind === "list") return { machines: source.machines, notes: [] };
  if (source.kind === "pattern") {
    const chosen = nodes.filter(({ metadata }) => matchesLabels(source.selector, metadata.labels));
    const names = chosen.map(({ metadata }) => metadata.name);
    return { machines: machinesByPattern(source.pattern, names, source.access), notes: [] };
  }
  return machinesOfHosts(await hostsIn(source.namespace, client), nodes);
}

interface FoundMachines {
  readonly machines: readonly ListedMachine[];
  readonly notes: readonly string[];
}

async function hostsIn(namespace: string, client: KubeClient): Promise<readonly BareMetalHost[]> {
  try {
    return (await client.listAll<BareMetalHost>(bareMetalHosts, { namespace })).items;
  } catch (error) {
    if (!isApiError(error, "notFound")) throw error;
    const message = "the cluster has no BareMetalHosts: Metal3 is not installed";
    throw new CodedError("JOULIE_E_USAGE", message, { cause: error });
  }
}

function machinesOfHosts(hosts: readonly BareMetalHost[], nodes: readonly ClusterNode[]): FoundMachines {
  const machines: ListedMachine[] = [];
  const unused: string[] = [];
  for (const { metadata, spec } of hosts) {
    const { name, namespace = "" } = metadata;
    const identity = { namespace, name, machine: spec?.consumerRef?.name };
    const nodeName = nodes.find((node) => isHostOf(identity, node.spec?.providerID) === true)?.metadata.name;
    if (nodeName === undefined) unused.push(name);
    else machines.push({ spec: { nodeName, metal3: { namespace, name } }, source: `BareMetalHost ${name}` });
  }
  const notes =
    unused.length === 0 ? [] : [`left out, because no node names them in its provider ID: ${listed(unused)}`];
  return { machines, notes };
}

/** Each with the command that mends it. */
async function secretProblems(
  steps: readonly ImportStep[],
  { client, namespace }: ImportOptions,
): Promise<readonly string[]> {
  const problems: (string | undefined)[] = [];
  for (const [name, users] of secretsOf(steps))
    problems.push(
      await problemOf(name, "--from-literal=username=… --from-literal=password=…", (secret) =>
        hostsProblem(secret, namespace, users),
      ),
    );
  for (const name of caSecretsOf(steps)) problems.push(await problemOf(name, "--from-file=ca.crt", () => undefined));
  return problems.filter((problem) => problem !== undefined);

  async function problemOf(
    name: string,
    content: string,
    check: (secret: KubeObject) => string | undefined,
  ): Promise<string | undefined> {
    try {
      return check(await client.get(resources.secrets, { namespace, name }));
    } catch (error) {
      // Who may not read Secrets may still import machines.
      if (isApiError(error, "forbidden")) return undefined;
      if (!isApiError(error, "notFound")) throw error;
      return `Secret ${name} does not exist: kubectl -n ${namespace} create secret generic ${name} ${content}`;
    }
  }
}

/** More hosts are better described by their network. */
const MAX_HOSTS = 4;

/** A Secret goes only to hosts that it names. */
function hostsProblem({ metadata }: KubeObject, namespace: string, users: readonly SecretUser[]): string | undefined {
  const { name } = metadata;
  const named = metadata.annotations?.[annotations.hosts];
  const allowed = new EndpointList(hostRanges(named ?? "") ?? []);
  const refused = users.filter(({ node, address }) => {
    const url = URL.parse(address);
    return url === null || !allowed.has(url, node);
  });
  const [first] = refused;
  if (first === undefined) return undefined;
  const hosts = [...new Set(refused.map(({ address }) => hostOf(address)))];
  const missing = hosts.length > MAX_HOSTS ? ["NETWORK"] : hosts;
  const value = [...(named === undefined ? [] : [named]), ...missing].join(",");
  const command = `kubectl -n ${namespace} annotate --overwrite secret ${name} ${annotations.hosts}=${value}`;
  return `Secret ${name} may not be sent to ${refused.length} of ${users.length} switches, such as ${first.address}: ${command}`;
}

/** As the annotation names a host: https is what it means without a scheme. */
const hostOf = (address: string): string => URL.parse(address)?.origin.replace(/^https:\/\//, "") ?? address;

/** Writes what was planned. Returns what failed; one machine never stops the others. */
export async function importMachines(client: KubeClient, steps: readonly ImportStep[]): Promise<readonly string[]> {
  const failures: string[] = [];
  const attempt = async (node: string, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      failures.push(`${node}: ${plainReason(error)}`);
    }
  };
  for (const { node, action, spec, before, labels } of steps) {
    if (action === "create")
      await attempt(node, async () => client.create(resources.powerEndpoints, { metadata: { name: node }, spec }));
    if (action === "change")
      await attempt(node, async () =>
        client.mergePatch(resources.powerEndpoints, { name: node }, { spec: replacement(before ?? {}, spec) }),
      );
    if (Object.keys(labels).length > 0)
      await attempt(node, async () => client.mergePatch(resources.nodes, { name: node }, { metadata: { labels } }));
  }
  return failures;
}

/** A merge patch that leaves `after` and nothing else of `before`. */
function replacement(before: object, after: object): Readonly<Record<string, unknown>> {
  const fields = new Map(Object.entries(before));
  const patch = Object.entries(after).map(([name, value]: [string, unknown]) => {
    const old: unknown = fields.get(name);
    const isNested = isRecord(value) && isRecord(old);
    return [name, isNested ? replacement(old, value) : value];
  });
  const removed = [...fields.keys()].filter((name) => !Object.hasOwn(after, name)).map((name) => [name, null]);
  return Object.fromEntries([...patch, ...removed]) as Record<string, unknown>;
}

const isRecord = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
