export { energyNodeOf, type NodeLoad, nodeLoadOf } from "./energy-node.ts";
export { type PlacedPod, type RunningPod, runningPodOf } from "./energy-pod.ts";
export { type GpuMix, gpuMixOf } from "./gpu-mix.ts";
export { EnergyKernel, type EnergyOutcome } from "./kernel.ts";
export { type EnergyBreakdown, type EnergyContext, energyScores, marginalJoules } from "./oracle.ts";
export { defaultEnergySettings, type EnergySettings, energySettings } from "./settings.ts";
