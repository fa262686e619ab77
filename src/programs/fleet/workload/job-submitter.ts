import { annotations as joulie } from "../../../core/api/index.ts";
import { elapsed, type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import {
  type Change,
  isApiError,
  type KubeIo,
  type Manifest,
  resources,
  WorkQueue,
} from "../../../platform/kube/index.ts";
import { fleetAnnotations, fleetLabels } from "../names.ts";
import { deleteIfUnchanged } from "../pods/deletion.ts";
import type { FleetPod } from "../pods/pod-job.ts";
import type { JobArrival } from "./arrivals.ts";

export interface SubmitterOptions extends KubeIo {
  /** Simulated time, used for arrivals. */
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly namespace: string;
  readonly prefix: string;
  readonly scheduler: string;
  readonly maxPods: number;
  readonly finishedPodRetention: Milliseconds;
  readonly onFailed?: (error: unknown) => void;
}

const WRITES_AT_ONCE = 16;
const RUN_LETTERS = 5;
/** Jobs submitted before yielding to the event loop; otherwise a fast clock would starve other tasks. */
const JOBS_IN_A_ROW = 200;

export class JobSubmitter {
  readonly #options: SubmitterOptions;
  readonly #run: string;
  readonly #present = new Set<string>();
  readonly #waiting = new Map<string, Manifest>();
  readonly #finished = new Map<string, FleetPod>();
  readonly #creations: WorkQueue;
  readonly #removals: WorkQueue;
  #named = 0;
  #submitted = 0;
  #withheld = 0;

  constructor(options: SubmitterOptions) {
    const { ioClock: clock, random, log } = options;
    this.#options = options;
    this.#run = Math.floor(random.next() * 36 ** RUN_LETTERS)
      .toString(36)
      .padStart(RUN_LETTERS, "0");
    const base = { clock, random, log, concurrency: WRITES_AT_ONCE };
    this.#creations = new WorkQueue({ ...base, work: async (name, signal) => this.#create(name, signal) });
    this.#removals = new WorkQueue({ ...base, work: async (key, signal) => this.#remove(key, signal) });
  }

  get submitted(): number {
    return this.#submitted;
  }

  get withheld(): number {
    return this.#withheld;
  }

  get behind(): number {
    return this.#waiting.size;
  }

  observe(change: Change<FleetPod>): void {
    const pod = change.type === "deleted" ? change.old : change.new;
    if (!pod.submittedHere) return;
    if (change.type === "deleted") {
      this.#present.delete(pod.key);
      this.#finished.delete(pod.key);
      this.#removals.forget(pod.key);
      return;
    }
    this.#present.add(pod.key);
    if ((pod.phase !== "Succeeded" && pod.phase !== "Failed") || this.#finished.has(pod.key)) return;
    this.#finished.set(pod.key, pod);
    this.#removals.addAfter(pod.key, this.#options.finishedPodRetention);
  }

  /** Runs until the signal aborts; `jobs` is endless. */
  async run(jobs: Iterable<JobArrival>, signal: AbortSignal): Promise<void> {
    const { clock, ioClock } = this.#options;
    const begun = clock.monotonic();
    let inARow = 0;
    try {
      for (const job of jobs) {
        const wait = job.at * 1000 - elapsed(begun, clock.monotonic());
        if (wait > 0) await clock.sleep(milliseconds(wait), signal);
        else if (++inARow % JOBS_IN_A_ROW === 0) await ioClock.sleep(milliseconds(0), signal);
        if (signal.aborted) return;
        this.#submit(job);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.#creations.stop(), this.#removals.stop()]);
  }

  #submit(job: JobArrival): void {
    const { namespace, maxPods } = this.#options;
    if (this.#present.size >= maxPods) {
      this.#withheld++;
      return;
    }
    const name = `${job.kind}-${this.#run}-${++this.#named}`;
    const key = `${namespace}/${name}`;
    this.#present.add(key);
    this.#waiting.set(name, podManifest(name, job, this.#options));
    this.#creations.add(name);
  }

  async #create(name: string, signal: AbortSignal): Promise<void> {
    const { client, namespace, onFailed } = this.#options;
    const manifest = this.#waiting.get(name);
    if (manifest === undefined) return;
    try {
      await client.create(resources.pods, manifest, { namespace, signal, lean: true });
    } catch (error) {
      // The response to an earlier attempt was lost.
      if (!isApiError(error, "alreadyExists")) {
        if (!signal.aborted) onFailed?.(error);
        throw error;
      }
    }
    this.#waiting.delete(name);
    this.#submitted++;
  }

  async #remove(key: string, signal: AbortSignal): Promise<void> {
    const pod = this.#finished.get(key);
    if (pod === undefined) return;
    const { name, namespace, uid } = pod;
    const { client, onFailed } = this.#options;
    try {
      await deleteIfUnchanged(client, resources.pods, { name, namespace }, { uid, signal });
    } catch (error) {
      if (!signal.aborted) onFailed?.(error);
      throw error;
    }
  }
}

/** Selects simulated nodes only: a real node could not run it. */
function podManifest(
  name: string,
  { kind, cores, gpus, work, performance }: JobArrival,
  { scheduler: schedulerName, prefix }: SubmitterOptions,
): Manifest {
  const asked = { cpu: String(cores), memory: `${2 * cores}Gi`, ...(gpus && { [gpus.resource]: String(gpus.count) }) };
  return {
    metadata: {
      name,
      labels: { [fleetLabels.simulated]: "true", [fleetLabels.submitter]: prefix },
      annotations: {
        [joulie.workloadClass]: performance ? "performance" : "standard",
        [fleetAnnotations.kind]: kind,
        [fleetAnnotations.workSeconds]: String(work),
      },
    },
    spec: {
      schedulerName,
      restartPolicy: "Never",
      nodeSelector: { [fleetLabels.simulated]: "true" },
      tolerations: [{ key: fleetLabels.simulated, operator: "Exists", effect: "NoSchedule" }],
      containers: [{ name: "job", image: "simulated", resources: { requests: asked, limits: asked } }],
    },
  };
}
