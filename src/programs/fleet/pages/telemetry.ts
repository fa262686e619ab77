import { packageCapFloor } from "../../../core/inventory/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import type { SimulatedMachine } from "../machines/simulated-machine.ts";

const iso = (at: Instant): string => new Date(at).toISOString();

/**
 * Body of GET /telemetry/{node}. The top-level power is the node's including GPUs. Caps are per package or board, and
 * absent if unset.
 */
export function telemetryOf({ spec, physics, watts }: SimulatedMachine, at: Instant) {
  const { operation, caps, temperature, throttled } = physics;
  const { gpus, model, hardware } = spec;
  return {
    node: spec.name,
    ts: iso(at),
    packagePowerWatts: watts,
    instantPackagePowerWatts: watts,
    cpu: {
      packagePowerWatts: operation.cpuWatts,
      instantPowerWatts: operation.cpuWatts,
      utilization: operation.cpuLoad,
      freqScale: operation.cpuClock,
      temperatureC: temperature,
      thermalThrottlePct: throttled ? 100 * (1 - model.thermal.hotClock) : 0,
      throttlePct: caps.throttlePct ?? 0,
      capWatts: caps.cpuWattsPerPackage,
    },
    gpu:
      gpus === undefined
        ? { present: false, count: 0 }
        : {
            present: true,
            vendor: gpus.vendor,
            product: gpus.product,
            count: gpus.count,
            powerWattsTotal: operation.gpuWatts,
            avgPowerWattsTotal: operation.gpuWatts,
            utilization: operation.gpuLoad,
            capWattsPerGpuApplied: caps.gpuWattsPerBoard ?? hardware.gpu?.defaultWatts,
            capWattsPerGpuTarget: caps.gpuWattsPerBoard,
          },
    pods: physics.jobCount,
  };
}

/** Body of GET /state/{node}: the complete state, for users and checks. */
export function stateOf(machine: SimulatedMachine, at: Instant) {
  const { spec, physics, capLog, capChanges, heldSeconds, performanceJobs } = machine;
  const { cpu, gpu } = spec.hardware;
  return {
    node: spec.name,
    ts: iso(at),
    seconds: physics.now,
    power: physics.power,
    rack: spec.rack,
    zone: spec.zone,
    caps: physics.caps,
    capRanges: {
      cpuWattsPerPackage: { min: packageCapFloor(cpu), max: cpu.maxWattsPerSocket },
      ...(gpu && { gpuWattsPerBoard: { min: gpu.minWatts, max: gpu.maxWatts } }),
    },
    capChanges,
    capLog,
    watts: machine.watts,
    wallWatts: physics.wallWatts,
    operation: physics.operation,
    temperatureC: physics.temperature,
    ambientC: physics.ambient,
    throttled: physics.throttled,
    joules: physics.joules,
    cpuJoules: physics.cpuJoules,
    gpuJoules: physics.gpuJoules,
    wallJoules: physics.wallJoules,
    performancePods: performanceJobs,
    heldPodSeconds: heldSeconds,
    pods: Array.from(physics.jobs(), ({ id, key, performance, cores, gpus, work }) => ({
      pod: key,
      performance,
      cores,
      gpus,
      rate: physics.rateOf(id),
      ...(Number.isFinite(work) && { workSeconds: work, leftSeconds: physics.leftOf(id) }),
    })),
  };
}
