/** What MIG cuts from a board: `1g.5gb` is an instance of one slice, `1c.3g.20gb` one slice of an instance of three. */
export interface MigProfile {
  /** Slices the device computes on. */
  readonly slices: number;
  readonly instanceSlices: number;
  readonly instanceGB: number;
}

const PROFILE = /(?:^nvidia\.com\/|-)mig-(?:([1-9]\d?)c\.)?([1-9]\d?)g\.([1-9]\d{0,3})gb(?:\.[a-z.]+)?(?:-shared)?$/i;

/** Of a resource (`nvidia.com/mig-1g.5gb`) or a product (`NVIDIA-A100-SXM4-40GB-MIG-1g.5gb`) that carries one. */
export function migProfileOf(name: string): MigProfile | undefined {
  const found = PROFILE.exec(name);
  if (found === null) return undefined;
  const instanceSlices = Number(found[2]);
  return { slices: Number(found[1] ?? instanceSlices), instanceSlices, instanceGB: Number(found[3]) };
}

/** NVIDIA's list of boards MIG can cut; all that are not named here make seven slices. */
const FEWER_SLICES: readonly (readonly [board: RegExp, slices: number])[] = [
  [/\bA30\b|\bRTX.PRO.6000\b/i, 4],
  [/\bRTX.PRO.(?:5000|4500)\b/i, 2],
];

/** Slices a board can be cut into, by anything that names it. */
export const migSlicesPerBoard = (name: string): number => FEWER_SLICES.find(([board]) => board.test(name))?.[1] ?? 7;

/** Devices of one profile that a board has room for: its slices set the number, and for some profiles its memory. */
export function migDevicesPerBoard(profile: MigProfile, slicesPerBoard: number, boardGB: number | undefined): number {
  const { slices, instanceSlices, instanceGB } = profile;
  const byCompute = Math.floor(slicesPerBoard / instanceSlices);
  // A profile's name rounds its memory: four of 24 GB fit on 94.
  const byMemory = boardGB === undefined ? byCompute : Math.round(boardGB / instanceGB);
  return Math.max(1, Math.min(byCompute, byMemory)) * Math.max(1, Math.floor(instanceSlices / slices));
}
