import {
  type Instant,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
} from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../../platform/clock/index.ts";
import { type Change, isApiError, type KubeIo, resources, WorkQueue } from "../../../platform/kube/index.ts";
import type { Datacenter } from "../machines/datacenter.ts";
import type { SimulatedMachine } from "../machines/simulated-machine.ts";
import { deleteIfUnchanged, isUidConflict } from "./deletion.ts";
import { type FleetPod, jobOf, type PodJob } from "./pod-job.ts";
import { type PodTimes, podStatus } from "./pod-status.ts";

export interface KubeletOptions extends KubeIo {
  /** Simulated time. */
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly datacenter: Datacenter;
  /** From binding to the start of work, in simulated time. */
  readonly podStart: Milliseconds;
  readonly pod: (key: string) => FleetPod | undefined;
  readonly owns: (node: string) => boolean;
  readonly onFailed?: (error: unknown) => void;
}

interface HostedPod extends PodTimes {
  readonly uid: string;
  readonly machine: SimulatedMachine;
  readonly job: PodJob;
  startedAt: Instant;
  starting?: Timer | undefined;
  end?: PodTimes["end"];
  writtenPhase?: "Running" | "Succeeded" | "Failed";
  ending?: { readonly due: MonotonicInstant; readonly timer: Timer };
  over?: boolean;
}

const WRITES_AT_ONCE = 64;
const TERMINAL = new Set(["Succeeded", "Failed"]);

/** The kubelet of every simulated node. Status writes follow through a work queue, per pod, with retries. */
export class SimulatedKubelet {
  readonly #options: KubeletOptions;
  readonly #stays = new Map<string, HostedPod>();
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

  observe(change: Change<FleetPod>): void {
    if (change.type === "deleted") this.#leave(change.key, change.old.uid);
    else this.#see(change.new);
  }

  finished({ key, id }: PodJob, at: Instant): void {
    const stay = this.#stays.get(key);
    if (stay?.uid !== id) return;
    stay.end = { phase: "Succeeded", at };
    this.#queue.add(key);
  }

  /** The machine has lost its power, and the kubelet with it: nothing more is written about its pods. */
  forgetMachine(node: string): void {
    for (const [key, stay] of this.#stays) if (stay.machine.spec.name === node) this.#leave(key);
  }

  /** The machine has booted. Pods that are still bound to it start again. */
  startMachine(pods: Iterable<FleetPod>): void {
    for (const pod of pods) this.#see(pod);
  }

  async stop(): Promise<void> {
    for (const { starting, ending } of this.#stays.values()) {
      starting?.cancel();
      ending?.timer.cancel();
    }
    await this.#queue.stop();
  }

  #see(pod: FleetPod): void {
    const { key, uid, node, phase, grace } = pod;
    const machine = node === undefined ? undefined : this.#options.datacenter.machine(node);
    // Without power there is no kubelet.
    if (machine === undefined || machine.power !== "on") return;
    if (this.#stays.has(key) && this.#stays.get(key)?.uid !== uid) this.#leave(key);
    const terminal = TERMINAL.has(phase);
    if (terminal && grace === undefined) {
      this.#leave(key);
      return;
    }
    const stay = this.#stays.get(key) ?? this.#admit(pod, machine);
    // A pod whose end is already written needs no further wait.
    if (terminal) stay.writtenPhase = phase as "Succeeded" | "Failed";
    if (terminal) this.#over(key, stay);
    else if (grace !== undefined) this.#end(pod, stay);
    else if (stay.writtenPhase === undefined && stay.starting === undefined) this.#queue.add(key);
  }

  #admit(pod: FleetPod, machine: SimulatedMachine): HostedPod {
    const { clock, datacenter, podStart } = this.#options;
    const job = jobOf(pod, machine.spec);
    const now = clock.now();
    // A pod started by an earlier run keeps its start time, unless that lies in our future. Its work restarts from
    // zero.
    const startedAt = pod.startTime !== undefined && pod.startTime <= now ? pod.startTime : now;
    const stay: HostedPod = { uid: pod.uid, machine, job, startedAt };
    this.#stays.set(pod.key, stay);
    // A pod that is already terminating does not start.
    if (pod.grace !== undefined) return stay;
    const begin = () => datacenter.change(machine, () => machine.start(job));
    // A pod started by an earlier run needs no start delay.
    if (podStart === 0 || pod.phase === "Running") begin();
    else {
      stay.starting = clock.after(podStart, () => {
        stay.starting = undefined;
        stay.startedAt = clock.now();
        begin();
        this.#queue.add(pod.key);
      });
    }
    return stay;
  }

  /** The pod works until its stop time, at most for its grace period. Repeated requests do not extend it. */
  #end({ key, grace, work }: FleetPod, stay: HostedPod): void {
    if (stay.over === true) return;
    const { clock } = this.#options;
    const rest = milliseconds(stay.machine.works(stay.job) ? 1000 * Math.min(grace ?? 0, work.stopSeconds) : 0);
    const due = monotonicInstant(clock.monotonic() + rest);
    if (stay.ending !== undefined && stay.ending.due <= due) return;
    stay.ending?.timer.cancel();
    stay.ending = { due, timer: clock.after(rest, () => this.#over(key, stay)) };
  }

  #over(key: string, stay: HostedPod): void {
    if (stay.over === true) return;
    stay.ending?.timer.cancel();
    this.#halt(stay);
    stay.over = true;
    stay.end ??= { phase: "Failed", at: this.#options.clock.now() };
    this.#queue.add(key);
  }

  #leave(key: string, uid?: string): void {
    const stay = this.#stays.get(key);
    if (stay === undefined || (uid !== undefined && uid !== stay.uid)) return;
    stay.ending?.timer.cancel();
    this.#halt(stay);
    this.#stays.delete(key);
    this.#queue.forget(key);
  }

  #halt(stay: HostedPod): void {
    const { machine, job } = stay;
    stay.starting?.cancel();
    stay.starting = undefined;
    this.#options.datacenter.change(machine, () => machine.stop(job));
  }

  async #tell(key: string, signal: AbortSignal): Promise<void> {
    const stay = this.#stays.get(key);
    const pod = this.#options.pod(key);
    if (stay === undefined || pod === undefined || pod.uid !== stay.uid) return;
    const { client, owns, onFailed } = this.#options;
    const { name, namespace, uid } = pod;
    const node = stay.machine.spec.name;
    // The status waits until the node is registered again. If the name belongs to another Node, the pod is not ours.
    if (!owns(node)) throw new Error(`the Node ${node} is not registered`);
    try {
      await this.#writeStatus(pod, stay, signal);
      if (stay.over !== true) return;
      await deleteIfUnchanged(client, resources.pods, { name, namespace }, { uid, gracePeriodSeconds: 0, signal });
    } catch (error) {
      if (!signal.aborted) onFailed?.(error);
      throw error;
    }
  }

  async #writeStatus(pod: FleetPod, stay: HostedPod, signal: AbortSignal): Promise<void> {
    const phase = stay.end?.phase ?? "Running";
    if (stay.writtenPhase === phase) return;
    const { client } = this.#options;
    const { name, namespace, uid } = pod;
    const patch = { metadata: { uid }, status: podStatus(pod, stay) };
    try {
      await client.mergePatch(resources.pods, { name, namespace }, patch, {
        subresource: "status",
        signal,
        lean: true,
      });
    } catch (error) {
      // The pod is gone or was replaced; a watch event will follow.
      if (isApiError(error, "notFound") || isUidConflict(error)) return;
      throw error;
    }
    stay.writtenPhase = phase;
  }
}
