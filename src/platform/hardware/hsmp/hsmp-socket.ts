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
