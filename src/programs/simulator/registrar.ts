import { type Instant, type Milliseconds, milliseconds, type RandomSource } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { isApiError, type KubeClient, resources, WorkQueue } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { jittered } from "../../platform/random/index.ts";
import { eachOf } from "./each-of.ts";
import type { MachineSpec } from "./fleet.ts";
import { labels } from "./names.ts";
import { type Known, leaseManifest, microTime, nodeManifest, nodeStatus, taintsOf } from "./node-object.ts";
import { isOfAnother, remove } from "./removal.ts";

export interface RegistrarOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  readonly fleet: readonly MachineSpec[];
  readonly tainted: boolean;
  readonly heartbeat: Milliseconds;
  readonly onFailed?: (error: unknown) => void;
}

const WRITES_AT_ONCE = 32;
const LEASES = "kube-node-lease";
/** A kubelet's: the node is lost after so many missed heartbeats. */
const LEASE_LENGTH = 4;
/** Heartbeats of a round come in so many parts. */
const PARTS = 20;
const SPREAD = 0.2;
/** A round of heartbeats has the status of every sixth node: who was away too long is ready again within a minute. */
const ROUNDS_PER_STATUS = 6;

/** A Node of ours. */
interface Registered {
  readonly uid: string;
  /** When it became ready. */
  readonly since: Instant;
}

/** Brings the nodes into the cluster, keeps them alive, and takes them away. */
export class Registrar {
  readonly #options: RegistrarOptions;
  readonly #fleet: ReadonlyMap<string, MachineSpec>;
  readonly #nodes = new Map<string, Registered>();
  /** The uids of their Leases. */
  readonly #leases = new Map<string, string>();
  /** Names of which we may have made a Node, whatever we heard of it. */
  readonly #tried = new Set<string>();
  readonly #all = Promise.withResolvers<void>();
  /** Rejects when a name turns out to be somebody else's. */
  readonly #foreign = Promise.withResolvers<never>();
  readonly #queue: WorkQueue;

  constructor(options: RegistrarOptions) {
    const { ioClock: clock, random, log, fleet } = options;
    this.#options = options;
    this.#fleet = new Map(fleet.map((spec) => [spec.name, spec]));
    // Whoever waits for them hears of it; without one it is no accident.
    this.#all.promise.catch(() => undefined);
    this.#foreign.promise.catch(() => undefined);
    this.#queue = new WorkQueue({
      clock,
      random,
      log,
      concurrency: WRITES_AT_ONCE,
      work: async (name, signal) => this.#register(name, signal),
    });
  }

  /** How many nodes are there with their leases, as far as is known. */
  get registered(): number {
    return this.#leases.size;
  }

  /** Whether the Node of this name is ours, as far as is known. */
  owns(name: string): boolean {
    return this.#nodes.has(name);
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

  /** Keeps alive those that are there, until the signal; rejects when one has become somebody else's. */
  async beat(signal: AbortSignal): Promise<void> {
    await Promise.race([this.#foreign.promise, this.#rounds(signal)]);
  }

  async stop(): Promise<void> {
    await this.#queue.stop();
  }

  /** Takes away the nodes that it brought or took over; gives what failed. */
  async removeAll(signal: AbortSignal): Promise<readonly unknown[]> {
    return eachOf([...this.#tried], WRITES_AT_ONCE, async (name) => {
      const uid = this.#nodes.get(name)?.uid ?? (await this.#lookUp(name, signal));
      if (uid !== undefined) await remove(this.#options.client, resources.nodes, { name }, uid, signal);
      this.#forget(name);
      this.#tried.delete(name);
    });
  }

  /** One whose creation we heard no answer to. */
  async #lookUp(name: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const { metadata } = await this.#options.client.get(resources.nodes, { name }, { signal, lean: true });
      return metadata.labels?.[labels.simulated] === "true" ? metadata.uid : undefined;
    } catch (error) {
      if (isApiError(error, "notFound")) return undefined;
      throw error;
    }
  }

  async #register(name: string, signal: AbortSignal): Promise<void> {
    const spec = this.#fleet.get(name);
    if (spec === undefined) return;
    try {
      const node = (await this.#refreshed(spec, signal)) ?? (await this.#ensureNode(spec, signal));
      this.#nodes.set(name, node);
      this.#leases.set(name, await this.#ensureLease(name, node.uid, signal));
      if (this.registered === this.#fleet.size) this.#all.resolve();
    } catch (error) {
      if (error instanceof ForeignNode) {
        this.#all.reject(error);
        this.#foreign.reject(error);
        return;
      }
      if (!signal.aborted) this.#options.onFailed?.(error);
      throw error;
    }
  }

  /** One we know, made ready anew; undefined if it is not there any more. */
  async #refreshed(spec: MachineSpec, signal: AbortSignal): Promise<Registered | undefined> {
    const node = this.#nodes.get(spec.name);
    if (node === undefined) return undefined;
    return (await this.#writeStatus(spec, node, signal)) ? node : undefined;
  }

  async #ensureNode(spec: MachineSpec, signal: AbortSignal): Promise<Registered> {
    const { client, clock, tainted } = this.#options;
    const { name } = spec;
    const since = clock.now();
    this.#tried.add(name);
    try {
      const { metadata } = await client.create(resources.nodes, nodeManifest(spec, since, tainted), {
        signal,
        lean: true,
      });
      return { uid: metadata.uid ?? "", since };
    } catch (error) {
      if (!isApiError(error, "alreadyExists")) throw error;
    }
    const found = await client.get<Known>(resources.nodes, { name }, { signal, lean: true });
    const { uid = "", resourceVersion } = found.metadata;
    if (found.metadata.labels?.[labels.simulated] !== "true") {
      this.#tried.delete(name);
      throw new ForeignNode(name);
    }
    // Left by an earlier run, or the answer to our create was lost. Others' taints are theirs: a cordon stays one.
    const taints = taintsOf(tainted, found.spec?.taints);
    const patch = { metadata: { uid, resourceVersion, labels: spec.labels }, spec: { taints } };
    await client.mergePatch(resources.nodes, { name }, patch, { signal, lean: true });
    const status = { metadata: { uid }, status: nodeStatus(spec, since) };
    await client.mergePatch(resources.nodes, { name }, status, { signal, lean: true, subresource: "status" });
    return { uid, since };
  }

  async #ensureLease(name: string, uid: string, signal: AbortSignal): Promise<string> {
    const { client, ioClock, heartbeat } = this.#options;
    const length = Math.ceil((LEASE_LENGTH * heartbeat) / 1000);
    const manifest = leaseManifest(name, uid, microTime(ioClock.now()), length);
    const options = { signal, lean: true };
    try {
      const { metadata } = await client.create(resources.leases, manifest, { namespace: LEASES, ...options });
      return metadata.uid ?? "";
    } catch (error) {
      if (!isApiError(error, "alreadyExists")) throw error;
    }
    const { metadata } = await client.mergePatch(resources.leases, { name, namespace: LEASES }, manifest, options);
    return metadata.uid ?? "";
  }

  async #rounds(signal: AbortSignal): Promise<void> {
    const { ioClock, random, heartbeat } = this.#options;
    for (let turn = 0; ; turn = (turn + 1) % (PARTS * ROUNDS_PER_STATUS)) {
      try {
        await ioClock.sleep(jittered(milliseconds(heartbeat / PARTS), SPREAD, random), signal);
        await this.#renewPart(turn % PARTS, Math.floor(turn / PARTS), signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
    }
  }

  async #renewPart(part: number, round: number, signal: AbortSignal): Promise<void> {
    // By place in the fleet: a node that came late does not move the turns of the others.
    const due = [...this.#fleet.values()].flatMap((spec, place) => {
      const node = place % PARTS === part ? this.#nodes.get(spec.name) : undefined;
      const withStatus = Math.floor(place / PARTS) % ROUNDS_PER_STATUS === round;
      return node === undefined ? [] : [{ spec, node, withStatus }];
    });
    await eachOf(due, WRITES_AT_ONCE, async ({ spec, node, withStatus }) => {
      const renewed = await this.#renew(spec.name, signal);
      if (renewed && withStatus) await this.#keepReady(spec, node, signal);
    });
  }

  /** One that fails is registered anew, and told ready anew: the node may have been given up meanwhile. */
  async #renew(name: string, signal: AbortSignal): Promise<boolean> {
    const lease = this.#leases.get(name);
    // Still being registered, which gives it a fresh one.
    if (lease === undefined) return false;
    const { client, ioClock } = this.#options;
    // By its uid: another Node of the name has another Lease, which is not ours to renew.
    const patch = { metadata: { uid: lease }, spec: { renewTime: microTime(ioClock.now()) } };
    try {
      await client.mergePatch(resources.leases, { name, namespace: LEASES }, patch, { signal, lean: true, retries: 0 });
      return true;
    } catch (error) {
      this.#missed(name, error, signal);
      return false;
    }
  }

  async #keepReady(spec: MachineSpec, node: Registered, signal: AbortSignal): Promise<void> {
    try {
      if (!(await this.#writeStatus(spec, node, signal))) this.#queue.add(spec.name);
    } catch (error) {
      this.#missed(spec.name, error, signal);
    }
  }

  #missed(name: string, err: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    const { log, onFailed } = this.#options;
    log.debug({ node: name, err }, "a heartbeat failed; the node is registered anew");
    // A Lease goes with its Node, which somebody may delete: a machine that is still there registers again.
    if (!isApiError(err, "notFound") && !isOfAnother(err)) onFailed?.(err);
    this.#queue.add(name);
  }

  /** Whether it is still there; one that is not is no longer counted as ours. */
  async #writeStatus(spec: MachineSpec, node: Registered, signal: AbortSignal): Promise<boolean> {
    const { client, clock } = this.#options;
    const { name } = spec;
    const patch = { metadata: { uid: node.uid }, status: nodeStatus(spec, clock.now(), node.since) };
    try {
      await client.mergePatch(resources.nodes, { name }, patch, { signal, lean: true, subresource: "status" });
      return true;
    } catch (error) {
      if (!isApiError(error, "notFound") && !isOfAnother(error)) throw error;
      if (this.#nodes.get(name) === node) this.#forget(name);
      return false;
    }
  }

  #forget(name: string): void {
    this.#nodes.delete(name);
    this.#leases.delete(name);
  }
}

class ForeignNode extends Error {
  constructor(name: string) {
    super(`there is a Node ${name} already that no simulator made; choose another --node-prefix, or delete it`);
  }
}
