import { join } from "node:path";
import type { WriteOutcome } from "../../../core/control/index.ts";
import type { Watts } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { AmdgpuBackend } from "../amd/amdgpu-backend.ts";
import { hostFileText, namesIn } from "../host/host-values.ts";
import { IntelGpuBackend } from "../intel/intel-gpu.ts";
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

export interface GpuHost {
  /** HOST_SYS_ROOT and HOST_PROC_ROOT. */
  readonly sys: HostFiles;
  readonly proc: HostFiles;
  readonly clock: Clock;
  /** NVML_LIBRARY. */
  readonly nvmlLibrary: string;
  /** STATE_DIR: holds the record of NVML crashes. */
  readonly stateDir: string;
  /** Whether that record may be written. */
  readonly mayWrite: boolean;
}

interface VendorRoute {
  readonly vendor: GpuBackendVendor;
  readonly backend: GpuBackend;
  /** Whether the vendor's boards are present: if so, a backend that does not work is worth a warning. */
  readonly expected?: () => boolean;
  /** Why the backend is not tried: NVML costs memory. */
  readonly whySkipped?: () => string | undefined;
}

/**
 * All GPUs of this node as one backend: NVML, amdgpu and Intel's sysfs files. Each discovery tries all of them again, because drivers
 * load late. Calls for a board go to the backend that discovered it.
 */
export function findGpuBackend(host: GpuHost): GpuBackend {
  const { sys, clock } = host;
  const vendors = new PciGpuVendors(sys);
  return new CombinedGpuBackend([
    {
      vendor: "nvidia",
      backend: createNvmlBackend(host),
      expected: () => vendors.present().has("nvidia"),
      whySkipped: () =>
        hasNvidia(host, vendors) ? undefined : "no NVIDIA GPU is on the PCI bus and the NVIDIA driver is not loaded",
    },
    {
      vendor: "amd",
      backend: new AmdgpuBackend({ files: sys, clock }),
      expected: () => vendors.present().has("amd"),
    },
    { vendor: "intel", backend: new IntelGpuBackend({ files: sys, clock }) },
  ]);
}

/** Whether to load NVML, which costs memory: a board on the bus, a loaded driver, or a configured library path. */
const hasNvidia = ({ sys, proc, nvmlLibrary }: GpuHost, vendors: PciGpuVendors): boolean =>
  nvmlLibrary.includes("/") ||
  proc.exists("driver/nvidia") ||
  sys.exists("module/nvidia") ||
  vendors.present().has("nvidia");

function createNvmlBackend({ proc, clock, nvmlLibrary: library, stateDir, mayWrite }: GpuHost): NvmlBackend {
  const key = ["driver/nvidia/version", "sys/kernel/random/boot_id"]
    .map((file) => hostFileText(proc, file) ?? "")
    .join(" ");
  const crashGuard = new NvmlCrashGuard({ file: join(stateDir, "nvml-trial.json"), key, library, clock, mayWrite });
  return new NvmlBackend({ library, clock, crashGuard });
}

/** Presents the boards of several backends as one backend. */
class CombinedGpuBackend implements GpuBackend {
  readonly kind = "gpu";
  readonly #routes: readonly VendorRoute[];
  #activeBackends = new Map<GpuBackendVendor, GpuBackend>();
  #backendOf = new Map<string, GpuBackend>();
  #seen: readonly GpuCapBoard[] = [];
  #lastDiscovery: Promise<GpuBackendView> | undefined;

  constructor(routes: readonly VendorRoute[]) {
    this.#routes = routes;
  }

  /** The active backends. The name may change while ids and originals stay, so the journal must not use it as a key. */
  get name(): string {
    return [...this.#activeBackends.values()].map(({ name }) => name).join("+") || "none";
  }

  async discover(signal?: AbortSignal): Promise<GpuBackendView> {
    this.#lastDiscovery = this.#discoverAll(signal);
    return this.#lastDiscovery;
  }

  async #discoverAll(signal: AbortSignal | undefined): Promise<GpuBackendView> {
    const found = await Promise.all(this.#routes.map(async (route) => this.#discoverVendor(route, signal)));
    const boards = found.flatMap((one) => one.boards ?? []);
    this.#activeBackends = new Map(found.flatMap((one) => (one.backend ? [[one.vendor, one.backend] as const] : [])));
    if (boards.length === 0) {
      return { absent: `no GPU backend works on this node: ${found.map(({ absent }) => absent).join("; ")}` };
    }
    for (const { backend, boards: driven = [] } of found) {
      if (backend !== undefined) for (const { id } of driven) this.#backendOf.set(id, backend);
    }
    // If the driver of one vendor disappears, only that vendor's boards are lost.
    const gone = found
      .filter(({ backend }) => backend === undefined)
      .flatMap(({ vendor, absent }) =>
        lostBoards(
          this.#seen.filter((board) => board.vendor === vendor),
          boards,
          absent,
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
        undriven.map(({ vendor, absent }) => `${vendor} GPUs are not managed: ${absent}`),
      ),
    };
  }

  async limit(id: string, signal?: AbortSignal): Promise<LimitReading> {
    return (await this.#backendFor(id, signal))?.limit(id, signal) ?? { unreadable: unknown(id) };
  }

  async cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome> {
    return (await this.#backendFor(id, signal))?.cap(id, limit, signal) ?? { result: "error", message: unknown(id) };
  }

  async original(id: string, signal?: AbortSignal): Promise<OriginalReading> {
    return (await this.#backendFor(id, signal))?.original(id, signal) ?? { unreadable: unknown(id) };
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    return (
      (await this.#backendFor(id, signal))?.restore(id, original, signal) ?? { result: "error", message: unknown(id) }
    );
  }

  async power(signal?: AbortSignal): Promise<readonly BoardPower[]> {
    this.#lastDiscovery ??= this.discover(signal);
    await this.#lastDiscovery;
    return (
      await Promise.all([...this.#activeBackends.values()].map(async (backend) => backend.power?.(signal) ?? []))
    ).flat();
  }

  async close(): Promise<void> {
    await Promise.all(this.#routes.map(async ({ backend }) => backend.close?.()));
  }

  async #backendFor(id: string, signal: AbortSignal | undefined): Promise<GpuBackend | undefined> {
    if (!this.#backendOf.has(id)) await this.discover(signal);
    return this.#backendOf.get(id);
  }

  async #discoverVendor(
    { vendor, backend, expected, whySkipped }: VendorRoute,
    signal: AbortSignal | undefined,
  ): Promise<VendorResult> {
    const skipped = whySkipped?.();
    const view = skipped === undefined ? await backend.discover(signal) : { absent: skipped };
    return view.boards === undefined
      ? { vendor, absent: view.absent, expected: expected?.() ?? false }
      : { vendor, backend, boards: view.boards, absent: "", expected: true };
  }
}

interface VendorResult {
  readonly vendor: GpuBackendVendor;
  readonly backend?: GpuBackend;
  readonly boards?: readonly GpuCapBoard[];
  /** Why the vendor's backend does not work. */
  readonly absent: string;
  readonly expected: boolean;
}

/** Warnings belong to boards, so warnings about boards that are not in the view are added to its first board. */
const withWarnings = (boards: readonly GpuCapBoard[], warnings: readonly string[]): readonly GpuCapBoard[] =>
  warnings.length === 0
    ? boards
    : boards.map((board, place) =>
        place === 0 ? { ...board, warnings: [...(board.warnings ?? []), ...warnings] } : board,
      );

const unknown = (id: string): string => `no GPU ${JSON.stringify(id)} on this node`;

const DEVICES = "bus/pci/devices";

const vendors: Readonly<Record<string, GpuBackendVendor>> = { "0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel" };

/** PCI classes of displays and accelerators: a vendor's switches and sound functions are not GPUs. */
const CLASSES = /^0x(03|12)/;

/** The vendors of the GPUs on the PCI bus, with or without a driver. */
class PciGpuVendors {
  readonly #files: HostFiles;
  #names = "";
  #found: ReadonlySet<GpuBackendVendor> = new Set();

  constructor(files: HostFiles) {
    this.#files = files;
  }

  /** Cached until the device list changes: a large machine has hundreds of devices. */
  present(): ReadonlySet<GpuBackendVendor> {
    const devices = namesIn(this.#files, DEVICES);
    const names = devices.join();
    if (names !== this.#names) {
      this.#names = names;
      this.#found = new Set(devices.map((device) => this.#vendorOf(device)).filter((vendor) => vendor !== undefined));
    }
    return this.#found;
  }

  #vendorOf(device: string): GpuBackendVendor | undefined {
    const kind = hostFileText(this.#files, `${DEVICES}/${device}/class`)?.trim() ?? "";
    return CLASSES.test(kind)
      ? vendors[hostFileText(this.#files, `${DEVICES}/${device}/vendor`)?.trim() ?? ""]
      : undefined;
  }
}
