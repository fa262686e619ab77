import { type Milliseconds, milliseconds, type RandomSource } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { isApiError, type KubeClient, type KubeObject, resources, WorkQueue } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { jittered } from "../../platform/random/index.ts";
import type { MachineSpec } from "./fleet.ts";
import { labels } from "./names.ts";
import { leaseManifest, microTime, nodeManifest, nodeStatus, taintsOf } from "./node-object.ts";
import { remove } from "./removal.ts";

export interface RegistrarOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  readonly fleet: readonly MachineSpec[];
  readonly tainted: boolean;
  readonly heartbeat: Milliseconds;
  readonly onFailed?: () => void;
}

const WRITES_AT_ONCE = 32;
const LEASES = "kube-node-lease";
/** A kubelet's: the node is lost after so many missed heartbeats. */
const LEASE_LENGTH = 4;
/** Heartbeats of a round come in so many parts. */
const PARTS = 20;
const SPREAD = 0.2;

/** Brings the nodes into the cluster, keeps them alive, and takes them away. */
export class Registrar {
  readonly #options: RegistrarOptions;
  readonly #fleet: ReadonlyMap<string, MachineSpec>;
  readonly #uids = new Map<string, string>();
  readonly #all = Promise.withResolvers<void>();
  readonly #queue: WorkQueue;

  constructor(options: RegistrarOptions) {
    const { ioClock: clock, random, log, fleet } = options;
    this.#options = options;
    this.#fleet = new Map(fleet.map((spec) => [spec.name, spec]));
    // Whoever waits for it hears of it; without one it is no accident.
    this.#all.promise.catch(() => undefined);
    this.#queue = new WorkQueue({
      clock,
      random,
      log,
      concurrency: WRITES_AT_ONCE,
      work: async (name, signal) => this.#register(name, signal),
    });
  }

  get registered(): number {
    return this.#uids.size;
  }

  /** Resolves when all nodes are there; rejects when a node of that name is somebody else's. */
  async register(signal: AbortSignal): Promise<void> {
    const stop = () => this.#all.reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    for (const name of this.#fleet.keys()) this.#queue.add(name);
    try {
      await this.#all.promise;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Renews the leases, spread over the interval, until the signal. */
  async beat(signal: AbortSignal): Promise<void> {
    const { ioClock, random, heartbeat } = this.#options;
    for (let part = 0; ; part = (part + 1) % PARTS) {
      try {
        await ioClock.sleep(jittered(milliseconds(heartbeat / PARTS), SPREAD, random), signal);
        await this.#renewPart(part, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
    }
  }

  async stop(): Promise<void> {
    await this.#queue.stop();
  }

  /** Takes away the nodes that it brought or took over. */
  async removeAll(signal: AbortSignal): Promise<void> {
    await eachOf([...this.#uids], WRITES_AT_ONCE, async ([name, uid]) => {
      await remove(this.#options.client, resources.nodes, { name }, uid, signal);
      this.#uids.delete(name);
    });
  }

  async #register(name: string, signal: AbortSignal): Promise<void> {
    const spec = this.#fleet.get(name);
    if (spec === undefined) return;
    try {
      const uid = await this.#ensureNode(spec, signal);
      await this.#createLease(name, uid, signal);
      this.#uids.set(name, uid);
      if (this.#uids.size === this.#fleet.size) this.#all.resolve();
    } catch (error) {
      if (error instanceof ForeignNode) {
        this.#all.reject(error);
        return;
      }
      if (!signal.aborted) this.#options.onFailed?.();
      throw error;
    }
  }

  async #ensureNode(spec: MachineSpec, signal: AbortSignal): Promise<string> {
    const { client, clock, tainted } = this.#options;
    const { name } = spec;
    try {
      const node = await client.create(resources.nodes, nodeManifest(spec, clock.now(), tainted), {
        signal,
        lean: true,
      });
      return node.metadata.uid ?? "";
    } catch (error) {
      if (!isApiError(error, "alreadyExists")) throw error;
    }
    const node = await client.get<KubeObject>(resources.nodes, { name }, { signal, lean: true });
    if (node.metadata.labels?.[labels.simulated] !== "true") throw new ForeignNode(name);
    // Left by an earlier run, or the answer to our create was lost.
    const { uid = "" } = node.metadata;
    const patch = { metadata: { uid, labels: spec.labels }, spec: { taints: taintsOf(tainted) } };
    await client.mergePatch(resources.nodes, { name }, patch, { signal, lean: true });
    const status = { metadata: { uid }, status: nodeStatus(spec, clock.now()) };
    await client.mergePatch(resources.nodes, { name }, status, { signal, lean: true, subresource: "status" });
    return uid;
  }

  async #createLease(name: string, uid: string, signal: AbortSignal): Promise<void> {
    const { client, ioClock, heartbeat } = this.#options;
    const length = Math.ceil((LEASE_LENGTH * heartbeat) / 1000);
    const manifest = leaseManifest(name, uid, microTime(ioClock.now()), length);
    try {
      await client.create(resources.leases, manifest, { namespace: LEASES, signal, lean: true });
    } catch (error) {
      if (!isApiError(error, "alreadyExists")) throw error;
      await client.mergePatch(resources.leases, { name, namespace: LEASES }, manifest, { signal, lean: true });
    }
  }

  async #renewPart(part: number, signal: AbortSignal): Promise<void> {
    const names = [...this.#uids].filter((_, index) => index % PARTS === part);
    await eachOf(names, WRITES_AT_ONCE, async ([name]) => this.#renew(name, signal));
  }

  /** One that fails has its next turn in a round; a node is lost after four. */
  async #renew(name: string, signal: AbortSignal): Promise<void> {
    const { client, ioClock, log, onFailed } = this.#options;
    const patch = { spec: { renewTime: microTime(ioClock.now()) } };
    try {
      await client.mergePatch(resources.leases, { name, namespace: LEASES }, patch, { signal, lean: true, retries: 0 });
    } catch (err) {
      if (signal.aborted) return;
      onFailed?.();
      log.debug({ node: name, err }, "a heartbeat failed");
      // It goes when its Node goes: a machine that is still there registers again.
      if (isApiError(err, "notFound")) this.#queue.add(name);
    }
  }
}

class ForeignNode extends Error {
  constructor(name: string) {
    super(`there is a Node ${name} already that no simulator made; choose another --node-prefix, or delete it`);
  }
}

/** A few at a time; the first failure ends it. */
export async function eachOf<Item>(
  items: readonly Item[],
  atOnce: number,
  act: (item: Item) => Promise<void>,
): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < items.length) await act(items[next++] as Item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
}
