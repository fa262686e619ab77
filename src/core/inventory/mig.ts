/** A MIG profile: `1g.5gb` is an instance of one slice, `1c.3g.20gb` one compute slice of an instance of three. */
export interface MigProfile {
  /** Compute slices of the device. */
  readonly slices: number;
  readonly instanceSlices: number;
  readonly instanceGB: number;
}

const PROFILE = /(?:^nvidia\.com\/|-)mig-(?:([1-9]\d?)c\.)?([1-9]\d?)g\.([1-9]\d{0,3})gb(?:\.[a-z.]+)?(?:-shared)?$/i;

/** The MIG profile in a resource name (`nvidia.com/mig-1g.5gb`) or product name (`NVIDIA-A100-SXM4-40GB-MIG-1g.5gb`). */
export function migProfileOf(name: string): MigProfile | undefined {
  const found = PROFILE.exec(name);
  if (found === null) return undefined;
  const instanceSlices = Number(found[2]);
  return { slices: Number(found[1] ?? instanceSlices), instanceSlices, instanceGB: Number(found[3]) };
}

/** The boards with fewer than seven slices, from NVIDIA's list. */
const FEWER_SLICES: readonly (readonly [board: RegExp, slices: number])[] = [
  [/\bA30\b|\bRTX.PRO.6000\b/i, 4],
  [/\bRTX.PRO.(?:5000|4500)\b/i, 2],
];

/** The number of slices of a board, by any of its names. */
export const migSlicesPerBoard = (name: string): number => FEWER_SLICES.find(([board]) => board.test(name))?.[1] ?? 7;

/** The number of devices of one profile that fit on a board, limited by its slices and for some profiles by its memory. */
export function migDevicesPerBoard(profile: MigProfile, slicesPerBoard: number, boardGB: number | undefined): number {
  const { slices, instanceSlices, instanceGB } = profile;
  const byCompute = Math.floor(slicesPerBoard / instanceSlices);
  // The profile name rounds the memory: four of 24 GB fit on 94.
  const byMemory = boardGB === undefined ? byCompute : Math.round(boardGB / instanceGB);
  return Math.max(1, Math.min(byCompute, byMemory)) * Math.max(1, Math.floor(instanceSlices / slices));
}
