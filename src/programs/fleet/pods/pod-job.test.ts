import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimulatedNode } from "../../../core/physics/index.ts";
import { seconds } from "../../../core/units/index.ts";
import type { KubeObject } from "../../../platform/kube/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { generateMachines, type MachineSpec } from "../machines/machine-specs.ts";
import { fleetPodOf, jobOf } from "./pod-job.ts";

const fleet = generateMachines(40, "sim", seededRandom(1));
const withGpus = fleet.find(({ gpus }) => gpus?.count === 8) as MachineSpec;
const withoutGpus = fleet.find(({ gpus }) => gpus === undefined) as MachineSpec;

interface Said {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly requests?: Readonly<Record<string, string>>;
  readonly restartPolicy?: string;
  readonly command?: readonly string[];
}
const podOf = ({ annotations = {}, requests = { cpu: "8" }, restartPolicy = "Never", command }: Said): KubeObject =>
  ({
    metadata: { name: "p", namespace: "default", uid: "u", annotations },
    spec: {
      nodeName: "sim-000",
      restartPolicy,
      containers: [{ name: "c", image: "i", command, resources: { requests } }],
    },
  }) as KubeObject;
const jobIn = (output: Said, spec = withGpus) => jobOf(fleetPodOf(podOf(output), "sim"), spec);

describe("jobOf", () => {
  it.each([
    [["sleep", "60"], 60],
    [["sleep", "1h"], Infinity],
    [["sleep", "1", "2"], Infinity],
    [["python", "60"], Infinity],
  ])("X-164 ends a pod without annotations when its command %j has slept", (command, work) => {
    expect(jobIn({ command }).work).toBe(work);
  });

  it("uses the pod's annotations", () => {
    const annotations = {
      "sim.joulie.io/work-seconds": "120",
      "sim.joulie.io/kind": "decode",
      "sim.joulie.io/gpu-utilization": "0.2",
      "joulie.io/workload-class": "performance",
    };
    const requests = { cpu: "12", [withGpus.gpus?.resource ?? ""]: "2" };
    expect(jobIn({ annotations, requests })).toEqual({
      id: "u",
      key: "default/p",
      performance: true,
      cores: 12,
      cpuUtil: 0.2,
      cpuShare: 0.05,
      gpus: 2,
      gpuUtil: 0.2,
      gpuShare: 0.1,
      work: 120,
    });
  });

  it("defaults to a service, or to training for pods with GPUs", () => {
    expect(jobIn({})).toMatchObject({ work: Infinity, cpuUtil: 0.4, performance: false });
    expect(jobIn({ requests: { [withGpus.gpus?.resource ?? ""]: "1" } })).toMatchObject({ gpuUtil: 0.715, gpus: 1 });
  });

  it("has no end if its containers are restarted", () => {
    const annotations = { "sim.joulie.io/work-seconds": "5" };
    expect(jobIn({ annotations, restartPolicy: "Always" }).work).toBe(Infinity);
    expect(jobIn({ annotations, restartPolicy: "OnFailure" }).work).toBe(5);
  });

  it("has no more GPUs than the node", () => {
    const requests = { "nvidia.com/gpu": "64", "amd.com/gpu": "64" };
    expect(jobIn({ requests }, withoutGpus).gpus).toBe(0);
    expect(jobIn({ requests }).gpus).toBe(8);
  });

  it("produces a valid job for any annotation values", () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom("-1", "NaN", "1e308", "Infinity", "0", "1e-320", " 5", "toString"),
    );
    const output = fc.record({
      annotations: fc.record({
        "sim.joulie.io/work-seconds": text,
        "sim.joulie.io/kind": text,
        "sim.joulie.io/cpu-utilization": text,
        "sim.joulie.io/gpu-utilization": text,
      }),
      requests: fc.record({ cpu: text, "nvidia.com/gpu": text }),
    });
    fc.assert(
      fc.property(output, (what) => {
        const node = new SimulatedNode(withGpus.model);
        node.start(jobIn(what));
        node.advance(seconds(10));
        expect(node.watts).toBeGreaterThanOrEqual(withGpus.model.idle - 1e-6);
        expect(node.watts).toBeLessThanOrEqual(withGpus.model.full + 1e-6);
        expect(Number.isFinite(node.joules)).toBe(true);
      }),
    );
  });
});
