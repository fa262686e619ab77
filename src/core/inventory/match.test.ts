import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildCatalogue, builtinCatalogue } from "./catalogue.ts";

type Expected = readonly [name: string, match: "exact" | "proxy" | "generic", key: string];

const CPUS: readonly Expected[] = [
  // /proc/cpuinfo
  ["AMD EPYC 9654 96-Core Processor", "exact", "amd-epyc-9654"],
  ["AMD EPYC 9654P 96-Core Processor", "exact", "amd-epyc-9654"],
  ["AMD EPYC 9354 32-Core Processor                  CPU @ 3.2GHz", "exact", "amd-epyc-9354"],
  ["AMD EPYC 9684X 96-Core Processor", "exact", "amd-epyc-9684x"],
  ["AMD EPYC 9754 128-Core Processor", "exact", "amd-epyc-9754"],
  ["AMD EPYC 9965 192-Core Processor", "exact", "amd-epyc-9965"],
  ["AMD EPYC 9575F 64-Core Processor", "exact", "amd-epyc-9575f"],
  ["AMD EPYC 7763 64-Core Processor", "exact", "amd-epyc-7763"],
  ["AMD EPYC 74F3 24-Core Processor", "exact", "amd-epyc-74f3"],
  ["AMD EPYC 7773X 64-Core Processor", "exact", "amd-epyc-7773x"],
  ["Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", "exact", "intel-xeon-platinum-8380"],
  ["Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", "exact", "intel-xeon-gold-6338"],
  ["Intel(R) Xeon(R) Platinum 8480+", "exact", "intel-xeon-platinum-8480plus"],
  ["Intel(R) Xeon(R) Platinum 8480+ CPU @ 2.00GHz", "exact", "intel-xeon-platinum-8480plus"],
  ["Intel(R) Xeon(R) Gold 6430", "exact", "intel-xeon-gold-6430"],
  ["Intel(R) Xeon(R) Gold 6448Y", "exact", "intel-xeon-gold-6448y"],
  ["INTEL(R) XEON(R) PLATINUM 8592+", "exact", "intel-xeon-platinum-8592plus"],
  ["INTEL(R) XEON(R) PLATINUM 8568Y+", "exact", "intel-xeon-platinum-8568yplus"],
  ["INTEL(R) XEON(R) GOLD 6530", "exact", "intel-xeon-gold-6530"],
  ["Intel(R) Xeon(R) 6530P", "exact", "intel-xeon-6530p"],
  ["Intel(R) Xeon(R) 6980P", "exact", "intel-xeon-6980p"],
  ["Intel(R) Xeon(R) 6780E", "exact", "intel-xeon-6780e"],
  ["Intel(R) Xeon(R) CPU Max 9480", "exact", "intel-xeon-max-9480"],
  // People, product pages, labels
  ["AMD EPYC™ 9654", "exact", "amd-epyc-9654"],
  ["amd-epyc-9654", "exact", "amd-epyc-9654"],
  ["AMD_EPYC_9654_96-Core_Processor", "exact", "amd-epyc-9654"],
  ["epyc 9654", "exact", "amd-epyc-9654"],
  ["9654", "exact", "amd-epyc-9654"],
  ["Intel® Xeon® Platinum 8480+ Processor", "exact", "intel-xeon-platinum-8480plus"],
  ["Intel-Xeon-Platinum-8480", "exact", "intel-xeon-platinum-8480plus"],
  ["Intel-R-Xeon-R-Platinum-8480Plus", "exact", "intel-xeon-platinum-8480plus"],
  ["5th Gen Intel Xeon Platinum 8592+", "exact", "intel-xeon-platinum-8592plus"],
  ["Intel Xeon 6 Processor 6787P", "exact", "intel-xeon-6787p"],
  ["intel-xeon-platinum-8592plus", "exact", "intel-xeon-platinum-8592plus"],
  ["Ampere(R) Altra(R) Q80-30", "exact", "ampere-altra-q80-30"],
  ["Ampere Altra Max M128-30", "exact", "ampere-altra-max-m128-30"],
  ["NVIDIA Grace CPU Superchip", "exact", "nvidia-grace"],
  ["AWS Graviton3", "exact", "aws-graviton3"],
  ["AWS Graviton 4 Processor", "exact", "aws-graviton4"],
  // The same family, another number
  ["AMD EPYC 9R14", "proxy", "amd-epyc-9654"],
  ["AMD EPYC 9R14 96-Core Processor", "proxy", "amd-epyc-9654"],
  ["AMD EPYC 7R13 48-Core Processor", "proxy", "amd-epyc-7643"],
  ["AMD EPYC 7B13", "proxy", "amd-epyc-7713"],
  ["AMD EPYC 9B45", "proxy", "amd-epyc-9655"],
  ["Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", "proxy", "intel-xeon-platinum-8480plus"],
  ["Intel(R) Xeon(R) Platinum 8480C", "proxy", "intel-xeon-platinum-8480plus"],
  ["Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "proxy", "intel-xeon-platinum-8380"],
  ["INTEL(R) XEON(R) PLATINUM 8573C", "proxy", "intel-xeon-platinum-8571n"],
  ["Intel(R) Xeon(R) 6985P-C", "proxy", "intel-xeon-6980p"],
  ["Intel(R) Xeon(R) Gold 6330H", "proxy", "intel-xeon-gold-6330"],
  ["Intel(R) Xeon(R) Platinum 8336C CPU @ 2.30GHz", "proxy", "intel-xeon-platinum-8351n"],
  ["Intel(R) Xeon(R) Platinum 8488C", "proxy", "intel-xeon-platinum-8490h"],
  ["Intel(R) Xeon(R) Platinum 8400", "generic", "generic"],
  ["Intel(R) Xeon(R) Platinum 8425", "proxy", "intel-xeon-platinum-8444h"],
  ["Intel(R) Xeon(R) Platinum 8424", "proxy", "intel-xeon-platinum-8444h"],
  ["Intel(R) Xeon(R) Platinum 8423", "generic", "generic"],
  ["Intel(R) Xeon(R) Gold 5499", "generic", "generic"],
  ["AMD EPYC 9V33X 96-Core Processor", "proxy", "amd-epyc-9684x"],
  ["AMD EPYC 7V73X 64-Core Processor", "proxy", "amd-epyc-7773x"],
  ["AMD EPYC 7203", "generic", "generic"],
  ["AMD EPYC 9404", "generic", "generic"],
  // Virtual machines and ARM say only the generation
  ["AMD EPYC-Milan Processor", "proxy", "amd-epyc-7713"],
  ["AMD EPYC-Genoa Processor", "proxy", "amd-epyc-9654"],
  ["AMD EPYC-Genoa-v2 Processor", "proxy", "amd-epyc-9654"],
  ["Intel Xeon Processor (SapphireRapids)", "proxy", "intel-xeon-platinum-8468"],
  ["Intel Xeon Processor (Icelake)", "proxy", "intel-xeon-platinum-8358"],
  ["Neoverse-N1", "proxy", "ampere-altra-q80-30"],
  ["0x41/0xd0c", "proxy", "ampere-altra-q80-30"],
  ["Neoverse-N2", "proxy", "ampere-altra-max-m128-30"],
  ["0x41/0xd49", "proxy", "ampere-altra-max-m128-30"],
  ["ARM Neoverse-V1", "proxy", "aws-graviton3"],
  ["Neoverse-V2", "proxy", "nvidia-grace"],
  ["Ampere(R) Altra(R) Processor", "proxy", "ampere-altra-q80-30"],
  // Similar names of models that are not in the catalogue
  ["AMD EPYC 7742 64-Core Processor", "generic", "generic"],
  ["AMD EPYC-Rome Processor", "generic", "generic"],
  ["AMD Ryzen 9 7950X 16-Core Processor", "generic", "generic"],
  ["AMD Ryzen Threadripper PRO 7543 32-Cores", "generic", "generic"],
  ["Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", "generic", "generic"],
  ["Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz", "generic", "generic"],
  ["Intel(R) Xeon(R) 6369P", "generic", "generic"],
  ["Intel(R) Xeon(R) w9-3495X", "generic", "generic"],
  ["Intel(R) Xeon(R) w7-2495X", "generic", "generic"],
  ["Intel(R) Xeon(R) W-3408U", "generic", "generic"],
  ["Intel(R) Xeon(R) w5-3435X", "generic", "generic"],
  ["Intel(R) Xeon(R) Bronze 3495X", "generic", "generic"],
  ["Intel(R) Core(TM) i9-13900K", "generic", "generic"],
  ["QEMU Virtual CPU version 2.5+", "generic", "generic"],
  ["Common KVM processor", "generic", "generic"],
  ["AMD EPYC Processor", "generic", "generic"],
  ["96549654", "generic", "generic"],
  ["", "generic", "generic"],
  ["   ", "generic", "generic"],
];

const GPUS: readonly Expected[] = [
  // nvidia-smi and GPU feature discovery
  ["NVIDIA-H100-80GB-HBM3", "exact", "nvidia-h100-sxm"],
  ["NVIDIA H100 80GB HBM3", "exact", "nvidia-h100-sxm"],
  ["NVIDIA-H100-PCIe", "exact", "nvidia-h100-pcie"],
  ["NVIDIA H100 80GB HBM2e", "exact", "nvidia-h100-pcie"],
  ["NVIDIA H100 NVL", "exact", "nvidia-h100-nvl"],
  ["NVIDIA-H200", "exact", "nvidia-h200-sxm"],
  ["NVIDIA H200 NVL", "exact", "nvidia-h200-nvl"],
  ["NVIDIA B200", "exact", "nvidia-b200"],
  ["NVIDIA-A100-SXM4-80GB", "exact", "nvidia-a100-sxm-80gb"],
  ["A100-SXM4-40GB", "exact", "nvidia-a100-sxm-40gb"],
  ["NVIDIA-A100-PCIE-40GB", "exact", "nvidia-a100-pcie-40gb"],
  ["NVIDIA A100 80GB PCIe", "exact", "nvidia-a100-pcie-80gb"],
  ["Tesla-V100-SXM2-32GB", "exact", "nvidia-v100-sxm2-32gb"],
  ["Tesla V100-SXM2-16GB", "exact", "nvidia-v100-sxm2-16gb"],
  ["Tesla V100-PCIE-16GB", "exact", "nvidia-v100-pcie-16gb"],
  ["Tesla-T4", "exact", "nvidia-t4"],
  ["NVIDIA-L4", "exact", "nvidia-l4"],
  ["NVIDIA-L40S", "exact", "nvidia-l40s"],
  ["NVIDIA L40", "exact", "nvidia-l40"],
  ["NVIDIA A10", "exact", "nvidia-a10"],
  ["NVIDIA-RTX-6000-Ada-Generation", "exact", "nvidia-rtx-6000-ada"],
  ["NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "exact", "nvidia-a100-sxm-40gb"],
  ["NVIDIA-H100-80GB-HBM3-MIG-1g.10gb-SHARED", "exact", "nvidia-h100-sxm"],
  ["Tesla-T4-SHARED", "exact", "nvidia-t4"],
  // AMD and Intel
  ["AMD-Instinct-MI300X-OAM", "exact", "amd-mi300x"],
  ["AMD_Instinct_MI300X_OAM", "exact", "amd-mi300x"],
  ["AMD Instinct MI300X VF", "exact", "amd-mi300x"],
  ["MI300X-O", "exact", "amd-mi300x"],
  ["AMD Instinct MI300A", "exact", "amd-mi300a"],
  ["AMD_Instinct_MI250X", "exact", "amd-mi250x"],
  ["AMD Instinct™ MI325X", "exact", "amd-mi325x"],
  ["Instinct MI210", "exact", "amd-mi210"],
  ["AMD Radeon PRO W7900", "exact", "amd-w7900"],
  ["Intel(R) Data Center GPU Max 1550", "exact", "intel-max-1550"],
  ["Intel-Data-Center-GPU-Max-1100", "exact", "intel-max-1100"],
  // A partial name matches the strongest board of that name
  ["H100", "proxy", "nvidia-h100-sxm"],
  ["NVIDIA A100", "proxy", "nvidia-a100-sxm-80gb"],
  ["Tesla V100", "proxy", "nvidia-v100-sxm2-32gb"],
  ["Tesla V100-FHHL-16GB", "proxy", "nvidia-v100-sxm2-32gb"],
  ["GH100 [H200 SXM 141GB]", "proxy", "nvidia-h200-sxm"],
  ["NVIDIA L40S-48Q", "proxy", "nvidia-l40s"],
  ["NVIDIA A10G", "proxy", "nvidia-a10"],
  ["NVIDIA H800", "proxy", "nvidia-h100-sxm"],
  ["NVIDIA-H800-PCIe", "proxy", "nvidia-h100-pcie"],
  ["AMD Instinct MI300", "proxy", "amd-mi300x"],
  // Whole words only
  ["XA1000", "generic", "generic"],
  ["NVIDIA A1000", "generic", "generic"],
  ["NVIDIA A100X", "generic", "generic"],
  ["MI300C", "generic", "generic"],
  // An eleventh of the throughput of an MI300X: not a proxy for it.
  ["AMD Instinct MI308X", "generic", "generic"],
  ["Quadro RTX 6000", "generic", "generic"],
  ["NVIDIA RTX A6000", "generic", "generic"],
  ["NVIDIA GeForce RTX 4090", "generic", "generic"],
  ["AMD Radeon RX 7900 XTX", "generic", "generic"],
  ["AI", "generic", "generic"],
  ["", "generic", "generic"],
];

describe("CPU names", () => {
  // A separate catalogue: the built-in one caches the look-ups of other tests.
  it.each(CPUS)("%s is %s %s", (name, match, key) => {
    expect(buildCatalogue().catalogue.cpu(name)).toMatchObject({ match, key });
  });

  it("OPR-09 finds every CPU model by its key and by each of its aliases", () => {
    for (const entry of builtinCatalogue.cpus) {
      for (const name of [entry.key, ...entry.aliases]) {
        expect(builtinCatalogue.cpu(name)).toMatchObject({ match: "exact", entry });
      }
    }
  });

  it.each([
    ["AMD EPYC 9654", "is amd-epyc-9654"],
    ["AMD EPYC 7R13 48-Core Processor", "the EPYC 7003 nearest to 48 cores"],
    ["AMD EPYC 7R13", "an unlisted EPYC 7003"],
    ["Intel Xeon Platinum 8481C", "the nearest number in the Xeon Sapphire Rapids family"],
    ["Intel Xeon Gold 6330H", "same Xeon Ice Lake number with another suffix"],
  ])("the reason for %s ends in: %s", (name, reason) => {
    const found = buildCatalogue().catalogue.cpu(name);
    const start = found.match === "exact" ? `"${name}" ` : `${found.key} stands in for "${name}": `;
    expect(found.reason).toBe(`${start}${reason}`);
  });

  it("gives the reason for a listed proxy", () => {
    expect(builtinCatalogue.cpu("Neoverse-N1").reason).toContain("Graviton2 share");
  });

  it("gives a reason and no values for an unknown name", () => {
    const { catalogue } = buildCatalogue();
    expect(catalogue.cpu("Elbrus-16C")).toEqual({
      match: "generic",
      key: "generic",
      reason: 'the catalogue has no entry for "Elbrus-16C"',
    });
    expect(catalogue.cpu("").reason).toBe("no model name");
    expect(catalogue.cpu("  ").reason).toBe("no model name");
  });
});

describe("GPU names", () => {
  it.each(GPUS)("%s is %s %s", (name, match, key) => {
    expect(buildCatalogue().catalogue.gpu(name)).toMatchObject({ match, key });
  });

  it("OPR-09 finds every board by its key and by each of its aliases", () => {
    for (const entry of builtinCatalogue.gpus) {
      for (const name of [entry.key, ...entry.aliases]) {
        expect(builtinCatalogue.gpu(name)).toMatchObject({ match: "exact", entry });
      }
    }
  });

  it("matches a partial name to the strongest board and gives the reason", () => {
    const bare = builtinCatalogue.gpu("H100");
    const boards = ["H100 PCIe", "H100 NVL", "H100 SXM"].map((name) => builtinCatalogue.gpu(name).entry?.maxWatts ?? 0);
    expect(bare.entry?.maxWatts).toBe(Math.max(...boards));
    expect(bare.reason).toContain("form factor is not named");
  });

  it("gives a slice the values of its board and reports it", () => {
    const { catalogue } = buildCatalogue();
    const slice = "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb";
    expect(catalogue.gpu(slice).reason).toBe(
      `"${slice}" is nvidia-a100-sxm-40gb; a slice uses the values of its whole board`,
    );
    expect(catalogue.gpu("NVIDIA-A100-SXM4-40GB").reason).not.toContain("whole board");
    expect(catalogue.gpu("NVIDIA L40S-48Q").reason).toContain('the rest of the name is unknown, "l40s" is not');
  });
});

describe("any text", () => {
  const noise = fc.constantFrom("(R)", "(TM)", "™", "®", " ", "  ", "-", "_", ",");

  it("gives a defined and repeatable match", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 400 }), (name) => {
        for (const lookUp of [builtinCatalogue.cpu, builtinCatalogue.gpu]) {
          const found = lookUp(name);
          expect(found).toEqual(lookUp(name));
          expect(found.entry === undefined).toBe(found.match === "generic");
          expect(found.reason).not.toBe("");
        }
      }),
    );
  });

  it("matches regardless of case, separators and trademark signs", () => {
    fc.assert(
      fc.property(fc.constantFrom(...builtinCatalogue.gpus), noise, fc.boolean(), (entry, separator, upper) => {
        const [alias = ""] = entry.aliases;
        const name = ["NVIDIA", ...alias.split(" ")].join(separator === "," ? ", " : ` ${separator} `);
        expect(builtinCatalogue.gpu(upper ? name.toUpperCase() : name.toLowerCase())).toMatchObject({
          match: "exact",
          entry,
        });
      }),
    );
  });

  it("does not match a model name with an extra letter or digit", () => {
    fc.assert(
      fc.property(fc.constantFrom(...builtinCatalogue.gpus), fc.constantFrom("Q", "7", "ZZ"), (entry, glued) => {
        const [alias = ""] = entry.aliases;
        expect(builtinCatalogue.gpu(`${glued}${alias}`).match).not.toBe("exact");
      }),
    );
  });

  it("of excessive length is cut before matching", () => {
    expect(builtinCatalogue.cpu(`${"x".repeat(300)} AMD EPYC 9654`).match).toBe("generic");
    expect(builtinCatalogue.gpu("-".repeat(1e6)).match).toBe("generic");
  });
});
