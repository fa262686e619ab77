/** The public source of a value. */
export interface Source {
  readonly title: string;
  readonly where: string;
}

const source = (title: string, where: string): Source => ({ title, where });

export const SOURCES = {
  amdProductExport: source(
    "AMD product specifications, EPYC 7003",
    "github.com/felixsteinke/cpu-spec-dataset (CSV export of the specifications page)",
  ),
  amdEpyc9004: source(
    "AMD EPYC 9004 series specifications, as copied by quattor",
    "github.com/quattor/template-library-standard",
  ),
  amdEpyc9004Sheet: source("AMD EPYC 9004 series data sheet, not re-checked", "AMD EPYC 9004 series data sheet"),
  amdEpyc9005: source(
    "AMD EPYC 9005 series specifications, as copied by quattor",
    "github.com/quattor/template-library-standard",
  ),
  amdEpyc9005Sheet: source("AMD EPYC 9005 series data sheet, not re-checked", "AMD EPYC 9005 series data sheet"),
  intelArk: source("Intel product specifications", "github.com/felixsteinke/cpu-spec-dataset (copy of ark.intel.com)"),
  intelArkCopies: source(
    "Intel product specifications, as copied by quattor and Dell",
    "github.com/quattor/template-library-standard",
  ),
  intelArkUnchecked: source("Intel product specifications, not re-checked", "ark.intel.com"),
  ampereLaunch: source(
    "Ampere Altra launch list (TDP; the family brief's usage power is lower)",
    "Ampere Altra product list",
  ),
  ampereBrief: source(
    "Ampere Altra family product brief",
    "amperecomputing.com/briefs/ampere-altra-family-product-brief",
  ),
  nvidiaGrace: source(
    "NVIDIA Grace CPU data sheet, not re-checked; half of the 500 W superchip",
    "NVIDIA Grace CPU Superchip data sheet",
  ),
  awsGraviton: source(
    "AWS instance type pages, not re-checked; AWS publishes no power, the TDP is an estimate",
    "aws.amazon.com/ec2/graviton",
  ),
  specPower: source("SPECpower_ssj2008: watts at active idle over watts at 100 %", "spec.org/power_ssj2008/results"),
  specPowerFamily: source(
    "SPECpower_ssj2008 means per CPU generation, of other models of the family",
    "github.com/cloud-carbon-footprint/ccf-coefficients",
  ),
  nvidiaDataSheet: source("NVIDIA data sheet of the board", "nvidia.com/data-center"),
  nvidiaLimits: source(
    "Power limits commonly reported by nvidia-smi, not confirmed for every board",
    "nvidia-smi -q -d POWER",
  ),
  h100SmiLog: source("nvidia-smi log of an H100 SXM host", "github.com/stackhpc/ansible-slurm-appliance/pull/975"),
  a100SmiLog: source("nvidia-smi reports of A100 SXM hosts", "github.com/NVIDIA/DCGM/issues/152"),
  a100IdleLog: source("Idle power of an A100 80GB in a DGX", "github.com/chuyishang/inference-energy"),
  gpuIdleEstimate: source("Typical idle reading of this class of board", "no publication"),
  amdInstinct: source("AMD Instinct data sheet of the accelerator", "amd.com/en/products/accelerators/instinct"),
  amdRadeonPro: source("AMD Radeon PRO data sheet", "amd.com/en/products/graphics/workstations"),
  amdLimits: source(
    "amdgpu power cap range as seen on hosts, not confirmed for every board",
    "hwmon power1_cap_min, power1_cap_max",
  ),
  mi300xCap: source("MI300X power cap read on a host", "github.com/ROCm/legacy-rocm-build/issues/5231"),
  mi210Cap: source("MI210 power cap read on a host", "github.com/amd/MxGPU-Virtualization/issues/26"),
  intelGpu: source("Intel product specifications, Data Center GPU", "ark.intel.com"),
  intelGpuDerived: source("Xe cores × matrix operations per clock × maximum clock", "Intel product specifications"),
} as const satisfies Record<string, Source>;
