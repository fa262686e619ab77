import { closeSync, constants, existsSync, openSync } from "node:fs";
import { getSystemErrorName } from "node:util";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { errorCode, HostFileError } from "../host/host-error.ts";
import { HungCallGuard } from "../host/hung-call-guard.ts";
import type { HsmpSocket, HsmpSocketSource } from "./hsmp-hwmon.ts";

export interface HsmpDeviceOptions {
  readonly clock: Clock;
  readonly path?: string;
  /** The library that exports `ioctl`. Tests pass a stub. */
  readonly library?: string;
}

/** Messages of asm/amd_hsmp.h with their numbers of arguments and results. Power is in milliwatts. */
const GET_LIMIT = { id: 6, args: 0, answers: 1 } as const;
const GET_MAX_LIMIT = { id: 7, args: 0, answers: 1 } as const;
const SET_LIMIT = { id: 5, args: 1, answers: 0 } as const;
type Message = typeof GET_LIMIT | typeof GET_MAX_LIMIT | typeof SET_LIMIT;

/** _IOWR(0xF8, 0, struct hsmp_message). The struct: u32 id, u16 args, u16 results, u32 values[8], u16 socket, padding. */
const HSMP_IOCTL = 0xc02cf800;
const MESSAGE_BYTES = 44;
/** No board has more. The driver returns ENODEV beyond its last socket. */
const MAX_SOCKETS = 8;
/** The firmware responds within a millisecond, and the kernel gives up after half a second. */
const CALL_TIMEOUT = milliseconds(2000);
const READ_ONLY_CODES: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS"]);

/** /dev/hsmp, for kernels before 6.16. Each call runs on another thread and is abandoned if the firmware hangs. */
export class HsmpDevice implements HsmpSocketSource {
  readonly #options: Required<HsmpDeviceOptions>;
  readonly #guard: HungCallGuard;
  #ioctl: Promise<Ioctl> | undefined;
  #open: { readonly descriptor: number; readonly mayWrite: boolean } | undefined;
  #sockets: ReadonlyMap<string, HsmpSocket> = new Map();

  constructor({ clock, path = "/dev/hsmp", library = "libc.so.6" }: HsmpDeviceOptions) {
    this.#options = { clock, path, library };
    this.#guard = new HungCallGuard(clock);
  }

  async all(signal?: AbortSignal): Promise<ReadonlyMap<string, HsmpSocket>> {
    // Load koffi only if the device exists.
    if (!existsSync(this.#options.path)) {
      this.forget();
      return new Map();
    }
    if (this.#sockets.size === 0) this.#sockets = await this.#search(signal);
    return this.#sockets;
  }

  async close(): Promise<void> {
    if (this.#guard.stuck) {
      // Node waits for its threads on exit, and a hung one never returns.
      const ioctl = await this.#ioctl;
      process.once("exit", (code) => ioctl?.exit(code));
    }
    this.forget();
  }

  async send(message: Message, socket: number, value: number, signal?: AbortSignal): Promise<number> {
    const { path } = this.#options;
    const { descriptor, mayWrite } = this.#opened();
    if (message === SET_LIMIT && !mayWrite) throw new HostFileError("EPERM", path, "write");
    const ioctl = await this.#loaded();
    const bytes = Buffer.alloc(MESSAGE_BYTES);
    bytes.writeUInt32LE(message.id, 0);
    bytes.writeUInt16LE(message.args, 4);
    bytes.writeUInt16LE(message.answers, 6);
    bytes.writeUInt32LE(value, 8);
    bytes.writeUInt16LE(socket, 40);
    const failed = await this.#guard.run({
      lane: `socket ${socket}`,
      what: `HSMP message ${message.id}`,
      limit: CALL_TIMEOUT,
      signal,
      work: async () => ioctl.call(descriptor, HSMP_IOCTL, bytes),
    });
    if (failed !== undefined) throw new HostFileError(failed, path, `HSMP message ${message.id} to`);
    return bytes.readUInt32LE(8);
  }

  /** Drops the open descriptor and the sockets after the driver was unloaded or reloaded. */
  forget(): void {
    if (this.#open !== undefined) closeSync(this.#open.descriptor);
    this.#open = undefined;
    this.#sockets = new Map();
  }

  /** Throws if the device could only be opened for reading. */
  checkWritable(): void {
    if (!this.#opened().mayWrite) throw new HostFileError("EPERM", this.#options.path, "write");
  }

  async #search(signal: AbortSignal | undefined): Promise<ReadonlyMap<string, HsmpSocket>> {
    const found = new Map<string, HsmpSocket>();
    for (let index = 0; index < MAX_SOCKETS; index += 1) {
      try {
        await this.send(GET_LIMIT, index, 0, signal);
      } catch (error) {
        if (errorCode(error) === "ENODEV") break;
        // The first socket may respond later; a further socket that exists and fails is reported as lost.
        if (index === 0) throw error;
      }
      found.set(`package-${index}`, new DeviceSocket(this, index));
    }
    return found;
  }

  #opened(): { readonly descriptor: number; readonly mayWrite: boolean } {
    const { path } = this.#options;
    const { O_RDWR, O_RDONLY } = constants;
    if (this.#open?.mayWrite) return this.#open;
    try {
      // The user may fix permissions at any time: try again to open a read-only device for writing.
      const descriptor = openSync(path, O_RDWR);
      if (this.#open !== undefined) closeSync(this.#open.descriptor);
      this.#open = { descriptor, mayWrite: true };
    } catch (error) {
      if (!READ_ONLY_CODES.has(errorCode(error))) throw error;
      // Reading still works, and the status can report the missing permission.
      this.#open ??= { descriptor: openSync(path, O_RDONLY), mayWrite: false };
    }
    return this.#open;
  }

  async #loaded(): Promise<Ioctl> {
    this.#ioctl ??= loadIoctl(this.#options.library);
    try {
      return await this.#ioctl;
    } catch (error) {
      this.#ioctl = undefined;
      throw error;
    }
  }
}

class DeviceSocket implements HsmpSocket {
  readonly #device: HsmpDevice;
  readonly #index: number;
  /** Constant while the driver is loaded, so it is read once. */
  #maxLimit: number | undefined;

  constructor(device: HsmpDevice, index: number) {
    this.#device = device;
    this.#index = index;
  }

  async limit(signal?: AbortSignal): Promise<number> {
    try {
      return (await this.#device.send(GET_LIMIT, this.#index, 0, signal)) * 1000;
    } catch (error) {
      if (errorCode(error) === "ENODEV") this.#device.forget();
      throw error;
    }
  }

  async maxLimit(signal?: AbortSignal): Promise<number | undefined> {
    try {
      this.#maxLimit ??= (await this.#device.send(GET_MAX_LIMIT, this.#index, 0, signal)) * 1000;
    } catch {
      return undefined;
    }
    return this.#maxLimit;
  }

  async setLimit(microwatts: number, signal?: AbortSignal): Promise<void> {
    await this.#device.send(SET_LIMIT, this.#index, Math.floor(microwatts / 1000), signal);
  }

  async checkWritable(): Promise<void> {
    this.#device.checkWritable();
  }
}

export interface Ioctl {
  /** Runs on its own thread. Resolves to the errno name, or to undefined if the call succeeded. */
  call(descriptor: number, request: number, bytes: Buffer): Promise<string | undefined>;
  /** Exits the process at once, even while a thread hangs in a call. */
  exit(code: number): void;
}

/** Node has no ioctl, so koffi calls the one of libc. koffi costs 2 to 9 MB and is loaded only if a device needs it. */
async function loadIoctl(library: string): Promise<Ioctl> {
  const koffi = (await import("koffi")).default;
  const ioctl = koffi.load(library).func("ioctl", "int", ["int", "unsigned long", "void *"]);
  return {
    call: async (descriptor, request, bytes) =>
      new Promise((resolve, reject) => {
        ioctl.async(descriptor, request, bytes, (error: unknown, result: number) => {
          // The errno of the calling thread: koffi keeps it for this callback.
          const number = koffi.errno();
          // koffi passes an error or a result, never both.
          if (error instanceof Error) reject(error);
          // The driver returns 0. Referencing `bytes` keeps its memory alive during the call.
          else resolve(result >= 0 && bytes.length > 0 ? undefined : nameOf(number));
        });
      }),
    exit: (code) => {
      koffi.load("libc.so.6").func("_exit", "void", ["int"])(code);
    },
  };
}

/** The only errno of the driver that libuv has no name for. */
const ENOMSG = 42;

const nameOf = (errno: number): string => (errno === ENOMSG ? "ENOMSG" : getSystemErrorName(-errno));
