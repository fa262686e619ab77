// A second client that records every version of the cluster's objects.
import { Agent, request } from "undici";
import { apiVersion } from "../../src/core/api/index.ts";
import { eventually, eventuallyPasses, simulatedDelay } from "../../src/platform/clock/testing/index.ts";
import type { ClusterIdentity } from "../controlplane/identities.ts";

export interface WitnessedObject {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

const paths = {
  nodes: "/api/v1/nodes",
  pods: "/api/v1/pods",
  twins: `/apis/${apiVersion}/nodetwins`,
  endpoints: `/apis/${apiVersion}/powerendpoints`,
} as const;
type Witnessed = keyof typeof paths;
const kinds = Object.keys(paths) as Witnessed[];

/** One version of one object. Versions are ordered across all kinds, in the order of the writes. */
export interface Version {
  readonly kind: Witnessed;
  readonly name: string;
  readonly version: number;
  /** Undefined if the object was deleted. */
  readonly object: WitnessedObject | undefined;
}

interface Listed {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly WitnessedObject[];
}

const AGAIN_AFTER_MS = 50;

export class Witness {
  readonly #who: ClusterIdentity;
  readonly #agent: Agent;
  readonly #stop = new AbortController();
  readonly #versions = new Map<string, Version>();
  readonly #names: Readonly<Record<Witnessed, Set<string>>> = {
    nodes: new Set(),
    pods: new Set(),
    twins: new Set(),
    endpoints: new Set(),
  };
  #watching: Promise<unknown> = Promise.resolve();
  /** Number of times a watch could not resume where it ended, so that versions were missed. */
  gaps = 0;

  constructor(who: ClusterIdentity) {
    this.#who = who;
    this.#agent = new Agent({ connect: { ca: who.ca }, bodyTimeout: 0 });
  }

  /** Starts recording every version. */
  async start(): Promise<void> {
    const from = await Promise.all(kinds.map(async (kind) => this.#firstList(kind)));
    this.#watching = Promise.all(kinds.map(async (kind, index) => this.#follow(kind, from[index] ?? "")));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await this.#agent.destroy();
  }

  /** Waits until the recording is complete, and returns all versions in order. */
  async history(): Promise<Version[]> {
    for (const kind of kinds) {
      const { items } = await this.#ask<Listed>(paths[kind]);
      await eventually(() => items.every(({ metadata }) => this.#versions.has(`${kind} ${metadata.resourceVersion}`)));
    }
    return [...this.#versions.values()].toSorted((a, b) => a.version - b.version);
  }

  #saw(kind: Witnessed, object: WitnessedObject, deleted: boolean): void {
    const { name, resourceVersion } = object.metadata;
    if (deleted) this.#names[kind].delete(name);
    else this.#names[kind].add(name);
    const version = { kind, name, version: Number(resourceVersion), object: deleted ? undefined : object };
    this.#versions.set(`${kind} ${resourceVersion}`, version);
  }

  /** Retries, because the server rejects requests for a new kind for a moment after its CRD is installed. */
  async #firstList(kind: Witnessed): Promise<string> {
    return eventuallyPasses(async () => this.#list(kind));
  }

  async #list(kind: Witnessed): Promise<string> {
    const { metadata, items } = await this.#ask<Listed>(paths[kind]);
    const there = new Set(items.map((item) => item.metadata.name));
    for (const name of this.#names[kind]) {
      if (there.has(name)) continue;
      this.#names[kind].delete(name);
      const version = Number(metadata.resourceVersion);
      this.#versions.set(`${kind} ${name} gone by ${version}`, { kind, name, version, object: undefined });
    }
    for (const item of items) this.#saw(kind, item, false);
    return metadata.resourceVersion;
  }

  async #follow(kind: Witnessed, from: string): Promise<void> {
    let place: string | undefined = from;
    while (!this.#stop.signal.aborted) {
      try {
        place ??= await this.#list(kind);
        for await (const event of this.#events(`${paths[kind]}?watch=true&resourceVersion=${place}`)) {
          place = event.object.metadata.resourceVersion;
          this.#saw(kind, event.object, event.type === "DELETED");
        }
      } catch (error) {
        if (error instanceof PlaceLost) {
          place = undefined;
          this.gaps++;
        }
        await simulatedDelay(AGAIN_AFTER_MS);
      }
    }
  }

  async *#events(path: string): AsyncGenerator<{ type: string; object: WitnessedObject }> {
    const { statusCode, body } = await this.#get(path);
    if (statusCode === 410) throw new PlaceLost();
    if (statusCode !== 200) throw new Error(`${path}: ${statusCode} ${await body.text()}`);
    let rest = "";
    for await (const chunk of body.setEncoding("utf8") as AsyncIterable<string>) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const event = JSON.parse(line) as { type: string; object: WitnessedObject & { code?: number } };
        if (event.type !== "ERROR") yield event;
        else if (event.object.code === 410) throw new PlaceLost();
        else throw new Error(line);
      }
    }
  }

  async #ask<Answer>(path: string): Promise<Answer> {
    const { statusCode, body } = await this.#get(path);
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${path}: ${statusCode} ${text}`);
    return JSON.parse(text) as Answer;
  }

  async #get(path: string) {
    const { server, token } = this.#who;
    return request(`${server}${path}`, {
      dispatcher: this.#agent,
      signal: this.#stop.signal,
      headers: { authorization: `Bearer ${token}`, "user-agent": "joulie-test-witness" },
    });
  }
}

/** After its restart the server no longer has the resourceVersion at which the watch ended. */
class PlaceLost extends Error {}
