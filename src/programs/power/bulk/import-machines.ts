import { annotations, type LabelSelector, matchesLabels, type Node } from "../../../core/api/index.ts";
import { EndpointList, hostRanges } from "../../../platform/config/index.ts";
import { isApiError, type KubeClient, type KubeObject, plainReason, resources } from "../../../platform/kube/index.ts";
import { type BareMetalHost, bareMetalHosts, isHostOf } from "../../../platform/switch/index.ts";
import { readEndpoint } from "../watch/cluster-view.ts";
import { type ImportStep, planImport, secretsOf } from "./import-plan.ts";
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
  /** Of the installation, where the Secrets are. */
  readonly namespace: string;
  readonly labelNodes: boolean;
}

export interface ImportPlan {
  readonly steps: readonly ImportStep[];
  /** Secrets that are missing or do not name all hosts, each with what to do. */
  readonly secrets: readonly string[];
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
  const machines = await machinesOf(source, client, nodeList.items);
  const steps = planImport(machines, { nodes, endpoints }, labelNodes);
  return { steps, secrets: await secretProblems(steps, options) };
}

async function machinesOf(
  source: MachineSource,
  client: KubeClient,
  nodes: readonly ClusterNode[],
): Promise<readonly ListedMachine[]> {
  if (source.kind === "list") return source.machines;
  if (source.kind === "pattern") {
    const chosen = nodes.filter(({ metadata }) => matchesLabels(source.selector, metadata.labels));
    return machinesByPattern(
      source.pattern,
      chosen.map(({ metadata }) => metadata.name),
      source.access,
    );
  }
  const { namespace } = source;
  const { items: hosts } = await client.listAll<BareMetalHost>(bareMetalHosts, { namespace });
  return hosts.flatMap(({ metadata: { name }, spec }): ListedMachine[] => {
    const identity = { namespace, name, machine: spec?.consumerRef?.name };
    const node = nodes.find(({ spec: nodeSpec }) => isHostOf(identity, nodeSpec?.providerID) === true);
    if (node === undefined) return [];
    return [{ spec: { nodeName: node.metadata.name, metal3: { namespace, name } }, source: `BareMetalHost ${name}` }];
  });
}

/** A Secret goes only to hosts that it names. */
async function secretProblems(
  steps: readonly ImportStep[],
  { client, namespace }: ImportOptions,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const [name, addresses] of secretsOf(steps)) {
    try {
      const { metadata } = await client.get<KubeObject>(resources.secrets, { namespace, name });
      const ranges = hostRanges(metadata.annotations?.[annotations.hosts] ?? "") ?? [];
      const allowed = new EndpointList(ranges);
      const node = (address: string) =>
        steps.find(({ spec }) => address === (spec.redfish?.address ?? spec.webhook?.url));
      const refused = addresses.filter((address) => {
        const url = URL.parse(address.replaceAll("{node}", node(address)?.node ?? ""));
        return url === null || !allowed.has(url, node(address)?.node ?? "");
      });
      if (refused.length > 0)
        problems.push(
          `Secret ${name} may not be sent to ${refused.length} of ${addresses.length} switches, such as ${refused[0]}: kubectl -n ${namespace} annotate secret ${name} ${annotations.hosts}=NETWORK`,
        );
    } catch (error) {
      if (isApiError(error, "notFound"))
        problems.push(
          `Secret ${name} does not exist: kubectl -n ${namespace} create secret generic ${name} --from-literal=username=… --from-literal=password=…`,
        );
      // Who may not read Secrets may still import machines.
      else if (!isApiError(error, "forbidden")) throw error;
    }
  }
  return problems;
}

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
