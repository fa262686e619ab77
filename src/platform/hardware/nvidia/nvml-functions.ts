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
