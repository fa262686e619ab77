import { hwmonsNamed, numberAt, wholeNumber } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";

/** The power limit of one EPYC socket, in microwatts. Reads and writes reject with the kernel's error. */
export interface HsmpSocket {
  limit(signal?: AbortSignal): Promise<number>;
  /** The firmware's maximum; undefined if it does not report one. */
  maxLimit(signal?: AbortSignal): Promise<number | undefined>;
  setLimit(microwatts: number, signal?: AbortSignal): Promise<void>;
  /** Rejects with the error a write would get, as far as it shows without writing. */
  checkWritable(): Promise<void>;
}

/** Finds the EPYC sockets: through hwmon files, or through /dev/hsmp. */
export interface HsmpSocketSource {
  /** Sockets by package id; empty if this interface does not exist. */
  all(signal?: AbortSignal): Promise<ReadonlyMap<string, HsmpSocket>>;
}

/** The hwmon files for HSMP since kernel 6.16: one hwmon per socket. */
export class HsmpHwmonSource implements HsmpSocketSource {
  readonly #files: HostFiles;
  /** The older driver's hwmons in socket order, from the discovery that found the most. */
  #ranked: readonly string[] = [];

  constructor(files: HostFiles) {
    this.#files = files;
  }

  /**
   * Identifies sockets by device, because hwmon numbers change with each boot. ACPI has one device per socket with the socket's
   * number (`AMDI0097:01`). The older driver has one device for all, with its sensors in socket order.
   */
  async all(): Promise<ReadonlyMap<string, HsmpSocket>> {
    const paths = hwmonsNamed(this.#files, "amd_hsmp_hwmon").filter((path) => this.#files.exists(`${path}/power1_cap`));
    const unitOf = (path: string): string | undefined => /AMDI\d+:([\da-f]+)\//i.exec(path)?.[1];
    const sockets = new Map<string, HsmpSocket>();
    for (const path of paths) {
      const unit = unitOf(path);
      if (unit !== undefined) sockets.set(`package-${Number.parseInt(unit, 16)}`, new HwmonSocket(this.#files, path));
    }
    const unnumbered = paths.filter((path) => unitOf(path) === undefined);
    for (const [rank, path] of this.#ranks(unnumbered))
      sockets.set(`package-${rank}`, new HwmonSocket(this.#files, path));
    return sockets;
  }

  /**
   * The older driver registers all sensors at once, so their order is the socket order whatever numbers a reload assigns. If one is
   * missing, the others keep their ids, so that no socket takes over the id of the missing one.
   */
  #ranks(paths: readonly string[]): readonly (readonly [number, string])[] {
    const inOrder = paths.toSorted((a, b) => hwmonNumber(a) - hwmonNumber(b));
    if (inOrder.length >= this.#ranked.length) this.#ranked = inOrder;
    // The driver was unloaded: keep the number of sockets, but drop the paths.
    if (inOrder.length === 0) this.#ranked = this.#ranked.map(() => "");
    const vacant = [...this.#ranked.keys()].filter((rank) => !paths.includes(this.#ranked[rank] ?? ""));
    return inOrder.map((path) => {
      const rank = this.#ranked.indexOf(path);
      return [rank === -1 ? (vacant.shift() ?? 0) : rank, path] as const;
    });
  }
}

class HwmonSocket implements HsmpSocket {
  readonly #files: HostFiles;
  readonly #path: string;

  constructor(files: HostFiles, path: string) {
    this.#files = files;
    this.#path = path;
  }

  async limit(): Promise<number> {
    const text = this.#files.read(`${this.#path}/power1_cap`);
    const value = wholeNumber(text);
    if (value === undefined)
      throw new Error(`power1_cap holds ${JSON.stringify(text.slice(0, 40))}, which is not a number`);
    return value;
  }

  async maxLimit(): Promise<number | undefined> {
    return numberAt(this.#files, `${this.#path}/power1_cap_max`);
  }

  async setLimit(microwatts: number): Promise<void> {
    this.#files.write(`${this.#path}/power1_cap`, String(microwatts));
  }

  async checkWritable(): Promise<void> {
    this.#files.checkWritable(`${this.#path}/power1_cap`);
  }
}

const hwmonNumber = (path: string): number => Number(/hwmon(\d+)$/.exec(path)?.[1] ?? 0);
