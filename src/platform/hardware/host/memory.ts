import type { HostFiles } from "../port.ts";
import { textAt } from "./host-values.ts";

/** The memory that the kernel manages, in bytes: slightly less than the installed memory. */
export function readMemoryBytes(proc: HostFiles): number | undefined {
  const kibibytes = /^MemTotal:\s+(\d{1,15}) kB$/m.exec(textAt(proc, "meminfo") ?? "")?.[1];
  const bytes = kibibytes === undefined ? 0 : Number(kibibytes) * 1024;
  return bytes > 0 && Number.isSafeInteger(bytes) ? bytes : undefined;
}
