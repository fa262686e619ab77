import { isIP } from "node:net";

/** Labels that name a Kubernetes node, the measured one before the exporter's own. The first that is there decides. */
const NODE_LABELS = ["exported_node", "node", "node_name", "kubernetes_node"] as const;
/** Labels that name a host, which may be a pod or an address: the first that some node goes by decides. */
const HOST_LABELS = ["exported_instance", "nodename", "Hostname", "hostname", "instance"] as const;

export type NodeMatch = { readonly node: string } | "unmatched" | "ambiguous";

/**
 * Finds the node a sample is about. A label may hold the node's name, with a port, or the host's name with more or less of
 * its domain than the node's: `a` and `a.example.com` meet, two different domains do not.
 *
 * A node label that names none of our nodes ends the search: the sample is about a node of somebody else, and the host it
 * came through (`instance`) may well be one of ours.
 */
export class NodeMatcher {
  /** By name, and by host name without domain; undefined where several nodes share it. */
  readonly #byName: ReadonlyMap<string, string>;
  readonly #byHost = new Map<string, string | undefined>();

  constructor(nodes: Iterable<string>) {
    this.#byName = new Map(Array.from(nodes, (node) => [node.toLowerCase(), node]));
    for (const [name, node] of this.#byName) {
      if (isIP(name) !== 0) continue;
      const host = hostOf(name);
      this.#byHost.set(host, this.#byHost.has(host) ? undefined : node);
    }
  }

  match(labels: Readonly<Record<string, string>>): NodeMatch {
    for (const label of NODE_LABELS) {
      const value = labels[label];
      if (value !== undefined && value !== "") return this.#find(value);
    }
    let found: NodeMatch = "unmatched";
    for (const label of HOST_LABELS) {
      const match = this.#find(labels[label] ?? "");
      if (typeof match === "object") return match;
      if (match === "ambiguous") found = match;
    }
    return found;
  }

  #find(value: string): NodeMatch {
    const name = withoutPort(value.toLowerCase());
    const exact = this.#byName.get(name);
    if (exact !== undefined) return { node: exact };
    const host = hostOf(name);
    if (name === "" || isIP(name) !== 0 || !this.#byHost.has(host)) return "unmatched";
    const node = this.#byHost.get(host);
    // Several nodes of this host name, each with a domain: `a` may mean any of them, `a.third.example` none.
    if (node === undefined) return name === host ? "ambiguous" : "unmatched";
    return name === host || node.toLowerCase() === host ? { node } : "unmatched";
  }
}

const hostOf = (name: string): string => name.split(".", 1)[0] ?? name;

const withoutPort = (value: string): string =>
  /^\[(.+)\](?::\d+)?$/.exec(value)?.[1] ?? value.replace(/^([^:]*):\d+$/, "$1");
