import { type CapDevice, type WriteOutcome, withLowestCap } from "../../../core/control/index.ts";
import { formatWatts, isPositive, type Watts, watts, wattsFromMicrowatts } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { restoreOutcome } from "../gpu/gpu-board.ts";
import { errorText } from "../host/host-error.ts";
import { wholeNumber } from "../host/host-values.ts";
import { readBack } from "../host/read-back.ts";
import { writeErrorOutcome } from "../host/write-error.ts";
import type { BackendView, CapBoard, HostFiles, LimitReading, OriginalReading, PowerCapBackend } from "../port.ts";
import type { HsmpDevice } from "./hsmp-device.ts";
import { HsmpHwmonSource } from "./hsmp-hwmon.ts";
import type { HsmpSocket } from "./hsmp-socket.ts";

export interface HsmpOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  /** For kernels before 6.16, which have no files: used only where those are absent. */
  readonly device?: HsmpDevice | undefined;
  /** The lowest cap that the catalogue knows of the part. */
  readonly minPower?: () => Watts | undefined;
  /** The most the catalogue lets one socket be set to: the firmware's own ceiling may be 2 kW on any part. */
  readonly maxPower?: () => Watts | undefined;
}

/** HSMP speaks milliwatts; the file cuts what is finer. */
const STEP = watts(0.001);

/** Where sysfs shows that the kernel has the driver, as a device or as a module. */
const DRIVERS = ["class/misc/hsmp_cdev", "class/misc/hsmp", "module/amd_hsmp", "module/hsmp_acpi"];

/** What the driver and the firmware answer beside the usual. Whatever is not here is an error that may pass. */
const BLOCKED = {
  EPERM: "no permission: the agent has to run as root, with a writable /dev/hsmp",
  ENODEV: "HSMP does not answer: load amd_hsmp or hsmp_acpi and switch HSMP on in the BIOS",
  ENOMSG: "this firmware does not know the message that sets a power limit: update the BIOS",
};
const PASSING: Readonly<Record<string, string>> = {
  ETIMEDOUT: "the firmware did not answer in time",
  EBUSY: "the firmware is busy",
  EREMOTEIO: "the firmware refused the message",
};

/**
 * EPYC sockets through HSMP. It tells no power, though there is a message for it: that is a moment's, and RAPL's counters tell
 * the energy of these same sockets.
 */
export class HsmpBackend implements PowerCapBackend {
  readonly name = "hsmp";
  readonly kind = "cpu";
  readonly #files: HostFiles;
  readonly #hwmons: HsmpHwmonSource;
  readonly #device: HsmpDevice | undefined;
  readonly #clock: Clock;
  readonly #minPower: () => Watts | undefined;
  readonly #maxPower: () => Watts | undefined;
  readonly #known = new Set<string>();
  /** Sockets that refused their own limit when that was last tried. */
  readonly #refused = new Map<string, string>();

  constructor({ files, clock, device, minPower = () => undefined, maxPower = () => undefined }: HsmpOptions) {
    this.#files = files;
    this.#hwmons = new HsmpHwmonSource(files);
    this.#device = device;
    this.#clock = clock;
    this.#minPower = minPower;
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
      return { absent: hsmpRefusal(error, "/dev/hsmp").message };
    }
  }

  async proveWritable(signal?: AbortSignal): Promise<void> {
    this.#refused.clear();
    const sockets = await this.#sockets(signal).catch(() => new Map<string, HsmpSocket>());
    for (const [id, socket] of sockets) {
      try {
        await socket.checkWritable();
        const limit = await socket.limit(signal);
        if (isPositive(limit)) await socket.setLimit(limit, signal);
      } catch (error) {
        // What may pass is tried again by the next cap.
        const { result, message } = hsmpRefusal(error, id);
        if (result === "blocked") this.#refused.set(id, message);
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
      const { min = STEP, max } = await this.#range(socket, signal);
      const least = Math.min(min, wattsFromMicrowatts(await socket.limit(signal)));
      const microwatts = isPositive(limit) ? Math.floor(limit * 1000 + 1e-6) * 1000 : 0;
      const isOutside = limit < least || (max !== undefined && limit > max);
      if (microwatts === 0 || !Number.isSafeInteger(microwatts) || isOutside) {
        const range =
          max === undefined ? `at least ${formatWatts(min)}` : `between ${formatWatts(min)} and ${formatWatts(max)}`;
        return { result: "error", message: `${id}: ${formatWatts(limit)} is not ${range}` };
      }
      return await this.#write(id, socket, microwatts, signal);
    } catch (error) {
      return hsmpRefusal(error, id);
    }
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const microwatts = wholeNumber(original);
    if (microwatts === undefined) return { result: "error", message: `${id}: no limit is in ${original.slice(0, 80)}` };
    try {
      const socket = await this.#socket(id, signal);
      // Only the firmware's own ceiling counts: an original above the catalogue's is still what it was.
      const ceiling = await socket.maxLimit(signal);
      const possible = isPositive(ceiling) ? Math.min(microwatts, ceiling) : microwatts;
      const outcome = await this.#write(id, socket, possible, signal);
      return restoreOutcome(wattsFromMicrowatts(microwatts), wattsFromMicrowatts(possible), outcome);
    } catch (error) {
      return hsmpRefusal(error, id);
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
    return { result: "error", message: `${id}: ${asked} was written and the firmware settled at ${found}` };
  }

  async #board(id: string, socket: HsmpSocket | undefined, signal?: AbortSignal): Promise<CapBoard> {
    if (socket === undefined) return { id, device: {}, lost: `${id} has no HSMP files any more` };
    const { ceiling, ...device } = await this.#range(socket, signal);
    const isMere = device.max !== undefined && ceiling !== undefined && ceiling > device.max;
    try {
      await socket.limit(signal);
    } catch (error) {
      return { id, device, lost: `${id}: ${errorText(error)}` };
    }
    const warning = `the firmware says up to ${formatWatts(ceiling ?? 0)}, the catalogue up to ${formatWatts(device.max ?? 0)}`;
    const warnings = isMere ? [warning] : [];
    try {
      await socket.checkWritable();
      return { id, device, locked: this.#refused.get(id), warnings };
    } catch (error) {
      return { id, device, locked: hsmpRefusal(error, id).message, warnings };
    }
  }

  async #range(
    socket: HsmpSocket,
    signal: AbortSignal | undefined,
  ): Promise<CapDevice & { readonly ceiling?: Watts | undefined }> {
    const told = await socket.maxLimit(signal);
    const ceiling = told === undefined ? undefined : wattsFromMicrowatts(told);
    const figures = [ceiling, this.#maxPower()].filter(isPositive);
    const max = figures.length === 0 ? {} : { max: watts(Math.min(...figures)) };
    return { ...withLowestCap({ ...max, step: STEP }, this.#minPower()), ...(isPositive(ceiling) && { ceiling }) };
  }

  async #socket(id: string, signal: AbortSignal | undefined): Promise<HsmpSocket> {
    const socket = (await this.#sockets(signal)).get(id);
    if (socket === undefined) throw new Error("no such CPU package with HSMP");
    return socket;
  }

  async #sockets(signal: AbortSignal | undefined): Promise<ReadonlyMap<string, HsmpSocket>> {
    const sockets = await this.#hwmons.all();
    if (sockets.size > 0 || this.#device === undefined) return sockets;
    // HOST_SYS_ROOT may be another machine's tree: its own kernel has to have the driver, or /dev/hsmp is not its device.
    return DRIVERS.some((path) => this.#files.exists(path)) ? this.#device.all(signal) : sockets;
  }
}

function hsmpRefusal(error: unknown, what: string): WriteOutcome & { readonly message: string } {
  const { result, message } = writeErrorOutcome(error, what, BLOCKED);
  const why = PASSING[errorText(error)];
  return { result, message: why === undefined ? message : `${what}: ${why} (${errorText(error)})` };
}

const ABSENT =
  "there is neither amd_hsmp_hwmon (kernel 6.16 or newer) nor /dev/hsmp: an EPYC needs amd_hsmp or hsmp_acpi loaded, and HSMP on in the BIOS";
