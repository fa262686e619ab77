import type { HostTree } from "./fake-host.ts";

// Trees of /sys/devices/system/cpu of real machines. Those of amd-pstate are from the linux-pm mailing list, the others
// follow the kernel's documentation of each driver.

const CPU = "devices/system/cpu";

interface Policy {
  readonly id: number;
  readonly files: Readonly<Record<string, string>>;
}

interface CpuTree {
  readonly policies: readonly Policy[];
  /** Files below devices/system/cpu: intel_pstate/no_turbo, cpufreq/boost. */
  readonly globals?: Readonly<Record<string, string>>;
  /** The package and core of each online CPU. */
  readonly topology: readonly (readonly [cpu: number, packageId: number, coreId: number])[];
  readonly present: string;
  readonly online: string;
  readonly offline?: string;
}

function cpuTree({ policies, globals = {}, topology, present, online, offline = "" }: CpuTree): HostTree {
  const files: Record<string, string> = {
    [`${CPU}/present`]: present,
    [`${CPU}/possible`]: present,
    [`${CPU}/online`]: online,
    [`${CPU}/offline`]: offline,
  };
  const links: Record<string, string> = {};
  for (const [path, text] of Object.entries(globals)) files[`${CPU}/${path}`] = text;
  for (const [cpu, packageId, coreId] of topology) {
    files[`${CPU}/cpu${cpu}/topology/physical_package_id`] = String(packageId);
    files[`${CPU}/cpu${cpu}/topology/core_id`] = String(coreId);
  }
  for (const policy of policies) {
    const path = `${CPU}/cpufreq/policy${policy.id}`;
    for (const [name, text] of Object.entries(policy.files)) files[`${path}/${name}`] = text;
    files[`${path}/cpuinfo_transition_latency`] = "0";
    files[`${path}/scaling_setspeed`] = "<unsupported>";
    for (const cpu of (policy.files["related_cpus"] ?? "").split(" ")) {
      links[`${CPU}/cpu${cpu}/cpufreq`] = `../cpufreq/policy${policy.id}`;
    }
  }
  return { files, links };
}

/** Four CPUs with one policy each, on two sockets. */
const oneEach = (
  files: Readonly<Record<string, string>>,
): Pick<CpuTree, "policies" | "topology" | "present" | "online"> => ({
  policies: [0, 1, 2, 3].map((id) => ({ id, files: { affected_cpus: `${id}`, related_cpus: `${id}`, ...files } })),
  topology: [0, 1, 2, 3].map((cpu) => [cpu, cpu < 2 ? 0 : 1, cpu % 2] as const),
  present: "0-3",
  online: "0-3",
});

export const intelPstate: HostTree = cpuTree({
  ...oneEach({
    scaling_driver: "intel_pstate",
    scaling_governor: "powersave",
    scaling_available_governors: "performance powersave",
    cpuinfo_min_freq: "800000",
    cpuinfo_max_freq: "3800000",
    scaling_min_freq: "800000",
    scaling_max_freq: "3800000",
    scaling_cur_freq: "1900000",
    base_frequency: "2000000",
    energy_performance_preference: "balance_performance",
  }),
  globals: {
    "intel_pstate/status": "active",
    "intel_pstate/no_turbo": "0",
    "intel_pstate/max_perf_pct": "100",
    "intel_pstate/min_perf_pct": "21",
  },
});

export const amdPstate: HostTree = cpuTree({
  ...oneEach({
    scaling_driver: "amd-pstate-epp",
    scaling_governor: "powersave",
    scaling_available_governors: "performance powersave",
    cpuinfo_min_freq: "400000",
    cpuinfo_max_freq: "3501000",
    scaling_min_freq: "400000",
    scaling_max_freq: "3501000",
    scaling_cur_freq: "3084836",
    amd_pstate_max_freq: "3501000",
    amd_pstate_lowest_nonlinear_freq: "1701000",
    energy_performance_preference: "balance_performance",
  }),
  globals: { "amd_pstate/status": "active", "cpufreq/boost": "1" },
});

const ACPI = {
  scaling_driver: "acpi-cpufreq",
  scaling_governor: "schedutil",
  scaling_available_governors: "ondemand powersave performance schedutil",
  cpuinfo_min_freq: "1500000",
  cpuinfo_max_freq: "2000000",
  scaling_min_freq: "1500000",
  scaling_max_freq: "2000000",
  scaling_cur_freq: "1700000",
  scaling_available_frequencies: "2000000 1700000 1500000 ",
  cpb: "1",
};

/** CPUs 0 to 2 share a policy, and 2 is offline; 3 has its own. */
export const acpiCpufreq: HostTree = cpuTree({
  policies: [
    { id: 0, files: { affected_cpus: "0 1", related_cpus: "0 1 2", ...ACPI } },
    { id: 3, files: { affected_cpus: "3", related_cpus: "3", ...ACPI } },
  ],
  globals: { "cpufreq/boost": "1" },
  topology: [
    [0, 0, 0],
    [1, 0, 1],
    [3, 0, 3],
  ],
  present: "0-3",
  online: "0-1,3",
  offline: "2",
});

/** A hybrid client CPU with two core types. */
export const hybrid: HostTree = (() => {
  const tree = cpuTree({
    policies: [0, 1, 2, 3].map((id) => ({
      id,
      files: {
        affected_cpus: `${id}`,
        related_cpus: `${id}`,
        scaling_driver: "intel_pstate",
        scaling_governor: "powersave",
        cpuinfo_min_freq: "800000",
        cpuinfo_max_freq: id < 2 ? "5000000" : "3900000",
        scaling_min_freq: "800000",
        scaling_max_freq: id < 2 ? "5000000" : "3900000",
        scaling_cur_freq: "1200000",
        base_frequency: id < 2 ? "2500000" : "1800000",
      },
    })),
    topology: [0, 1, 2, 3].map((cpu) => [cpu, 0, cpu] as const),
    present: "0-3",
    online: "0-3",
  });
  return { ...tree, files: { ...tree.files, "devices/cpu_core/cpus": "0-1", "devices/cpu_atom/cpus": "2-3" } };
})();

/** ARM servers have the generic files only. */
export const armCppc: HostTree = cpuTree(
  oneEachOfOneSocket({
    scaling_driver: "cppc_cpufreq",
    scaling_governor: "ondemand",
    cpuinfo_min_freq: "1000000",
    cpuinfo_max_freq: "3000000",
    scaling_min_freq: "1000000",
    scaling_max_freq: "3000000",
    scaling_cur_freq: "1000000",
  }),
);

function oneEachOfOneSocket(files: Readonly<Record<string, string>>): CpuTree {
  const four = oneEach(files);
  return { ...four, topology: four.topology.map(([cpu]) => [cpu, 0, cpu] as const) };
}

/** A virtual machine without cpufreq. Its package ids have the default value of -1. */
export const virtualCpus: HostTree = cpuTree({
  policies: [],
  topology: [
    [0, -1, 0],
    [1, -1, 1],
  ],
  present: "0-1",
  online: "0-1",
});
