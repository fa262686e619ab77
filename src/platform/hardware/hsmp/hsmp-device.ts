import { closeSync, constants, existsSync, openSync } from "node:fs";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { errorCode, HostFileError } from "../host/host-error.ts";
import { HungCallGuard } from "../host/hung-call-guard.ts";
import { type Ioctl, loadIoctl } from "./hsmp-ioctl.ts";
import type { HsmpSocket, HsmpSocketSource } from "./hsmp-socket.ts";

export interface HsmpDeviceOptions {
  readonly clock: Clock;
  readonly path?: string;
  /** The library that has `ioctl`: another one in tests. */
  readonly library?: string;
}

/** Messages of asm/amd_hsmp.h, with the arguments they take and the answers they give. Power is in milliwatts. */
const GET_LIMIT = { id: 6, args: 0, answers: 1 } as const;
const GET_CEILING = { id: 7, args: 0, answers: 1 } as const;
const SET_LIMIT = { id: 5, args: 1, answers: 0 } as const;
type Message = typeof GET_LIMIT | typeof GET_CEILING | typeof SET_LIMIT;

/** _IOWR(0xF8, 0, struct hsmp_message), and that struct: u32 id, u16 args, u16 answers, u32 values[8], u16 socket, padding. */
const HSMP_IOCTL = 0xc02cf800;
const MESSAGE_BYTES = 44;
/** No board has more. The driver answers ENODEV beyond its last socket. */
const MOST_SOCKETS = 8;
/** The firmware answers in a millisecond, and the kernel itself gives up after half a second. */
const ANSWERS_WITHIN = milliseconds(2000);
const READ_ONLY_CODES: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS"]);

/** The driver's device, on kernels before 6.16. Each call runs on another thread and is given up where the firmware hangs. */
export class HsmpDevice implements HsmpSocketSource {
  readonly #options: Required<HsmpDeviceOptions>;
  readonly #gate: HungCallGuard;
  #ioctl: Promise<Ioctl> | undefined;
  #open: { readonly descriptor: number; readonly mayWrite: boolean } | undefined;
  #sockets: ReadonlyMap<string, HsmpSocket> = new Map();

  constructor({ clock, path = "/dev/hsmp", library = "libc.so.6" }: HsmpDeviceOptions) {
    this.#options = { clock, path, library };
    this.#gate = new HungCallGuard(clock);
  }

  async all(signal?: AbortSignal): Promise<ReadonlyMap<string, HsmpSocket>> {
    // koffi is loaded only where there is something to call.
    if (!existsSync(this.#options.path)) {
      this.forget();
      return new Map();
    }
    if (this.#sockets.size === 0) this.#sockets = await this.#search(signal);
    return this.#sockets;
  }

  async close(): Promise<void> {
    if (this.#gate.stuck) {
      // Node waits for its threads when it ends, and one of them may never return.
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
    const failed = await this.#gate.run({
      lane: `socket ${socket}`,
      what: `HSMP message ${message.id}`,
      limit: ANSWERS_WITHIN,
      signal,
      work: async () => ioctl.call(descriptor, HSMP_IOCTL, bytes),
    });
    if (failed !== undefined) throw new HostFileError(failed, path, `HSMP message ${message.id} to`);
    return bytes.readUInt32LE(8);
  }

  /** The driver was unloaded, and perhaps loaded again: what was opened before is of no use any more. */
  forget(): void {
    if (this.#open !== undefined) closeSync(this.#open.descriptor);
    this.#open = undefined;
    this.#sockets = new Map();
  }

  /** Throws where the device was opened for reading only. */
  checkWritable(): void {
    if (!this.#opened().mayWrite) throw new HostFileError("EPERM", this.#options.path, "write");
  }

  async #search(signal: AbortSignal | undefined): Promise<ReadonlyMap<string, HsmpSocket>> {
    const found = new Map<string, HsmpSocket>();
    for (let index = 0; index < MOST_SOCKETS; index += 1) {
      try {
        await this.send(GET_LIMIT, index, 0, signal);
      } catch (error) {
        if (errorCode(error) === "ENODEV") break;
        // A first socket that does not answer may do so later; another that is there and fails is told as lost.
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
      // Rights may be put right at any moment: one that can only be read is opened anew.
      const descriptor = openSync(path, O_RDWR);
      if (this.#open !== undefined) closeSync(this.#open.descriptor);
      this.#open = { descriptor, mayWrite: true };
    } catch (error) {
      if (!READ_ONLY_CODES.has(errorCode(error))) throw error;
      // Limits can still be read, and the status can say what is missing.
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
  /** It does not change while the driver stays, and asking takes a message. */
  #ceiling: number | undefined;

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
      this.#ceiling ??= (await this.#device.send(GET_CEILING, this.#index, 0, signal)) * 1000;
    } catch {
      return undefined;
    }
    return this.#ceiling;
  }

  async setLimit(microwatts: number, signal?: AbortSignal): Promise<void> {
    await this.#device.send(SET_LIMIT, this.#index, Math.floor(microwatts / 1000), signal);
  }

  async checkWritable(): Promise<void> {
    this.#device.checkWritable();
  }
}
