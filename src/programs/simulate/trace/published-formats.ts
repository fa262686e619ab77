/** Utilisation that traces without measurements are run with: the priors of the energy scoring. */
export const UNKNOWN_CPU_UTIL = 0.6;
export const UNKNOWN_GPU_UTIL = 0.7;
