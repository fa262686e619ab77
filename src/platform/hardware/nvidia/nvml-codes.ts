/** What NVML's return codes mean to a person, and what to do about them. */
const meanings: Readonly<Record<number, string>> = {
  1: "NVML is not initialised",
  2: "an argument is not valid",
  3: "this board does not support it",
  4: "no permission: setting limits needs root and CAP_SYS_ADMIN",
  6: "the GPU was not found",
  7: "the buffer is too small",
  9: "NVIDIA's driver is not loaded: load it (modprobe nvidia) or install it",
  10: "the driver gave up waiting for the GPU",
  12: "a library of NVIDIA's driver was not found: install the driver's libraries of the same version",
  13: "this version of NVIDIA's driver does not know this call",
  15: "the GPU is lost: it fell off the bus, and a reboot or a power cycle brings it back",
  16: "the GPU needs a reset (nvidia-smi --gpu-reset, or a reboot)",
  18: "NVIDIA's library and the loaded driver are of different versions: reboot, or restart the agent's pod after a driver update",
  19: "the GPU is in use",
  27: "the GPU is not ready yet",
  28: "the GPU was not found",
  999: "the driver reports an unknown error: see the kernel's log for NVRM or Xid lines",
};

export const NvmlCode = {
  ok: 0,
  uninitialized: 1,
  invalidArgument: 2,
  notSupported: 3,
  noPermission: 4,
  notFound: 6,
  driverNotLoaded: 9,
  functionNotFound: 13,
  gpuNotFound: 28,
} as const;

/** A call that NVML refused, or that its library does not have. */
export class NvmlError extends Error {
  readonly code: number;

  constructor(symbol: string, code: number) {
    super(`${symbol}: ${meanings[code] ?? "an error that is not documented"} (NVML ${code})`);
    this.code = code;
  }
}

const coded =
  (codes: readonly number[]) =>
  (error: unknown): boolean =>
    error instanceof NvmlError && codes.includes(error.code);

/** The feature is missing on this board or in this driver: nothing is broken. */
export const isMissingFeature = coded([NvmlCode.notSupported, NvmlCode.functionNotFound]);

/** The driver went away and perhaps came back: what was got from it before is worth nothing. */
export const isStaleSession = coded([
  NvmlCode.uninitialized,
  NvmlCode.notFound,
  NvmlCode.driverNotLoaded,
  NvmlCode.gpuNotFound,
]);
