/** How a Kubernetes resource stands for GPUs: whole boards (or turns on shared ones), or slices of a board cut by MIG. */
export type GpuResource = { readonly kind: "board" } | { readonly kind: "slice"; readonly slices: number };

const board: GpuResource = { kind: "board" };
const boardResources: ReadonlySet<string> = new Set([
  "nvidia.com/gpu",
  "nvidia.com/gpu.shared",
  "amd.com/gpu",
  "gpu.intel.com/i915",
  "gpu.intel.com/xe",
]);

/** A MIG profile says its compute slices first: `1g.5gb`, `2g.20gb.me`; `1c.3g.20gb` is one compute slice of a 3g instance. */
const migProfile = String.raw`(?:(\d{1,2})c\.)?(\d{1,2})g\.\d+gb(?:\.[a-z.]+)?`;
const migResource = new RegExp(String.raw`^nvidia\.com/mig-${migProfile}$`);
const migProduct = new RegExp(`-MIG-${migProfile}(?:-SHARED)?$`);

/** Undefined for everything that is no GPU. */
export const gpuResourceOf = (resource: string): GpuResource | undefined =>
  boardResources.has(resource) ? board : slicesIn(migResource.exec(resource));

/** Where every board of a node is cut alike, its product label carries the profile: `NVIDIA-A100-SXM4-40GB-MIG-1g.5gb`. */
export const gpuResourceOfProduct = (product: string): GpuResource => slicesIn(migProduct.exec(product)) ?? board;

function slicesIn(match: RegExpExecArray | null): GpuResource | undefined {
  if (match === null) return undefined;
  const [, ofInstance, ofBoard] = match;
  return { kind: "slice", slices: Number(ofInstance ?? ofBoard) };
}
