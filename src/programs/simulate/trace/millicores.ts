/** As fine as Kubernetes counts cores. */
const PER_CORE = 1000;

/**
 * The multiple of a thousandth core nearest to a sum of such. Sums of fractions drift, and a node that has all its cores back
 * but for the last bit would never again take a job that needs all of them.
 */
export const roundToMillicores = (cores: number): number => Math.round(cores * PER_CORE) / PER_CORE;

/** What a job is given: no less than it asks for, by more than a rounding error. */
export const ceilToMillicores = (cores: number): number => Math.ceil(cores * PER_CORE - 1e-6) / PER_CORE;
