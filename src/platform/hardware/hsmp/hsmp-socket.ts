/** The power limit of one EPYC socket, in microwatts. Reading and writing reject with what the kernel answers. */
export interface HsmpSocket {
  limit(signal?: AbortSignal): Promise<number>;
  /** What the firmware says is the most; undefined where it says nothing. */
  maxLimit(signal?: AbortSignal): Promise<number | undefined>;
  setLimit(microwatts: number, signal?: AbortSignal): Promise<void>;
  /** Rejects with what a write would be refused with, as far as that shows without one. */
  checkWritable(): Promise<void>;
}

/** A way to the sockets: the kernel's files, or its device. */
export interface HsmpSocketSource {
  /** By package; empty where this way is not there. */
  all(signal?: AbortSignal): Promise<ReadonlyMap<string, HsmpSocket>>;
}
