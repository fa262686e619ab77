import type { HostFiles } from "../port.ts";

/** The whole number a file holds; undefined where it cannot be read or says something else, such as `<unknown>`. */
export function numberAt(files: HostFiles, path: string): number | undefined {
  const text = textAt(files, path);
  return text === undefined ? undefined : wholeNumber(text);
}

/** The text of a file; undefined where it cannot be read. */
export function textAt(files: HostFiles, path: string): string | undefined {
  try {
    return files.read(path);
  } catch {
    return undefined;
  }
}

/** Kernel files hold plain decimal integers; whatever else stands there is no number to reckon with. */
export function wholeNumber(text: string): number | undefined {
  const trimmed = text.trim();
  const value = /^\d{1,16}$/.test(trimmed) ? Number(trimmed) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Names in a folder; none where it cannot be listed. */
export function namesIn(files: HostFiles, path: string): readonly string[] {
  try {
    return files.list(path);
  } catch {
    return [];
  }
}

/** Where a path leads; undefined where it leads out of the root or round in circles. */
export function realPath(files: HostFiles, path: string): string | undefined {
  try {
    return files.real(path);
  } catch {
    return undefined;
  }
}
