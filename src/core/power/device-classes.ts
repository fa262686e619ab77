import { type ClockModel, clampedLoad, type LoadPoints, type LoadShape, loadShape } from "./device.ts";

/** Devices with the same power behaviour. The watts come from the catalogue entry of each model. */
export interface DeviceClass {
  readonly name: string;
  /** Matches the catalogue keys of this class; absent for the fallback class. */
  readonly covers?: RegExp | undefined;
  readonly clock: ClockModel;
  readonly shape: LoadShape;
}

interface ClassRow {
  readonly name: string;
  readonly covers?: RegExp;
  /** Static share, slowest clock, voltage floor, clock at which the floor is reached. */
  readonly clock: readonly [staticShare: number, slowest: number, voltageFloor: number, floorClock: number];
  readonly load?: LoadPoints;
}

/** Builds a class from a table row. Load shapes are built once and shared by all nodes of the class. */
function deviceClass({ name, covers, clock, load }: ClassRow): DeviceClass {
  const [staticShare, slowest, voltageFloor, floorClock] = clock;
  return {
    name,
    covers,
    clock: { staticShare, slowest, voltageFloor, floorClock },
    shape: load ? loadShape(load) : clampedLoad,
  };
}

/** Watts at the wall at active idle and at 10 %, 20 % … 100 % of the server's throughput. */
const steps = (...watts: readonly number[]): LoadPoints => watts.map((power, step) => [step / 10, power]);

/** Servers as SPEC published them. Only the shape between idle and full load is applied to a package; see `loadShape`. */
export const SPECPOWER = {
  epyc7763: steps(58, 104, 120, 134, 150, 169, 197, 217, 236, 255, 272),
  epyc9654: steps(128, 257, 300, 340, 378, 410, 442, 498, 577, 697, 817),
  epyc9655: steps(138, 297, 367, 438, 515, 593, 661, 710, 771, 812, 861),
  epyc9965: steps(157, 265, 314, 362, 412, 461, 503, 544, 587, 661, 800),
  xeon8380: steps(127, 198, 226, 253, 281, 314, 354, 405, 464, 576, 619),
} as const;

/** The fallback for CPUs without a class: the middle of the known ones. */
const OTHER_CPU = deviceClass({
  name: "any other CPU",
  clock: [0.25, 0.35, 0.72, 0.55],
  load: SPECPOWER.xeon8380,
});

const OTHER_GPU = deviceClass({ name: "any other GPU", clock: [0.25, 0.15, 0.72, 0.6] });

/** First match wins. docs/guides/model.md has the sources. Clocks are [static share, slowest, voltage floor, clock at which the floor is reached]. */
const CPU_ROWS: readonly ClassRow[] = [
  {
    name: "EPYC 7003",
    covers: /^amd-epyc-7/,
    clock: [0.3, 0.43, 0.72, 0.55],
    load: SPECPOWER.epyc7763,
  },
  {
    name: "EPYC 9004",
    covers: /^amd-epyc-9..4/,
    clock: [0.3, 0.4, 0.72, 0.55],
    load: SPECPOWER.epyc9654,
  },
  {
    name: "EPYC 9005 dense",
    covers: /^amd-epyc-9(965|845|825|745|645)/,
    clock: [0.3, 0.4, 0.74, 0.55],
    load: SPECPOWER.epyc9965,
  },
  {
    name: "EPYC 9005",
    covers: /^amd-epyc-9..5/,
    clock: [0.3, 0.35, 0.72, 0.55],
    load: SPECPOWER.epyc9655,
  },
  {
    name: "Xeon Ice Lake",
    covers: /^intel-xeon-(platinum-83|gold-[56]3|silver-43)/,
    clock: [0.25, 0.27, 0.72, 0.55],
    load: SPECPOWER.xeon8380,
  },
  {
    name: "Xeon since Sapphire Rapids",
    covers: /^intel-xeon-/,
    clock: [0.25, 0.27, 0.72, 0.55],
    load: SPECPOWER.xeon8380,
  },
  { name: "Neoverse (Altra, Grace, Graviton)", covers: /^(ampere|aws|nvidia-grace)/, clock: [0.25, 0.33, 0.75, 0.6] },
];

const GPU_ROWS: readonly ClassRow[] = [
  {
    name: "Volta",
    covers: /^nvidia-v100/,
    clock: [0.25, 0.1, 0.71, 0.65],
  },
  { name: "Turing", covers: /^nvidia-t4/, clock: [0.25, 0.19, 0.72, 0.6] },
  { name: "Ampere", covers: /^nvidia-a\d/, clock: [0.25, 0.15, 0.72, 0.62] },
  { name: "Ada", covers: /^nvidia-(l4|rtx)/, clock: [0.22, 0.09, 0.7, 0.6] },
  { name: "Hopper", covers: /^nvidia-h/, clock: [0.22, 0.11, 0.7, 0.6] },
  { name: "Blackwell", covers: /^nvidia-g?b/, clock: [0.22, 0.1, 0.7, 0.6] },
  { name: "CDNA, CDNA 2", covers: /^amd-mi[12]/, clock: [0.27, 0.3, 0.74, 0.6] },
  { name: "CDNA 3, CDNA 4", covers: /^amd-mi3/, clock: [0.27, 0.2, 0.72, 0.6] },
];

/** All classes; the fallback is last. */
export const CPU_CLASSES: readonly DeviceClass[] = [...CPU_ROWS.map(deviceClass), OTHER_CPU];
export const GPU_CLASSES: readonly DeviceClass[] = [...GPU_ROWS.map(deviceClass), OTHER_GPU];

const covering = (classes: readonly DeviceClass[], key: string): DeviceClass | undefined =>
  classes.find(({ covers }) => covers?.test(key));

export const cpuClassOf = (key: string): DeviceClass => covering(CPU_CLASSES, key) ?? OTHER_CPU;
export const gpuClassOf = (key: string): DeviceClass => covering(GPU_CLASSES, key) ?? OTHER_GPU;
