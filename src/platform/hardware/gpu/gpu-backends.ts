import { join } from "node:path";
import type { WriteOutcome } from "../../../core/control/index.ts";
import type { Watts } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { AmdgpuBackend } from "../amd/amdgpu-backend.ts";
import { RocmSmiBackend } from "../amd/rocm-smi.ts";
import { textAt } from "../host/host-values.ts";
import { IntelGpuBackend } from "../intel/intel-gpu.ts";
import { NvidiaSmiBackend } from "../nvidia/nvidia-smi.ts";
import { NvmlBackend } from "../nvidia/nvml-backend.ts";
import { NvmlCrashGuard } from "../nvidia/nvml-crash-guard.ts";
import type { BoardPower, HostFiles, LimitReading, OriginalReading } from "../port.ts";
import {
  type GpuBackend,
  type GpuBackendVendor,
  type GpuBackendView,
  type GpuCapBoard,
  lostBoards,
} from "./gpu-board.ts";
import { PciGpuVendors } from "./pci-gpu-vendors.ts";

export interface GpuHost {
  /** HOST_SYS_ROOT and HOST_PROC_ROOT. */
  readonly sys: HostFiles;
  readonly proc: HostFiles;
  readonly clock: Clock;
  /** NVML_LIBRARY. */
  readonly nvmlLibrary: string;
  /** STATE_DIR: where it is remembered that NVML ended the program. */
  readonly stateDir: string;
  /** Whether that may be written down. */
  readonly mayWrite: boolean;
}

/** One vendor's ways to its boards, the best first. */
interface VendorRoute {
  readonly vendor: GpuBackendVendor;
  /** Whether its boards are there for sure, so that it is worth a word when nothing drives them. */
  readonly expected?: () => boolean;
  readonly ways: readonly BackendCandidate[];
}

interface BackendCandidate {
  readonly backend: GpuBackend;
  /** Why it is not even tried, for a try costs memory or a process. */
  readonly notTried?: () => string | undefined;
}

/**
 * Every GPU of this node: NVML or else nvidia-smi, amdgpu or else rocm-smi, and Intel's files. What is there is found anew at
 * each look, as drivers load late; boards of several vendors live side by side, each routed to what drives it.
 */
export function findGpuBackend(host: GpuHost): GpuBackend {
  const { sys, clock } = host;
  const vendors = new PciGpuVendors(sys);
  const noNvidia = (): string | undefined =>
    hasNvidia(host, vendors) ? undefined : "no NVIDIA GPU is on the PCI bus and its driver is not loaded";
  const noAmd = (): string | undefined =>
    vendors.present().has("amd") || sys.exists("module/amdgpu") ? undefined : "no AMD GPU is on the PCI bus";
  const nvml = nvmlOf(host);
  const hung = (): string | undefined =>
    nvml.hangs ? "nvidia-smi is not run: it would wait for the same driver" : undefined;
  return new CombinedGpuBackend([
    {
      vendor: "nvidia",
      expected: () => vendors.present().has("nvidia"),
      ways: [
        { backend: nvml, notTried: noNvidia },
        { backend: new NvidiaSmiBackend({ clock }), notTried: () => noNvidia() ?? hung() },
      ],
    },
    {
      vendor: "amd",
      expected: () => vendors.present().has("amd"),
      ways: [
        { backend: new AmdgpuBackend({ files: sys, clock }) },
        { backend: new RocmSmiBackend({ clock }), notTried: noAmd },
      ],
    },
    { vendor: "intel", ways: [{ backend: new IntelGpuBackend({ files: sys, clock }) }] },
  ]);
}

/** Whether NVML is worth the memory it costs: a board on the bus, a loaded driver, or a person who names the library's path. */
const hasNvidia = ({ sys, proc, nvmlLibrary }: GpuHost, vendors: PciGpuVendors): boolean =>
  nvmlLibrary.includes("/") ||
  proc.exists("driver/nvidia") ||
  sys.exists("module/nvidia") ||
  vendors.present().has("nvidia");

function nvmlOf({ proc, clock, nvmlLibrary: library, stateDir, mayWrite }: GpuHost): NvmlBackend {
  const key = ["driver/nvidia/version", "sys/kernel/random/boot_id"].map((file) => textAt(proc, file) ?? "").join(" ");
  const trial = new NvmlCrashGuard({ file: join(stateDir, "nvml-trial.json"), key, library, clock, mayWrite });
  return new NvmlBackend({ library, clock, trial });
}

/** Boards of several backends as those of one. */
class CombinedGpuBackend implements GpuBackend {
  readonly kind = "gpu";
  readonly #routes: readonly VendorRoute[];
  #inUse = new Map<GpuBackendVendor, GpuBackend>();
  #drivenBy = new Map<string, GpuBackend>();
  #seen: readonly GpuCapBoard[] = [];
  #looked: Promise<GpuBackendView> | undefined;

  constructor(routes: readonly VendorRoute[]) {
    this.#routes = routes;
  }

  /** What drives the boards now. It changes with that while ids and originals stay: a journal must not go by it. */
  get name(): string {
    return [...this.#inUse.values()].map(({ name }) => name).join("+") || "none";
  }

  async discover(signal?: AbortSignal): Promise<GpuBackendView> {
    this.#looked = this.#look(signal);
    return this.#looked;
  }

  async #look(signal: AbortSignal | undefined): Promise<GpuBackendView> {
    const found = await Promise.all(this.#routes.map(async (route) => this.#lookAt(route, signal)));
    const boards = found.flatMap((one) => one.boards ?? []);
    this.#inUse = new Map(found.flatMap((one) => (one.backend ? [[one.vendor, one.backend] as const] : [])));
    if (boards.length === 0) {
      return { absent: `no GPU backend works on this node: ${found.map(({ tried }) => tried).join("; ")}` };
    }
    for (const { backend, boards: own = [] } of found) {
      if (backend !== undefined) for (const { id } of own) this.#drivenBy.set(id, backend);
    }
    // A vendor whose driver or tool went away takes nobody else's boards with it.
    const gone = found
      .filter(({ backend }) => backend === undefined)
      .flatMap(({ vendor, tried }) =>
        lostBoards(
          this.#seen.filter((board) => board.vendor === vendor),
          boards,
          tried,
        ),
      );
    const undriven = found.filter(
      ({ vendor, backend, expected }) =>
        backend === undefined && expected && !gone.some((board) => board.vendor === vendor),
    );
    this.#seen = [...boards, ...gone];
    return {
      boards: withWarnings(
        this.#seen,
        undriven.map(({ vendor, tried }) => `GPUs of ${vendor} are left out: ${tried}`),
      ),
    };
  }

  async limit(id: string, signal?: AbortSignal): Promise<LimitReading> {
    return (await this.#of(id, signal))?.limit(id, signal) ?? { unreadable: unknown(id) };
  }

  async cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome> {
    return (await this.#of(id, signal))?.cap(id, limit, signal) ?? { result: "error", message: unknown(id) };
  }

  async original(id: string, signal?: AbortSignal): Promise<OriginalReading> {
    return (await this.#of(id, signal))?.original(id, signal) ?? { unreadable: unknown(id) };
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    return (await this.#of(id, signal))?.restore(id, original, signal) ?? { result: "error", message: unknown(id) };
  }

  async power(signal?: AbortSignal): Promise<readonly BoardPower[]> {
    this.#looked ??= this.discover(signal);
    await this.#looked;
    return (await Promise.all([...this.#inUse.values()].map(async (backend) => backend.power?.(signal) ?? []))).flat();
  }

  async close(): Promise<void> {
    await Promise.all(this.#routes.flatMap(({ ways }) => ways.map(async ({ backend }) => backend.close?.())));
  }

  async #of(id: string, signal: AbortSignal | undefined): Promise<GpuBackend | undefined> {
    if (!this.#drivenBy.has(id)) await this.discover(signal);
    return this.#drivenBy.get(id);
  }

  async #lookAt({ vendor, ways, expected }: VendorRoute, signal: AbortSignal | undefined): Promise<VendorResult> {
    const tried = new Set<string>();
    for (const { backend, notTried } of ways) {
      const why = notTried?.();
      const { boards, absent }: GpuBackendView = why === undefined ? await backend.discover(signal) : { absent: why };
      if (boards !== undefined) return { vendor, backend, boards, tried: "", expected: true };
      tried.add(absent);
    }
    return { vendor, tried: [...tried].join("; "), expected: expected?.() ?? false };
  }
}

interface VendorResult {
  readonly vendor: GpuBackendVendor;
  readonly backend?: GpuBackend;
  readonly boards?: readonly GpuCapBoard[];
  /** Why none of the vendor's ways works. */
  readonly tried: string;
  readonly expected: boolean;
}

/** A view has words only about boards: those about boards that are not in it go with the first one that is. */
const withWarnings = (boards: readonly GpuCapBoard[], warnings: readonly string[]): readonly GpuCapBoard[] =>
  warnings.length === 0
    ? boards
    : boards.map((board, place) =>
        place === 0 ? { ...board, warnings: [...(board.warnings ?? []), ...warnings] } : board,
      );

const unknown = (id: string): string => `no GPU ${JSON.stringify(id)} is known on this node`;
