import type { NodePowerState } from "../../../core/api/index.ts";
import { milliseconds, type RandomSource } from "../../../core/units/index.ts";
import { forEachConcurrently } from "../../../platform/concurrency/index.ts";
import { isApiError, WorkQueue } from "../../../platform/kube/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import { jittered } from "../../../platform/random/index.ts";
import { untilAborted } from "../../../platform/serve/index.ts";
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
const SPREAD = 0.2;
/** Every sixth heartbeat also rewrites the status, so a node marked NotReady recovers within about a minute. */
const BEATS_PER_STATUS = 6;

export class NodeRegistrar {
  readonly #options: RegistrarOptions;
  readonly #writer: NodeWriter;
  readonly #fleet: ReadonlyMap<string, MachineSpec>;
  readonly #nodes = new Map<string, RegisteredNode>();
  readonly #leases = new Map<string, string>();
  /** Nodes whose last heartbeat failed or whose machine has booted: they are registered again. */
  readonly #suspects = new Set<string>();
  readonly #beats = new Map<string, number>();
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
      work: async (name, signal) => this.#reconcile(name, signal),
    });
  }

  get registered(): number {
    return this.#leases.size;
  }

  owns(name: string): boolean {
    return this.#nodes.has(name);
  }

  /** A machine shuts down or has booted: its kubelet writes the Ready condition at once. */
  switched(name: string, power: NodePowerState): void {
    const node = this.#nodes.get(name);
    if (node !== undefined) this.#nodes.set(name, { ...node, since: this.#options.clock.now() });
    this.#suspects.add(name);
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

  /** Lasts until the signal aborts; rejects when a Node has another owner. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.race([this.#foreign.promise, untilAborted(signal)]);
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

  /** Registers the node of a machine that is on, or sends its heartbeat, and comes back for the next one. */
  async #reconcile(name: string, signal: AbortSignal): Promise<void> {
    const spec = this.#fleet.get(name);
    if (spec === undefined) return;
    const power = this.#options.powerOf(name);
    const { heartbeat, random, onFailed } = this.#options;
    try {
      if (power === "stopping") {
        const node = this.#nodes.get(name);
        if (node !== undefined) await this.#writer.writeStatus(spec, node, signal, false);
      }
      if (power !== "on") return;
      const lease = this.#leases.get(name);
      if (lease !== undefined && !this.#suspects.has(name)) {
        await this.#beat(spec, lease, signal);
        this.#queue.addAfter(name, jittered(heartbeat, SPREAD, random));
      } else {
        await this.#register(spec, signal);
        // Spreads the heartbeats of nodes that were registered together.
        this.#queue.addAfter(name, milliseconds(heartbeat * random.next()));
      }
    } catch (error) {
      if (error instanceof ForeignNodeError) {
        this.#tried.delete(name);
        this.#all.reject(error);
        this.#foreign.reject(error);
        return;
      }
      // The node controller may have marked the node NotReady.
      this.#suspects.add(name);
      // Deleting a Node deletes its Lease; the simulated machine then registers again.
      if (!signal.aborted && !isApiError(error, "notFound") && !isUidConflict(error)) onFailed?.(error);
      throw error;
    }
  }

  async #register(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const { name } = spec;
    const node = (await this.#refreshed(spec, signal)) ?? (await this.#entered(spec, signal));
    this.#nodes.set(name, node);
    this.#leases.set(name, await this.#writer.ensureLease(name, node.uid, signal));
    this.#suspects.delete(name);
    if (this.registered === this.#fleet.size) this.#all.resolve();
  }

  async #beat(spec: MachineSpec, lease: string, signal: AbortSignal): Promise<void> {
    const { name } = spec;
    await this.#writer.renew(name, lease, signal);
    const beats = (this.#beats.get(name) ?? 0) + 1;
    this.#beats.set(name, beats);
    if (beats % BEATS_PER_STATUS === 0 && (await this.#refreshed(spec, signal)) === undefined) this.#queue.add(name);
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

  #forget(name: string): void {
    this.#nodes.delete(name);
    this.#leases.delete(name);
  }
}
