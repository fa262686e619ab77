import { isDeepStrictEqual } from "node:util";
import {
  type EndpointType,
  endpointTypes,
  labels,
  type Node,
  type PowerEndpoint,
  type PowerEndpointSpec,
  powerEndpointKind,
} from "../../../core/api/index.ts";
import { hasControlPlaneRole } from "../../../core/sleep/index.ts";
import type { ListedMachine } from "./machine-list.ts";

type Action = "create" | "change" | "same" | "reject";

/** What an import does about one machine. */
export interface ImportStep {
  readonly node: string;
  readonly action: Action;
  readonly spec: PowerEndpointSpec;
  /** The spec that a change replaces. */
  readonly before?: PowerEndpointSpec | undefined;
  /** Labels that the node lacks. */
  readonly labels: Readonly<Record<string, string>>;
  /** Why it is rejected, or what the change ends. */
  readonly why?: string | undefined;
}

interface Existing {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly endpoints: ReadonlyMap<string, PowerEndpoint>;
}

/** Nodes get these labels, so that Joulie plans them and may switch them off. */
const imported = { [labels.managed]: "true", [labels.maySleep]: "true" } as const;

/** Decides what to write for each machine. `labelNodes`: also give nodes the labels that sleep needs. */
export function planImport(
  machines: readonly ListedMachine[],
  { nodes, endpoints }: Existing,
  labelNodes: boolean,
): readonly ImportStep[] {
  const first = new Map<string, string>();
  return machines.map(({ spec, source }) => {
    const node = spec.nodeName;
    const found = nodes.get(node);
    const before = endpoints.get(node);
    const step = (action: Action, why?: string): ImportStep => ({
      node,
      action,
      spec,
      before: before?.spec,
      labels: action === "reject" || found === undefined || !labelNodes ? {} : missingLabels(found),
      why,
    });
    const earlier = first.get(node);
    if (earlier !== undefined) return step("reject", `${source} names it again; first in ${earlier}`);
    first.set(node, source);
    if (found === undefined) return step("reject", `${source}: the cluster has no node of this name`);
    if (hasControlPlaneRole(found.metadata.labels)) return step("reject", "a control-plane node is never switched off");
    const problem = problemOf(spec);
    if (problem !== undefined) return step("reject", `${source}: ${problem}`);
    if (before === undefined) return step("create");
    if (isDeepStrictEqual(before.spec, spec)) return step("same");
    return step("change", before.status?.wakeProven === true ? "its wake has to be proven again" : undefined);
  });
}

const missingLabels = ({ metadata }: Node): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(imported).filter(([name, value]) => metadata.labels?.[name] !== value));

/** The first thing that the API server would reject. */
function problemOf(spec: PowerEndpointSpec): string | undefined {
  const { error } = powerEndpointKind.schema.safeParse({ metadata: { name: spec.nodeName }, spec });
  const [problem] = error?.issues ?? [];
  return problem && `${problem.path.join(".")}: ${problem.message}`;
}

/** Where a machine is switched, in a few words. */
export function switchText(spec: PowerEndpointSpec): string {
  const type = typeOf(spec);
  if (spec.metal3 !== undefined) return `metal3 ${spec.metal3.namespace}/${spec.metal3.name}`;
  return `${type} ${spec.redfish?.address ?? spec.webhook?.url ?? ""}`;
}

const typeOf = (spec: PowerEndpointSpec): EndpointType | undefined =>
  endpointTypes.find((type) => spec[type] !== undefined);

/** A machine whose switch gets a Secret. */
export interface SecretUser {
  readonly node: string;
  readonly address: string;
}

/** Secrets with credentials, each with the machines that use it. */
export function secretsOf(steps: readonly ImportStep[]): ReadonlyMap<string, readonly SecretUser[]> {
  const secrets = new Map<string, SecretUser[]>();
  for (const { node, action, spec } of steps) {
    const { credentialsSecretRef } = spec.redfish ?? spec.webhook ?? {};
    const address = spec.redfish?.address ?? spec.webhook?.url;
    if (action === "reject" || credentialsSecretRef === undefined || address === undefined) continue;
    const users = secrets.get(credentialsSecretRef.name) ?? [];
    secrets.set(credentialsSecretRef.name, users);
    users.push({ node, address: address.replaceAll("{node}", node) });
  }
  return secrets;
}

/** Secrets with certificate authorities, which are sent to no machine. */
export function caSecretsOf(steps: readonly ImportStep[]): ReadonlySet<string> {
  const used = steps.filter(({ action }) => action !== "reject");
  return new Set(used.flatMap(({ spec }) => spec.redfish?.caSecretRef?.name ?? []));
}
