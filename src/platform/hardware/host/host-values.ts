import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { HostFiles } from "../port.ts";

/** The whole number in a file; undefined if the file cannot be read or holds something else, such as `<unknown>`. */
export function numberAt(files: HostFiles, path: string): number | undefined {
  const text = hostFileText(files, path);
  return text === undefined ? undefined : wholeNumber(text);
}

/** The text of a file; undefined if it cannot be read. */
export function hostFileText(files: HostFiles, path: string): string | undefined {
  try {
    return files.read(path);
  } catch {
    return undefined;
  }
}

/** Parses a plain decimal integer, the only number format in kernel files. */
export function wholeNumber(text: string): number | undefined {
  const trimmed = text.trim();
  const value = /^\d{1,16}$/.test(trimmed) ? Number(trimmed) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Names in a folder; empty if it cannot be listed. */
export function namesIn(files: HostFiles, path: string): readonly string[] {
  try {
    return files.list(path);
  } catch {
    return [];
  }
}

/** The resolved path; undefined if its links leave the root or form a loop. */
export function realPath(files: HostFiles, path: string): string | undefined {
  try {
    return files.real(path);
  } catch {
    return undefined;
  }
}

/** The kernel applies some writes in a work queue: a written value may take this long to appear. */
const TIMEOUT = milliseconds(100);
const INTERVAL = milliseconds(10);

/** Reads until the value matches, at most for a tenth of a second. Throws the reader's error or the signal's reason. */
export async function readBack<Value>(
  clock: Clock,
  read: () => Value | Promise<Value>,
  matches: (value: Value) => boolean,
  signal?: AbortSignal,
): Promise<Value> {
  const deadline = clock.monotonic() + TIMEOUT;
  let value = await read();
  while (!matches(value) && clock.monotonic() < deadline) {
    await clock.sleep(INTERVAL, signal);
    value = await read();
  }
  return value;
}

/** The resolved hwmon folders of the driver with this name. Their numbers change from boot to boot. */
export function hwmonsNamed(files: HostFiles, name: string): readonly string[] {
  const found = namesIn(files, "class/hwmon")
    .filter((folder) => hostFileText(files, `class/hwmon/${folder}/name`)?.trim() === name)
    .map((folder) => realPath(files, `class/hwmon/${folder}`))
    .filter((path) => path !== undefined);
  return [...new Set(found)].toSorted();
}
