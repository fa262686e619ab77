/** C types of parameters, and of results that NVML returns through pointers. A text is a pointer and its buffer length. */
export type NvmlIn = "handle" | "u32";
export type NvmlOut = "handle" | "u32" | "i32" | "u64" | "text";

export interface NvmlFunction {
  readonly symbol: string;
  readonly takes: readonly NvmlIn[];
  readonly gives: readonly NvmlOut[];
  /** Wakes the driver or a board, which takes seconds while persistence mode is off. */
  readonly wakes?: true;
}

/** NVML limits names and UUIDs to 96 bytes including the terminator. */
export const TEXT_BYTES = 96;

/** The NVML functions in use. All return an int and take their arguments before the result pointers. Power is in mW. */
export const nvmlFunctions = {
  init: { symbol: "nvmlInit_v2", takes: [], gives: [], wakes: true },
  shutdown: { symbol: "nvmlShutdown", takes: [], gives: [] },
  count: { symbol: "nvmlDeviceGetCount_v2", takes: [], gives: ["u32"] },
  handle: { symbol: "nvmlDeviceGetHandleByIndex_v2", takes: ["u32"], gives: ["handle"], wakes: true },
  uuid: { symbol: "nvmlDeviceGetUUID", takes: ["handle"], gives: ["text"] },
  name: { symbol: "nvmlDeviceGetName", takes: ["handle"], gives: ["text"] },
  /** The mean of the last second on most boards since Ampere, an instantaneous value on older ones. */
  powerUsage: { symbol: "nvmlDeviceGetPowerUsage", takes: ["handle"], gives: ["u32"] },
  /** In mJ since the driver was loaded; Volta and newer. */
  totalEnergy: { symbol: "nvmlDeviceGetTotalEnergyConsumption", takes: ["handle"], gives: ["u64"] },
  limit: { symbol: "nvmlDeviceGetPowerManagementLimit", takes: ["handle"], gives: ["u32"] },
  defaultLimit: { symbol: "nvmlDeviceGetPowerManagementDefaultLimit", takes: ["handle"], gives: ["u32"] },
  /** The lowest of the limits set by VBIOS, host and BMC. */
  enforcedLimit: { symbol: "nvmlDeviceGetEnforcedPowerLimit", takes: ["handle"], gives: ["u32"] },
  constraints: { symbol: "nvmlDeviceGetPowerManagementLimitConstraints", takes: ["handle"], gives: ["u32", "u32"] },
  setLimit: { symbol: "nvmlDeviceSetPowerManagementLimit", takes: ["handle", "u32"], gives: [] },
  /** The current mode, and the mode after the next reset. */
  migMode: { symbol: "nvmlDeviceGetMigMode", takes: ["handle"], gives: ["u32", "u32"] },
  persistenceMode: { symbol: "nvmlDeviceGetPersistenceMode", takes: ["handle"], gives: ["i32"] },
} as const satisfies Readonly<Record<string, NvmlFunction>>;

export type NvmlName = keyof typeof nvmlFunctions;

/** NVML's handle of a board, valid until the driver is reloaded. */
export type NvmlHandle = bigint;

interface Values {
  readonly handle: NvmlHandle;
  readonly u32: number;
  readonly i32: number;
  readonly u64: number;
  readonly text: string;
}

type ValuesOf<Types extends readonly (keyof Values)[]> = { -readonly [Place in keyof Types]: Values[Types[Place]] };

export type NvmlArguments<Name extends NvmlName> = ValuesOf<(typeof nvmlFunctions)[Name]["takes"]>;
export type NvmlResults<Name extends NvmlName> = ValuesOf<(typeof nvmlFunctions)[Name]["gives"]>;

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
