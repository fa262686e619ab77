import { declaredHardwareLabels, type GpuVendor, gpuResources, type Labels, labels } from "../../../core/api/index.ts";
import { type HardwareView, hardwareView } from "../../../core/inventory/index.ts";
import { type NodeModel, nodeModelOf } from "../../../core/physics/index.ts";
import type { RandomSource, Seconds } from "../../../core/units/index.ts";
import { fleetLabels as own } from "../names.ts";

interface MachineKind {
  readonly share: number;
  /** As a label value, without blanks or plus signs. All machines have two sockets. */
  readonly cpu: string;
  readonly memoryGi: number;
  readonly gpu?: { readonly vendor: GpuVendor; readonly product: string; readonly count: number };
}

const KINDS: readonly MachineKind[] = [
  { share: 0.25, cpu: "AMD-EPYC-9654", memoryGi: 768 },
  { share: 0.2, cpu: "AMD-EPYC-7763", memoryGi: 512 },
  { share: 0.2, cpu: "Intel-Xeon-Platinum-8480", memoryGi: 512 },
  { share: 0.1, cpu: "Intel-Xeon-Platinum-8380", memoryGi: 384 },
  {
    share: 0.1,
    cpu: "Intel-Xeon-Platinum-8480",
    memoryGi: 2048,
    gpu: { vendor: "nvidia", product: "NVIDIA-H100-80GB-HBM3", count: 8 },
  },
  { share: 0.1, cpu: "AMD-EPYC-9354", memoryGi: 768, gpu: { vendor: "nvidia", product: "NVIDIA-L40S", count: 4 } },
  {
    share: 0.05,
    cpu: "AMD-EPYC-9654",
    memoryGi: 2304,
    gpu: { vendor: "amd", product: "AMD_Instinct_MI300X_OAM", count: 8 },
  },
];

const SOCKETS = 2;
const NODES_PER_RACK = 10;
const RACKS_PER_ZONE = 2;

export interface MachineSpec {
  readonly name: string;
  readonly labels: Labels;
  readonly rack: string;
  readonly zone: string;
  readonly hardware: HardwareView;
  readonly model: NodeModel;
  readonly cores: number;
  readonly memoryGi: number;
  readonly gpus?: {
    readonly vendor: GpuVendor;
    readonly resource: string;
    readonly product: string;
    readonly count: number;
  };
}

export interface SwitchTimes {
  readonly bootTime?: Seconds | undefined;
  readonly shutdownTime?: Seconds;
  readonly maySleep?: boolean;
}

/** Generates nodes of each kind by its share and shuffles them over the racks. */
export function generateMachines(
  count: number,
  prefix: string,
  random: RandomSource,
  times: SwitchTimes = {},
): readonly MachineSpec[] {
  const kinds = KINDS.map((kind) => describe(kind, times));
  const mixed: Description[] = [];
  let share = 0;
  for (const [index, kind] of KINDS.entries()) {
    share += kind.share;
    const end = index === KINDS.length - 1 ? count : Math.round(count * share);
    while (mixed.length < end) mixed.push(kinds[index] as Description);
  }
  shuffle(mixed, random);
  const digits = String(Math.max(0, count - 1)).length;
  return mixed.map((kind, index) =>
    placed(kind, `${prefix}-${String(index).padStart(Math.max(3, digits), "0")}`, index),
  );
}

type Description = Omit<MachineSpec, "name" | "rack" | "zone">;

function describe({ cpu, memoryGi, gpu }: MachineKind, { bootTime, shutdownTime, maySleep }: SwitchTimes): Description {
  const said: Labels = {
    ...(maySleep === true && { [labels.maySleep]: "true" }),
    [declaredHardwareLabels.cpuModel]: cpu,
    [declaredHardwareLabels.cpuSockets]: String(SOCKETS),
    ...(gpu && {
      [declaredHardwareLabels.gpuModel]: gpu.product,
      [declaredHardwareLabels.gpuCount]: String(gpu.count),
      [`${gpu.vendor}.com/gpu.product`]: gpu.product,
    }),
  };
  const hardware = hardwareView({ metadata: { name: "", labels: said } }, undefined);
  const cores = hardware.cpu.totalCores ?? SOCKETS;
  const model = nodeModelOf(hardware);
  const states = {
    ...model.states,
    ...(bootTime !== undefined && { bootTime }),
    ...(shutdownTime !== undefined && { shutdownTime }),
  };
  return {
    labels: { ...said, [declaredHardwareLabels.cpuCores]: String(cores) },
    hardware,
    model: { ...model, states },
    cores,
    memoryGi,
    ...(gpu && { gpus: { ...gpu, resource: gpuResources[gpu.vendor] } }),
  };
}

function placed(kind: Description, name: string, index: number): MachineSpec {
  const rack = Math.floor(index / NODES_PER_RACK);
  const place = { rack: `rack-${rack + 1}`, zone: `zone-${Math.floor(rack / RACKS_PER_ZONE) + 1}` };
  return {
    ...kind,
    ...place,
    name,
    labels: {
      ...kind.labels,
      [labels.managed]: "true",
      [labels.rack]: place.rack,
      [labels.coolingZone]: place.zone,
      [own.simulated]: "true",
      "kubernetes.io/hostname": name,
      "kubernetes.io/os": "linux",
      "kubernetes.io/arch": "amd64",
    },
  };
}

function shuffle(items: Description[], random: RandomSource): void {
  for (let last = items.length - 1; last > 0; last--) {
    const other = Math.floor(random.next() * (last + 1));
    [items[last], items[other]] = [items[other] as Description, items[last] as Description];
  }
}
