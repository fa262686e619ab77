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
