import type { CapDevice, WriteOutcome } from "../../../core/control/index.ts";
import { formatWatts, isPositive, type Watts, watts, wattsFromMicrowatts } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { restoreOutcome } from "../gpu/gpu-board.ts";
import { errorText, writeErrorOutcome } from "../host/host-error.ts";
import { readBack, wholeNumber } from "../host/host-values.ts";
import type { BackendView, CapBoard, HostFiles, LimitReading, OriginalReading, PowerCapBackend } from "../port.ts";
import type { HsmpDevice } from "./hsmp-device.ts";
import { HsmpHwmonSource, type HsmpSocket } from "./hsmp-hwmon.ts";

export interface HsmpOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  /** /dev/hsmp, for kernels before 6.16, which have no hwmon files. Used only if those are absent. */
  readonly device?: HsmpDevice;
  /** The highest cap of one socket, from the catalogue: the firmware may report a maximum of 2 kW on any part. */
  readonly maxPower?: () => Watts | undefined;
}

/** HSMP uses milliwatts; the file drops anything finer. */
const STEP = watts(0.001);

/** Paths that show that the driver is loaded, as a device or as a module. */
const DRIVERS = ["class/misc/hsmp_cdev", "class/misc/hsmp", "module/amd_hsmp", "module/hsmp_acpi"];

/** HSMP errors that the user has to fix. Any other error may be temporary. */
const BLOCKED = {
  EPERM: "no permission: run the agent as root, with a writable /dev/hsmp",
  ENODEV: "HSMP does not respond: load amd_hsmp or hsmp_acpi and enable HSMP in the BIOS",
  ENOMSG: "this firmware does not support the message that sets a power limit: update the BIOS",
};
const TEMPORARY: Readonly<Record<string, string>> = {
  ETIMEDOUT: "the firmware did not respond in time",
  EBUSY: "the firmware is busy",
  EREMOTEIO: "the firmware rejected the message",
};

/** Power limits of EPYC sockets through HSMP. RAPL counters measure their energy, so it reports no power. */
export class HsmpBackend implements PowerCapBackend {
  readonly name = "hsmp";
  readonly kind = "cpu";
  readonly #files: HostFiles;
  readonly #hwmons: HsmpHwmonSource;
  readonly #device: HsmpDevice | undefined;
  readonly #clock: Clock;
  readonly #maxPower: () => Watts | undefined;
  readonly #known = new Set<string>();
  /** Why a socket rejected the write of its own limit in the last `proveWritable`. */
  readonly #locked = new Map<string, string>();

  constructor({ files, clock, device, maxPower = () => undefined }: HsmpOptions) {
    this.#files = files;
    this.#hwmons = new HsmpHwmonSource(files);
    this.#device = device;
    this.#clock = clock;
    this.#maxPower = maxPower;
  }

  async discover(signal?: AbortSignal): Promise<BackendView> {
    try {
      const sockets = await this.#sockets(signal);
      if (sockets.size === 0) return { absent: ABSENT };
      for (const id of sockets.keys()) this.#known.add(id);
      const ids = [...this.#known].toSorted();
      return { boards: await Promise.all(ids.map(async (id) => this.#board(id, sockets.get(id), signal))) };
    } catch (error) {
      return { absent: hsmpErrorOutcome(error, "/dev/hsmp").message };
    }
  }

  async proveWritable(signal?: AbortSignal): Promise<void> {
    this.#locked.clear();
    const sockets = await this.#sockets(signal).catch(() => new Map<string, HsmpSocket>());
    for (const [id, socket] of sockets) {
      try {
        await socket.checkWritable();
        const limit = await socket.limit(signal);
        if (isPositive(limit)) await socket.setLimit(limit, signal);
      } catch (error) {
        // The next cap retries after a temporary error.
        const { result, message } = hsmpErrorOutcome(error, id);
        if (result === "blocked") this.#locked.set(id, message);
      }
    }
  }

  async limit(id: string, signal?: AbortSignal): Promise<LimitReading> {
    try {
      return { limit: wattsFromMicrowatts(await (await this.#socket(id, signal)).limit(signal)) };
    } catch (error) {
      return { unreadable: `${id}: ${errorText(error)}` };
    }
  }

  async original(id: string, signal?: AbortSignal): Promise<OriginalReading> {
    try {
      return { original: String(await (await this.#socket(id, signal)).limit(signal)) };
    } catch (error) {
      return { unreadable: `${id}: ${errorText(error)}` };
    }
  }

  async cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome> {
    try {
      const socket = await this.#socket(id, signal);
      const { max } = await this.#range(socket, signal);
      const lowest = Math.min(STEP, wattsFromMicrowatts(await socket.limit(signal)));
      const microwatts = isPositive(limit) ? Math.floor(limit * 1000 + 1e-6) * 1000 : 0;
      const isOutside = limit < lowest || (max !== undefined && limit > max);
      if (microwatts === 0 || !Number.isSafeInteger(microwatts) || isOutside) {
        const range =
          max === undefined ? `at least ${formatWatts(STEP)}` : `between ${formatWatts(STEP)} and ${formatWatts(max)}`;
        return { result: "error", message: `${id}: ${formatWatts(limit)} is not ${range}` };
      }
      return await this.#write(id, socket, microwatts, signal);
    } catch (error) {
      return hsmpErrorOutcome(error, id);
    }
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const microwatts = wholeNumber(original);
    if (microwatts === undefined)
      return { result: "error", message: `${id}: the recorded original holds no limit: ${original.slice(0, 80)}` };
    try {
      const socket = await this.#socket(id, signal);
      // Clamp to the firmware's maximum only: an original above the catalogue's maximum is still valid.
      const ceiling = await socket.maxLimit(signal);
      const possible = isPositive(ceiling) ? Math.min(microwatts, ceiling) : microwatts;
      const outcome = await this.#write(id, socket, possible, signal);
      return restoreOutcome(wattsFromMicrowatts(microwatts), wattsFromMicrowatts(possible), outcome);
    } catch (error) {
      return hsmpErrorOutcome(error, id);
    }
  }

  async close(): Promise<void> {
    await this.#device?.close();
  }

  async #write(id: string, socket: HsmpSocket, microwatts: number, signal?: AbortSignal): Promise<WriteOutcome> {
    if ((await socket.limit(signal)) !== microwatts) await socket.setLimit(microwatts, signal);
    const read = await readBack(
      this.#clock,
      async () => socket.limit(signal),
      (value) => value === microwatts,
      signal,
    );
    if (read === microwatts) return { result: "applied" };
    const [asked, found] = [microwatts, read].map((value) => formatWatts(wattsFromMicrowatts(value)));
    return { result: "error", message: `${id}: wrote ${asked} but the firmware set ${found}` };
  }

  async #board(id: string, socket: HsmpSocket | undefined, signal?: AbortSignal): Promise<CapBoard> {
    if (socket === undefined) return { id, device: {}, lost: `${id}: its HSMP files disappeared` };
    const { firmwareMax, ...device } = await this.#range(socket, signal);
    const isAboveCatalogue = device.max !== undefined && firmwareMax !== undefined && firmwareMax > device.max;
    try {
      await socket.limit(signal);
    } catch (error) {
      return { id, device, lost: `${id}: ${errorText(error)}` };
    }
    const warning = `the firmware reports a maximum of ${formatWatts(firmwareMax ?? 0)}, the catalogue ${formatWatts(device.max ?? 0)}`;
    const warnings = isAboveCatalogue ? [warning] : [];
    try {
      await socket.checkWritable();
      return { id, device, locked: this.#locked.get(id), warnings };
    } catch (error) {
      return { id, device, locked: hsmpErrorOutcome(error, id).message, warnings };
    }
  }

  async #range(
    socket: HsmpSocket,
    signal: AbortSignal | undefined,
  ): Promise<CapDevice & { readonly firmwareMax?: Watts | undefined }> {
    const microwatts = await socket.maxLimit(signal);
    const firmwareMax = microwatts === undefined ? undefined : wattsFromMicrowatts(microwatts);
    const maxima = [firmwareMax, this.#maxPower()].filter(isPositive);
    const max = maxima.length === 0 ? {} : { max: watts(Math.min(...maxima)) };
    return { ...max, step: STEP, ...(isPositive(firmwareMax) && { firmwareMax }) };
  }

  async #socket(id: string, signal: AbortSignal | undefined): Promise<HsmpSocket> {
    const socket = (await this.#sockets(signal)).get(id);
    if (socket === undefined) throw new Error("HSMP has no CPU package of this name");
    return socket;
  }

  async #sockets(signal: AbortSignal | undefined): Promise<ReadonlyMap<string, HsmpSocket>> {
    const sockets = await this.#hwmons.all();
    if (sockets.size > 0 || this.#device === undefined) return sockets;
    // HOST_SYS_ROOT may be a copy of another machine: use /dev/hsmp only if that tree shows the driver.
    return DRIVERS.some((path) => this.#files.exists(path)) ? this.#device.all(signal) : sockets;
  }
}

function hsmpErrorOutcome(error: unknown, what: string): WriteOutcome & { readonly message: string } {
  const { result, message } = writeErrorOutcome(error, what, BLOCKED);
  const why = TEMPORARY[errorText(error)];
  return { result, message: why === undefined ? message : `${what}: ${why} (${errorText(error)})` };
}

const ABSENT =
  "neither amd_hsmp_hwmon (kernel 6.16 or newer) nor /dev/hsmp exists: on EPYC load amd_hsmp or hsmp_acpi and enable HSMP in the BIOS";
