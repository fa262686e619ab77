export { energyNodeOf, type NodeLoad, nodeLoadOf } from "./energy-node.ts";
export { type PlacedPod, type RunningPod, runningPodOf } from "./energy-pod.ts";
export { OVER_CAP } from "./formula.ts";
export { type GpuJob, type GpuMix, gpuMixOf } from "./gpu-mix.ts";
export { EnergyKernel, type EnergyOutcome } from "./kernel.ts";
export {
  type EnergyBreakdown,
  type EnergyCandidate,
  type EnergyContext,
  energyScores,
  type MarginalJoules,
  marginalJoules,
  type UnknownEnergy,
} from "./oracle.ts";
export { defaultEnergySettings, type EnergySettings, type EnergyWeights, energySettings } from "./settings.ts";
