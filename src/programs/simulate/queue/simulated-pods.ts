import type { PodSummary } from "../../../core/demand/index.ts";
import { podRequests, QUEUED_AFTER } from "../../../core/demand/index.ts";
import type { ArrivalHistory } from "../../../core/policy/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import type { JobKindRequest } from "../placement/job-kinds.ts";
import { ANY_BOARD } from "../trace/trace.ts";
import { BOARD_LABEL, type ClusterMachine, GPU_RESOURCE } from "./machines.ts";

/** What all pods of one kind of job have in common. Policies group pods by the identity of requests and constraints. */
type PodOfKind = Omit<PodSummary, "node" | "createdAt" | "waitedUntil" | "reference">;

/** The pods of waiting and running jobs, as the operator's watch would summarise them. */
export class SimulatedPods {
  readonly #kinds: readonly PodOfKind[];
  readonly #requests: readonly JobKindRequest[];
  readonly #pendingKinds = new Map<number, number>();
  readonly #pods = new Map<number, PodSummary>();
  readonly #created = new Map<number, Instant>();
  readonly #byNode = new Map<string, Map<number, PodSummary>>();
  readonly #arrivals: ArrivalHistory;
  readonly #allArrivals: ArrivalHistory | undefined;

  /** `allArrivals` records pods of all classes, `arrivals` only performance pods. */
  constructor(
    kinds: readonly JobKindRequest[],
    machines: readonly ClusterMachine[],
    arrivals: ArrivalHistory,
    allArrivals?: ArrivalHistory,
  ) {
    this.#requests = kinds;
    const products = new Map<number, string>();
    for (const { board, node } of machines) products.set(board, node.metadata.labels?.[BOARD_LABEL] ?? "");
    const anyNode = {};
    const bound = new Map(
      Array.from(products, ([board, product]) => [board, { selector: { [BOARD_LABEL]: product } }]),
    );
    this.#kinds = kinds.map(({ cores, gpus, performance, board }) => {
      const gpuAmounts: [string, number][] = gpus > 0 ? [[GPU_RESOURCE, gpus]] : [];
      return {
        active: true,
        constraint: "general",
        workloadClass: performance ? "performance" : "standard",
        performanceSensitive: performance,
        demand: { cpuCores: cores, gpus: new Map(gpuAmounts) },
        requests: podRequests(new Map([["cpu", cores], ...gpuAmounts])),
        ...((performance || allArrivals !== undefined) && {
          nodes: board === ANY_BOARD ? anyNode : (bound.get(board) ?? anyNode),
        }),
      };
    });
    this.#arrivals = arrivals;
    this.#allArrivals = allArrivals;
  }

  arrived(job: number, kind: number, at: Instant): void {
    const pod: PodSummary = {
      ...(this.#kinds[kind] as PodOfKind),
      node: undefined,
      createdAt: at,
      reference: { namespace: "default", name: `job-${job}`, uid: String(job) },
    };
    this.#pods.set(job, pod);
    this.#created.set(job, at);
    this.#pendingKinds.set(job, kind);
    if (pod.performanceSensitive) this.#arrivals.record(pod);
    this.#allArrivals?.record(pod);
  }

  bound(job: number, kind: number, node: string, at: Instant): void {
    this.#pendingKinds.delete(job);
    const createdAt = this.#created.get(job) ?? at;
    const pod: PodSummary = {
      ...(this.#kinds[kind] as PodOfKind),
      node,
      createdAt,
      ...(at - createdAt >= QUEUED_AFTER && { waitedUntil: at }),
    };
    this.#pods.set(job, pod);
    const others = this.#byNode.get(node);
    if (others === undefined) this.#byNode.set(node, new Map([[job, pod]]));
    else others.set(job, pod);
  }

  ended(job: number): void {
    const node = this.#pods.get(job)?.node;
    if (node !== undefined) this.#byNode.get(node)?.delete(job);
    this.#pods.delete(job);
    this.#created.delete(job);
  }

  kindOf(job: number): JobKindRequest | undefined {
    const kind = this.#pendingKinds.get(job);
    return kind === undefined ? undefined : this.#requests[kind];
  }

  on(node: string): Iterable<PodSummary> {
    return this.#byNode.get(node)?.values() ?? [];
  }

  all(): Iterable<PodSummary> {
    return this.#pods.values();
  }
}
