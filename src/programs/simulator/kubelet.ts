import { type Instant, type Milliseconds, milliseconds, type RandomSource } from "../../core/units/index.ts";
import type { Clock, Timer } from "../../platform/clock/index.ts";
import {
  type Change,
  isApiError,
  type KubeClient,
  resources,
  type Transport,
  WorkQueue,
} from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import type { Datacenter } from "./datacenter.ts";
import type { Machine } from "./machine.ts";
import { jobOf, type PodJob, type PodView } from "./pod-job.ts";
import { type PodTimes, podStatus } from "./pod-status.ts";
import { confirmEnd } from "./removal.ts";

export interface KubeletOptions {
  readonly client: KubeClient;
  readonly transport: Transport;
  /** Simulated time. */
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  readonly datacenter: Datacenter;
  /** The pod as the API has it. */
  readonly pod: (key: string) => PodView | undefined;
  readonly onWritten?: (what: "running" | "succeeded" | "deleted") => void;
  readonly onFailed?: () => void;
}

/** A pod on a node of ours. */
interface Stay extends PodTimes {
  readonly uid: string;
  readonly machine: Machine;
  readonly job: PodJob;
  finishedAt?: PodTimes["finishedAt"];
  /** What the API has been told. */
  told?: "Running" | "Succeeded";
  /** Told to end: the moment it does. */
  ending?: Timer;
  ended?: boolean;
}

const WRITES_AT_ONCE = 64;
const TERMINAL = new Set(["Succeeded", "Failed"]);

/**
 * The kubelet of every simulated node. Work begins, ends and stops the moment a watch or the physics says so; what the API
 * is to know of it follows through a queue, pod by pod, as often as it takes.
 */
export class Kubelet {
  readonly #options: KubeletOptions;
  readonly #stays = new Map<string, Stay>();
  readonly #queue: WorkQueue;

  constructor(options: KubeletOptions) {
    const { ioClock: clock, random, log } = options;
    this.#options = options;
    this.#queue = new WorkQueue({
      clock,
      random,
      log,
      concurrency: WRITES_AT_ONCE,
      work: async (key, signal) => this.#tell(key, signal),
    });
  }

  /** Pods whose status still has to be written. */
  get behind(): number {
    return this.#queue.size;
  }

  get pods(): number {
    return this.#stays.size;
  }

  /** What a watch has shown. */
  observe(change: Change<PodView>): void {
    if (change.type === "deleted") this.#leave(change.key, change.old.uid);
    else this.#see(change.new);
  }

  /** The physics has brought a job to its end. */
  finished({ key, id }: PodJob, at: Instant): void {
    const stay = this.#stays.get(key);
    if (stay?.uid !== id) return;
    stay.finishedAt = at;
    this.#queue.add(key);
  }

  /** Tells nobody anything any more. */
  async stop(): Promise<void> {
    for (const { ending } of this.#stays.values()) ending?.cancel();
    await this.#queue.stop();
  }

  #see(pod: PodView): void {
    const { key, uid, node, phase, grace } = pod;
    const machine = node === undefined ? undefined : this.#options.datacenter.machine(node);
    if (machine === undefined) return;
    if (this.#stays.has(key) && this.#stays.get(key)?.uid !== uid) this.#leave(key);
    if (TERMINAL.has(phase)) {
      this.#leave(key);
      return;
    }
    const stay = this.#stays.get(key) ?? this.#admit(pod, machine);
    if (grace !== undefined) this.#end(pod, stay);
    else if (stay.told === undefined) this.#queue.add(key);
  }

  #admit(pod: PodView, machine: Machine): Stay {
    const { clock, datacenter } = this.#options;
    const job = jobOf(pod, machine.spec);
    const stay: Stay = { uid: pod.uid, machine, job, startedAt: clock.now() };
    this.#stays.set(pod.key, stay);
    // One that is already told to end does not begin.
    if (pod.grace === undefined) datacenter.change(machine, () => machine.start(job));
    return stay;
  }

  /** It works on until it has had the time to end, and at most for its grace. */
  #end({ key, grace, work }: PodView, stay: Stay): void {
    if (stay.ended === true) {
      this.#queue.add(key);
      return;
    }
    stay.ending?.cancel();
    const rest = isRunning(stay) ? Math.min(grace ?? 0, work.stopSeconds) : 0;
    stay.ending = this.#options.clock.after(lengthOf(rest), () => {
      this.#halt(stay);
      stay.ended = true;
      this.#queue.add(key);
    });
  }

  #leave(key: string, uid?: string): void {
    const stay = this.#stays.get(key);
    if (stay === undefined || (uid !== undefined && uid !== stay.uid)) return;
    stay.ending?.cancel();
    this.#halt(stay);
    this.#stays.delete(key);
    this.#queue.forget(key);
  }

  #halt({ machine, job }: Stay): void {
    this.#options.datacenter.change(machine, () => machine.stop(job));
  }

  async #tell(key: string, signal: AbortSignal): Promise<void> {
    const stay = this.#stays.get(key);
    const pod = this.#options.pod(key);
    if (stay === undefined || pod === undefined || pod.uid !== stay.uid) return;
    try {
      if (stay.ended === true) {
        await confirmEnd({ transport: this.#options.transport, clock: this.#options.ioClock }, pod, signal);
        this.#options.onWritten?.("deleted");
      } else await this.#writeStatus(pod, stay, signal);
    } catch (error) {
      if (!signal.aborted) this.#options.onFailed?.();
      throw error;
    }
  }

  async #writeStatus(pod: PodView, stay: Stay, signal: AbortSignal): Promise<void> {
    const phase = stay.finishedAt === undefined ? "Running" : "Succeeded";
    if (stay.told === phase) return;
    const { client, onWritten } = this.#options;
    const { name, namespace, uid } = pod;
    const patch = { metadata: { uid }, status: podStatus(pod, stay) };
    try {
      await client.mergePatch(resources.pods, { name, namespace }, patch, {
        subresource: "status",
        signal,
        lean: true,
      });
    } catch (error) {
      // Gone, or another of its name: a watch will say so.
      if (isApiError(error, "notFound", "conflict")) return;
      throw error;
    }
    stay.told = phase;
    onWritten?.(phase === "Running" ? "running" : "succeeded");
  }
}

const isRunning = ({ finishedAt }: Stay): boolean => finishedAt === undefined;

const lengthOf = (rest: number): Milliseconds => milliseconds(1000 * rest);
