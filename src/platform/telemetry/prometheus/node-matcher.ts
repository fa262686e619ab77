import { isIP } from "node:net";

/** Labels that name a Kubernetes node, the measured node before the exporter's node. The first present label decides. */
const NODE_LABELS = ["exported_node", "node", "node_name", "kubernetes_node"] as const;
/** Labels that name a host, which may be a pod or an address. The first that matches a node decides. */
const HOST_LABELS = ["exported_instance", "nodename", "Hostname", "hostname", "instance"] as const;

export type NodeMatch = { readonly node: string } | "unmatched" | "ambiguous";

/**
 * Finds the node that a sample is about. A label may hold the node's name with a port, or the host name with a longer or shorter
 * domain: `a` matches `a.example.com`, but two different domains do not match.
 *
 * A node label that names an unknown node ends the search: the sample belongs to another cluster's node, even if it was scraped
 * through one of our hosts (`instance`).
 */
export class NodeMatcher {
  /** Nodes by name, and by host name without domain; undefined if several nodes share the host name. */
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
    // Several nodes have this host name with different domains: `a` is ambiguous, `a.third.example` matches none.
    if (node === undefined) return name === host ? "ambiguous" : "unmatched";
    return name === host || node.toLowerCase() === host ? { node } : "unmatched";
  }
}

const hostOf = (name: string): string => name.split(".", 1)[0] ?? name;

const withoutPort = (value: string): string =>
  /^\[(.+)\](?::\d+)?$/.exec(value)?.[1] ?? value.replace(/^([^:]*):\d+$/, "$1");
