/** NVML return codes with their meaning and remedy. */
const meanings: Readonly<Record<number, string>> = {
  1: "NVML is not initialised",
  2: "invalid argument",
  3: "not supported by this board",
  4: "no permission: setting limits requires root and CAP_SYS_ADMIN",
  6: "the GPU was not found",
  7: "the buffer is too small",
  9: "the NVIDIA driver is not loaded: load it (modprobe nvidia) or install it",
  10: "the driver timed out waiting for the GPU",
  12: "a library of the NVIDIA driver was not found: install the driver libraries of the same version",
  13: "this version of the NVIDIA driver does not have this function",
  15: "the GPU is lost: it fell off the bus; reboot or power-cycle the node",
  16: "the GPU needs a reset (nvidia-smi --gpu-reset, or a reboot)",
  18: "the NVIDIA library and the loaded driver have different versions: reboot, or restart the agent's pod after a driver update",
  19: "the GPU is in use",
  27: "the GPU is not ready yet",
  28: "the GPU was not found",
  999: "the driver reports an unknown error: look for NVRM or Xid lines in the kernel log",
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

/** An NVML call that failed, or that the library does not have. */
export class NvmlError extends Error {
  readonly code: number;

  constructor(symbol: string, code: number) {
    super(`${symbol}: ${meanings[code] ?? "undocumented error"} (NVML ${code})`);
    this.code = code;
  }
}

const hasCode =
  (codes: readonly number[]) =>
  (error: unknown): boolean =>
    error instanceof NvmlError && codes.includes(error.code);

/** This board or driver does not support the feature. */
export const isMissingFeature = hasCode([NvmlCode.notSupported, NvmlCode.functionNotFound]);

/** The driver was unloaded or reloaded: handles from before are invalid. */
export const isStaleSession = hasCode([
  NvmlCode.uninitialized,
  NvmlCode.notFound,
  NvmlCode.driverNotLoaded,
  NvmlCode.gpuNotFound,
]);
