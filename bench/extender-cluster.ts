// The nodes of bench/extender.ts and bench/scheduling.ts: as kubelets report them, with twins that all differ.
import { declaredHardwareLabels, type NodeTwinStatus } from "../src/core/api/index.ts";
import { bigNode } from "./kube-objects.ts";

/** Differs between nodes but not between runs. */
const spread = (index: number, most: number) => (index * 7919) % most;

/** Fewer images than in kube-objects.ts, so that 5,000 nodes are the 30 MB that a real cluster of this size sends. */
export function nodeOf(index: number) {
  const { metadata, spec, status } = bigNode(index, FIRST_VERSION + index);
  return { metadata, spec, status: { ...status, images: status.images.slice(0, IMAGES) } };
}
const IMAGES = 2;
/** All versions have the same number of digits, so that one can replace another in place. */
const FIRST_VERSION = 10_000_000;

export const nameOf = (index: number): string => nodeOf(index).metadata.name;

/** Four kinds of servers. */
const HARDWARE: readonly (readonly [cpu: string, gpu: string])[] = [
  ["AMD-EPYC-9654", "NVIDIA-H100-80GB-HBM3"],
  ["AMD-EPYC-7763", "NVIDIA-A100-SXM4-80GB"],
  ["AMD-EPYC-9454", "NVIDIA-L40S"],
  ["Intel-Xeon-Platinum-8480", "NVIDIA-H100-80GB-HBM3"],
];
export function hardwareLabels(index: number): Record<string, string> {
  const [cpu = "", gpu = ""] = HARDWARE[index % HARDWARE.length] ?? [];
  return {
    [declaredHardwareLabels.cpuModel]: cpu,
    [declaredHardwareLabels.cpuSockets]: "2",
    [declaredHardwareLabels.gpuModel]: gpu,
  };
}

/** A quarter each eco and draining, so that performance pods are rejected by some nodes. */
export function twinStatusOf(index: number, lastUpdated: string): NodeTwinStatus {
  const budget = 6000;
  return {
    schedulableClass: (["performance", "eco", "performance", "draining"] as const)[index % 4],
    lastUpdated,
    predictedPowerHeadroomScore: spread(index, 100),
    predictedCoolingStressScore: spread(index, 97),
    powerMeasurement: {
      measuredNodePowerW: spread(index, budget),
      nodeCappedPowerW: budget,
      powerTrendWPerMin: spread(index, 121) - 60,
    },
  } as NodeTwinStatus;
}

export const pod = (workloadClass: string) => ({
  metadata: {
    name: "bench",
    namespace: "default",
    uid: "00000002-0000-4000-8000-000000000000",
    annotations: { "joulie.io/workload-class": workloadClass },
  },
  spec: { containers: [{ name: "main", image: "none", resources: { requests: { cpu: "4" } } }] },
});

export type Mode = "names" | "whole Nodes";

/** A request as kube-scheduler writes it. */
export function bodyOf(mode: Mode, nodes: number, workloadClass: string): Buffer {
  const indexes = Array.from({ length: nodes }, (_, index) => index);
  const sent =
    mode === "names"
      ? { Nodes: null, NodeNames: indexes.map(nameOf) }
      : { Nodes: { metadata: {}, items: indexes.map(nodeOf) }, NodeNames: null };
  return Buffer.from(JSON.stringify({ Pod: pod(workloadClass), ...sent }));
}

/** A request in which some Nodes get new versions each time, as with reporting kubelets. */
export class ChangingBody {
  readonly bytes: Buffer;
  readonly #places: number[] = [];
  #next = 0;
  #version = 20_000_000;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    const key = '"resourceVersion":"';
    for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + key.length))
      this.#places.push(at + key.length);
  }

  change(share: number): void {
    for (let count = 0; count < this.#places.length * share; count++) {
      this.bytes.write(String(this.#version++), this.#places[this.#next] ?? 0);
      this.#next = (this.#next + 1) % this.#places.length;
    }
  }
}
