import type { HostTree } from "./fake-host.ts";

// /proc/cpuinfo and /proc/meminfo of real machines, shortened to a few CPUs.

interface Processor {
  readonly cpu: number;
  readonly socket: number;
  readonly core: number;
}

const block = (fields: Readonly<Record<string, string | number>>): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name}\t: ${value}`)
    .join("\n");

const x86 = (vendor: string, family: number, model: string, flags: string, processors: readonly Processor[]): string =>
  processors
    .map(({ cpu, socket, core }) =>
      block({
        processor: cpu,
        vendor_id: vendor,
        "cpu family": family,
        model: 143,
        "model name": model,
        stepping: 8,
        "cpu MHz": "2000.000",
        "physical id": socket,
        siblings: 4,
        "core id": core,
        "cpu cores": 2,
        flags,
      }),
    )
    .join("\n\n");

/** Two sockets of two cores with two threads each. */
const TWO_SOCKETS: readonly Processor[] = Array.from({ length: 8 }, (_, cpu) => ({
  cpu,
  socket: Math.floor(cpu / 2) % 2,
  core: cpu % 2,
}));

const BARE = "fpu vme msr sse2 ht lm constant_tsc aes avx2 avx512f";

export const xeonCpuinfo = x86("GenuineIntel", 6, "Intel(R) Xeon(R) Platinum 8480+", BARE, TWO_SOCKETS);
export const epycCpuinfo = x86("AuthenticAMD", 25, "AMD EPYC 9654 96-Core Processor", BARE, TWO_SOCKETS);
export const hybridCpuinfo = x86(
  "GenuineIntel",
  6,
  "12th Gen Intel(R) Core(TM) i7-12700K",
  BARE,
  [0, 1, 2, 3].map((cpu) => ({ cpu, socket: 0, core: cpu })),
);
export const virtualCpuinfo = x86("GenuineIntel", 6, "Intel(R) Xeon(R) Processor @ 2.80GHz", `${BARE} hypervisor`, [
  { cpu: 0, socket: 0, core: 0 },
  { cpu: 1, socket: 0, core: 1 },
]);

/** ARM reports neither model nor socket. */
export const armCpuinfo = (implementer: string, part: string, cpus = 4): string =>
  Array.from({ length: cpus }, (_, cpu) =>
    block({
      processor: cpu,
      BogoMIPS: "50.00",
      Features: "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics",
      "CPU implementer": implementer,
      "CPU architecture": 8,
      "CPU variant": "0x3",
      "CPU part": part,
      "CPU revision": 1,
    }),
  ).join("\n\n");

/** A procfs with 512 GiB of memory. */
export const procTree = (cpuinfo: string): HostTree => ({
  files: {
    cpuinfo: `${cpuinfo}\n`,
    meminfo: "MemTotal:       527954216 kB\nMemFree:        498312888 kB\nMemAvailable:   510033112 kB",
  },
});
