import { request } from "undici";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { type Clock, systemClock, withTimeLimit } from "../../clock/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { SchedulerNode } from "./cluster-view.ts";

/** An extender entry of a KubeSchedulerConfiguration. */
export interface ExtenderClientConfig {
  readonly urlPrefix: string;
  readonly filterVerb?: string;
  readonly prioritizeVerb?: string;
  /** Multiplies the extender's scores. */
  readonly weight?: number;
  readonly httpTimeout?: Milliseconds;
  /** The extender has its own node cache and receives only node names. */
  readonly nodeCacheCapable?: boolean;
  /** The scheduler places pods without this extender while it is unavailable. */
  readonly ignorable?: boolean;
}

export interface ExtenderFilterResult {
  readonly nodes: readonly SchedulerNode[];
  /** Node name → reason. This scheduler has no preemption, so it merges resolvable and unresolvable failures. */
  readonly failed: ReadonlyMap<string, string>;
}

/** kube-scheduler's MaxNodeScore / MaxExtenderPriority. */
const SCORE_FACTOR = 10;

/** Calls a scheduler extender with kube-scheduler's wire format: untagged Go field names, unused fields null. */
export class ExtenderClient {
  readonly #config: ExtenderClientConfig;
  readonly #clock: Clock;

  /** `clock` bounds a call to another process, so it is the system clock except in tests. */
  constructor(config: ExtenderClientConfig, clock: Clock = systemClock) {
    this.#config = config;
    this.#clock = clock;
  }

  get wantsNodes(): boolean {
    return this.#config.nodeCacheCapable !== true;
  }

  get ignorable(): boolean {
    return this.#config.ignorable === true;
  }

  get name(): string {
    return this.#config.urlPrefix;
  }

  /** Calls the filter verb. A response without a node list rejects all nodes. */
  async filter(pod: KubeObject, nodes: readonly SchedulerNode[], signal: AbortSignal): Promise<ExtenderFilterResult> {
    const { filterVerb } = this.#config;
    if (filterVerb === undefined) return { nodes, failed: new Map() };
    const reply = await this.#post(filterVerb, pod, nodes, signal);
    const error = field(reply, "Error");
    if (typeof error === "string" && error !== "") throw new Error(`extender ${this.name}: ${error}`);
    const byName = new Map(nodes.map((node) => [node.name, node]));
    const left = namesIn(reply, this.wantsNodes).map((name) => {
      const node = byName.get(name);
      if (node === undefined)
        throw new Error(`extender ${this.name} returned node ${name}, which was not in the request`);
      return node;
    });
    return { nodes: left, failed: reasonsIn(reply) };
  }

  /** Calls the prioritize verb and returns the weighted scores. */
  async prioritize(
    pod: KubeObject,
    nodes: readonly SchedulerNode[],
    signal: AbortSignal,
  ): Promise<Map<string, number>> {
    const { prioritizeVerb, weight = 1 } = this.#config;
    if (prioritizeVerb === undefined) return new Map();
    const reply = await this.#post(prioritizeVerb, pod, nodes, signal);
    if (!Array.isArray(reply)) throw new Error(`extender ${this.name}: the response is not a list of scores`);
    return new Map(
      reply.map((entry) => [String(field(entry, "Host")), Number(field(entry, "Score")) * weight * SCORE_FACTOR]),
    );
  }

  async #post(verb: string, pod: KubeObject, nodes: readonly SchedulerNode[], signal: AbortSignal): Promise<unknown> {
    const body = {
      Pod: untyped(pod),
      Nodes: this.wantsNodes ? { metadata: {}, items: nodes.map(({ object }) => object && untyped(object)) } : null,
      NodeNames: this.wantsNodes ? null : nodes.map(({ name }) => name),
    };
    const length = this.#config.httpTimeout ?? milliseconds(5000);
    const exchange = async (limit: AbortSignal): Promise<unknown> => {
      const { statusCode, body: answer } = await request(`${this.name.replace(/\/+$/, "")}/${verb}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: limit,
      });
      const text = await answer.text();
      if (statusCode !== 200) throw new Error(`extender ${this.name}/${verb} answered ${statusCode}`);
      return JSON.parse(text) as unknown;
    };
    const message = `no answer within ${length} ms`;
    return withTimeLimit(this.#clock, length, exchange, { signal, message, background: true });
  }
}

/** Removes kind and apiVersion, which client-go informers also omit. */
function untyped({ kind: _kind, apiVersion: _apiVersion, ...object }: KubeObject): object {
  return object;
}

/** Looks up a field case-insensitively, as Go's JSON decoder does. */
function field(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const exact = Object.hasOwn(value, name) ? name : undefined;
  const key = exact ?? Object.keys(value).find((one) => one.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : (value as Readonly<Record<string, unknown>>)[key];
}

function namesIn(reply: unknown, full: boolean): string[] {
  const names = field(reply, "NodeNames");
  if (!full && Array.isArray(names)) return names.map(String);
  const items = field(field(reply, "Nodes"), "items");
  return Array.isArray(items) ? items.map((node) => String(field(field(node, "metadata"), "name"))) : [];
}

function reasonsIn(reply: unknown): Map<string, string> {
  const reasons = ["FailedNodes", "FailedAndUnresolvableNodes"].flatMap((name) =>
    Object.entries(field(reply, name) ?? {}),
  );
  return new Map(reasons.map(([node, reason]) => [node, String(reason)]));
}
