import { textAt } from "./host-values.ts";
import type { HostFiles } from "../port.ts";

/** All memory the kernel manages, in bytes: a little less than is installed. */
export function memoryBytes(proc: HostFiles): number | undefined {
  const kibibytes = /^MemTotal:\s+(\d{1,15}) kB$/m.exec(textAt(proc, "meminfo") ?? "")?.[1];
  const bytes = kibibytes === undefined ? 0 : Number(kibibytes) * 1024;
  return bytes > 0 && Number.isSafeInteger(bytes) ? bytes : undefined;
}
