/** Kubernetes counts cores in millicores. */
const PER_CORE = 1000;

/**
 * Rounds to millicores. Sums of fractions drift, and a node missing the last bit of its cores could never again take
 * a job that needs all of them.
 */
export const roundToMillicores = (cores: number): number => Math.round(cores * PER_CORE) / PER_CORE;

/** Rounds a request up to millicores, ignoring floating-point noise. */
export const ceilToMillicores = (cores: number): number => Math.ceil(cores * PER_CORE - 1e-6) / PER_CORE;
