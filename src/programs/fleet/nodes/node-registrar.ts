import type { NodePowerState } from "../../../core/api/index.ts";
import { milliseconds, type RandomSource } from "../../../core/units/index.ts";
import { forEachConcurrently } from "../../../platform/concurrency/index.ts";
import { isApiError, WorkQueue } from "../../../platform/kube/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import { jittered } from "../../../platform/random/index.ts";
import type { MachineSpec } from "../machines/machine-specs.ts";
import { isUidConflict } from "../pods/deletion.ts";
import { ForeignNodeError, NodeWriter, type NodeWriterOptions, type RegisteredNode } from "./node-writer.ts";

export interface RegistrarOptions extends NodeWriterOptions {
  readonly random: RandomSource;
  readonly log: Logger;
  readonly fleet: readonly MachineSpec[];
  /** The power state of a machine. Only one that is on sends heartbeats and registers its Node. */
  readonly powerOf: (node: string) => NodePowerState;
  readonly onFailed?: (error: unknown) => void;
}

const WRITES_AT_ONCE = 32;
/** Heartbeats are spread over this many parts of an interval. */
const PARTS = 20;
const SPREAD = 0.2;
/**
 * Each heartbeat interval also rewrites the status of every sixth node, so a node marked NotReady recovers within a
 * minute.
 */
const ROUNDS_PER_STATUS = 6;

/** Registers nodes, sends their heartbeats and deletes them. */
export class NodeRegistrar {
  readonly #options: RegistrarOptions;
  readonly #writer: NodeWriter;
  readonly #fleet: ReadonlyMap<string, MachineSpec>;
  readonly #nodes = new Map<string, RegisteredNode>();
  /** Lease uids by node name. */
  readonly #leases = new Map<string, string>();
  /** Names for which we may have created a Node, including requests without a response. */
  readonly #tried = new Set<string>();
  readonly #all = Promise.withResolvers<void>();
  /** Rejects when a Node of that name belongs to another owner. */
  readonly #foreign = Promise.withResolvers<never>();
  readonly #queue: WorkQueue;

  constructor(options: RegistrarOptions) {
    const { ioClock: clock, random, log, fleet } = options;
    this.#options = options;
    this.#writer = new NodeWriter(options);
    this.#fleet = new Map(fleet.map((spec) => [spec.name, spec]));
    // Avoids unhandled rejections when no caller awaits these promises.
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

  /** Number of nodes known to be registered, with their leases. */
  get registered(): number {
    return this.#leases.size;
  }

  /** Whether the Node of this name is known to be ours. */
  owns(name: string): boolean {
    return this.#nodes.has(name);
  }

  /** A machine shuts down or has booted: its kubelet writes the Ready condition at once. */
  switched(name: string, power: NodePowerState): void {
    const node = this.#nodes.get(name);
    if (node !== undefined) this.#nodes.set(name, { ...node, since: this.#options.clock.now() });
    if (power === "on" || power === "stopping") this.#queue.add(name);
  }

  /** Resolves when all nodes are registered; rejects when a Node of that name belongs to another owner. */
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

  /** Renews leases until the signal aborts; rejects when a Node has another owner. */
  async sendHeartbeats(signal: AbortSignal): Promise<void> {
    await Promise.race([this.#foreign.promise, this.#rounds(signal)]);
  }

  async stop(): Promise<void> {
    await this.#queue.stop();
  }

  /** Deletes all nodes that were created or taken over. Returns the errors. */
  async removeAll(signal: AbortSignal): Promise<readonly unknown[]> {
    return forEachConcurrently([...this.#tried], WRITES_AT_ONCE, async (name) => {
      await this.#writer.removeNode(name, this.#nodes.get(name), signal);
      this.#forget(name);
      this.#tried.delete(name);
    });
  }

  async #register(name: string, signal: AbortSignal): Promise<void> {
    const spec = this.#fleet.get(name);
    if (spec === undefined) return;
    const power = this.#options.powerOf(name);
    if (power !== "on" && power !== "stopping") return;
    try {
      if (power === "stopping") {
        const node = this.#nodes.get(name);
        if (node !== undefined) await this.#writer.writeStatus(spec, node, signal, false);
        return;
      }
      const node = (await this.#refreshed(spec, signal)) ?? (await this.#entered(spec, signal));
      this.#nodes.set(name, node);
      this.#leases.set(name, await this.#writer.ensureLease(name, node.uid, signal));
      if (this.registered === this.#fleet.size) this.#all.resolve();
    } catch (error) {
      if (error instanceof ForeignNodeError) {
        this.#tried.delete(name);
        this.#all.reject(error);
        this.#foreign.reject(error);
        return;
      }
      if (!signal.aborted) this.#options.onFailed?.(error);
      throw error;
    }
  }

  async #entered(spec: MachineSpec, signal: AbortSignal): Promise<RegisteredNode> {
    this.#tried.add(spec.name);
    return this.#writer.ensureNode(spec, signal);
  }

  /** Rewrites the status of a known node. A node that no longer exists is forgotten. */
  async #refreshed(spec: MachineSpec, signal: AbortSignal): Promise<RegisteredNode | undefined> {
    const { name } = spec;
    const node = this.#nodes.get(name);
    if (node === undefined || (await this.#writer.writeStatus(spec, node, signal))) return node;
    if (this.#nodes.get(name) === node) this.#forget(name);
    return undefined;
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
    // By position in the fleet: a node that registers late does not shift the others.
    const due = [...this.#fleet.values()].flatMap((spec, place) =>
      place % PARTS === part ? [{ spec, withStatus: Math.floor(place / PARTS) % ROUNDS_PER_STATUS === round }] : [],
    );
    await forEachConcurrently(due, WRITES_AT_ONCE, async ({ spec, withStatus }) =>
      this.#keep(spec, withStatus, signal),
    );
  }

  /**
   * Renews one lease. After a failure the node is registered again and its Ready condition rewritten, because the
   * node controller may have marked it NotReady.
   */
  async #keep(spec: MachineSpec, withStatus: boolean, signal: AbortSignal): Promise<void> {
    const { name } = spec;
    const lease = this.#leases.get(name);
    // The node is being registered, which creates a fresh lease.
    if (lease === undefined || this.#options.powerOf(name) !== "on") return;
    try {
      await this.#writer.renew(name, lease, signal);
      if (withStatus && (await this.#refreshed(spec, signal)) === undefined) this.#queue.add(name);
    } catch (error) {
      this.#missed(name, error, signal);
    }
  }

  #missed(name: string, err: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    const { log, onFailed } = this.#options;
    log.debug({ node: name, err }, "heartbeat failed; registering the node again");
    // Deleting a Node deletes its Lease; the simulated machine then registers again.
    if (!isApiError(err, "notFound") && !isUidConflict(err)) onFailed?.(err);
    this.#queue.add(name);
  }

  #forget(name: string): void {
    this.#nodes.delete(name);
    this.#leases.delete(name);
  }
}
