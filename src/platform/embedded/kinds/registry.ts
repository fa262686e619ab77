import { type JsonObject, stringAt } from "../storage/json.ts";
import { configMaps, leases, namespaces, persistentVolumeClaims, persistentVolumes } from "./builtin-kinds.ts";
import { crds, servedByCrd } from "./crds.ts";
import { coreEvents, events } from "./events.ts";
import { nodes } from "./nodes.ts";
import { pods } from "./pods.ts";
import type { ServedResource } from "./served-resource.ts";
import { deployments, jobs, replicaSets } from "./workload-kinds.ts";

const builtInKinds: readonly ServedResource[] = [
  namespaces,
  nodes,
  pods,
  coreEvents,
  leases,
  events,
  configMaps,
  persistentVolumes,
  persistentVolumeClaims,
  deployments,
  replicaSets,
  jobs,
  crds,
];

const pathKey = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`;

/** The served kinds: built-in kinds and those of installed CRDs. */
export class Registry {
  readonly #byPath = new Map<string, ServedResource>();
  readonly #custom = new Map<string, ServedResource>();

  constructor() {
    for (const resource of builtInKinds) this.#add(resource);
  }

  find(group: string, version: string, plural: string): ServedResource | undefined {
    return this.#byPath.get(pathKey(group, version, plural));
  }

  /** Finds the resource of an ownerReference. */
  ofKind(apiVersion: string, kind: string): ServedResource | undefined {
    const slash = apiVersion.indexOf("/");
    const [group, version] = [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)];
    return this.all.find((one) => one.kind === kind && one.group === group && one.version === version);
  }

  get all(): ServedResource[] {
    return [...this.#byPath.values()];
  }

  /** Adds or replaces the kind of a CRD. */
  install(crd: JsonObject): void {
    const name = stringAt(crd, "metadata", "name");
    const resource = servedByCrd(crd);
    this.uninstall(crd);
    this.#custom.set(name, resource);
    this.#add(resource);
  }

  uninstall(crd: JsonObject): ServedResource | undefined {
    const name = stringAt(crd, "metadata", "name");
    const resource = this.#custom.get(name);
    if (resource === undefined) return undefined;
    this.#custom.delete(name);
    this.#byPath.delete(pathKey(resource.group, resource.version, resource.plural));
    return resource;
  }

  #add(resource: ServedResource): void {
    this.#byPath.set(pathKey(resource.group, resource.version, resource.plural), resource);
  }
}
