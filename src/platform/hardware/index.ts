export { CpufreqBackend, type PolicyFrequency } from "./cpufreq.ts";
export { RaplEnergy } from "./energy.ts";
export { HostDirectory } from "./host-files.ts";
export { HsmpBackend } from "./hsmp.ts";
export type * from "./port.ts";
export { RaplBackend } from "./rapl.ts";
export { type WrittenFile, writtenFiles } from "./written-files.ts";
