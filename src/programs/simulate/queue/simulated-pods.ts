import type { PodSummary } from "../../../core/demand/index.ts";
import { podRequests, QUEUED_AFTER } from "../../../core/demand/index.ts";
import type { ArrivalHistory } from "../../../core/policy/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import type { JobKindRequest } from "../placement/job-kinds.ts";
import { ANY_BOARD } from "../trace/trace.ts";
import { BOARD_LABEL, type ClusterMachine, GPU_RESOURCE } from "./machines.ts";

/** What all pods of one kind of job have in common. Policies group pods by the identity of requests and constraints. */
type PodOfKind = Omit<PodSummary, "node" | "createdAt" | "waitedUntil">;

/** The pods of waiting and running jobs, as the operator's watch would summarise them. */
export class SimulatedPods {
  readonly #kinds: readonly PodOfKind[];
  readonly #pods = new Map<number, PodSummary>();
  readonly #created = new Map<number, Instant>();
  readonly #arrivals: ArrivalHistory;

  constructor(kinds: readonly JobKindRequest[], machines: readonly ClusterMachine[], arrivals: ArrivalHistory) {
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
        demand: { cpuCores: cores, gpus: new Map(gpuAmounts), unreadable: [] },
        requests: podRequests(new Map([["cpu", cores], ...gpuAmounts])),
        ...(performance && { nodes: board === ANY_BOARD ? anyNode : (bound.get(board) ?? anyNode) }),
      };
    });
    this.#arrivals = arrivals;
  }

  arrived(job: number, kind: number, at: Instant): void {
    const pod: PodSummary = { ...(this.#kinds[kind] as PodOfKind), node: undefined, createdAt: at };
    this.#pods.set(job, pod);
    this.#created.set(job, at);
    if (pod.performanceSensitive) this.#arrivals.record(pod);
  }

  bound(job: number, kind: number, node: string, at: Instant): void {
    const createdAt = this.#created.get(job) ?? at;
    this.#pods.set(job, {
      ...(this.#kinds[kind] as PodOfKind),
      node,
      createdAt,
      ...(at - createdAt >= QUEUED_AFTER && { waitedUntil: at }),
    });
  }

  ended(job: number): void {
    this.#pods.delete(job);
    this.#created.delete(job);
  }

  all(): Iterable<PodSummary> {
    return this.#pods.values();
  }
}
