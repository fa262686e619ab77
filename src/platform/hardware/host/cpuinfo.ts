/** The fields of /proc/cpuinfo for the online CPUs. Every field may be missing; ARM has no model name, for example. */
export interface CpuInfo {
  readonly model?: string;
  /** Lower case: `intel`, `amd`, `arm`. */
  readonly vendor?: string;
  readonly isVirtual: boolean;
  readonly logicalCpus: number;
  /** Counted from /proc/cpuinfo, for machines whose sysfs has no topology. */
  readonly sockets?: number;
  readonly cores?: number;
}

const VENDORS: Readonly<Record<string, string>> = {
  GenuineIntel: "intel",
  AuthenticAMD: "amd",
  HygonGenuine: "hygon",
};

/** The designer and the name of an ARM core. Server vendors license cores, so this says less than a model name. */
const ARM_IMPLEMENTERS: Readonly<Record<string, string>> = { "0x41": "arm", "0x4e": "nvidia", "0xc0": "ampere" };
const ARM_PARTS: Readonly<Record<string, string>> = {
  "0x41 0xd0c": "Neoverse N1",
  "0x41 0xd40": "Neoverse V1",
  "0x41 0xd49": "Neoverse N2",
  "0x41 0xd4f": "Neoverse V2",
  "0xc0 0xac3": "AmpereOne",
  "0xc0 0xac4": "AmpereOne A",
};

/** Further processors in the file are ignored. */
const MAX_PROCESSORS = 65_536;

export function parseCpuinfo(text: string): CpuInfo {
  const processors = text
    .split(/\n\s*\n/, MAX_PROCESSORS)
    .map(fieldsOf)
    .filter((fields) => fields.has("processor"));
  const [first = new Map<string, string>()] = processors;
  const arm = armCore(first);
  const model = first.get("model name") ?? arm?.name;
  const vendorId = first.get("vendor_id");
  const vendor = vendorId === undefined ? arm?.vendor : (VENDORS[vendorId] ?? vendorId.toLowerCase());
  const sockets = distinct(processors, (fields) => fields.get("physical id"));
  const cores = distinct(processors, (fields) => {
    const [socket, core] = [fields.get("physical id"), fields.get("core id")];
    return socket === undefined || core === undefined ? undefined : `${socket} ${core}`;
  });
  return {
    ...(model === undefined || model.trim() === "" ? {} : { model: model.trim() }),
    ...(vendor === undefined ? {} : { vendor }),
    isVirtual: first.get("flags")?.split(" ").includes("hypervisor") ?? false,
    logicalCpus: processors.length,
    ...(sockets === 0 ? {} : { sockets }),
    ...(cores === 0 ? {} : { cores }),
  };
}

function fieldsOf(block: string): ReadonlyMap<string, string> {
  return new Map(
    block.split("\n").flatMap((line) => {
      const colon = line.indexOf(":");
      return colon < 0 ? [] : [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()] as const];
    }),
  );
}

function armCore(fields: ReadonlyMap<string, string>): { readonly name: string; readonly vendor?: string } | undefined {
  const implementer = fields.get("CPU implementer");
  const part = fields.get("CPU part");
  if (implementer === undefined || part === undefined) return undefined;
  const vendor = ARM_IMPLEMENTERS[implementer];
  const name = ARM_PARTS[`${implementer} ${part}`] ?? `${implementer} ${part}`;
  return vendor === undefined ? { name } : { name, vendor };
}

const distinct = (
  processors: readonly ReadonlyMap<string, string>[],
  key: (fields: ReadonlyMap<string, string>) => string | undefined,
): number => new Set(processors.map(key).filter((value) => value !== undefined)).size;
