import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import koffi from "koffi";

/** The compiled NVML stub (nvml-stub.c), with functions to change its boards. Board -1 is the driver. */
export interface NvmlStub {
  readonly library: string;
  set(board: number, key: string, value: number): void;
  get(board: number, key: string): number;
  /** Simulates a driver reload. */
  reload(): void;
  reset(boards: number): void;
  remove(): void;
}

const COMPILER = "cc";
const source = join(import.meta.dirname, "nvml-stub.c");

export function buildNvmlStub(...defines: readonly string[]): NvmlStub {
  const folder = mkdtempSync(join(tmpdir(), "joulie-nvml-"));
  const library = join(folder, "libnvidia-ml.so.1");
  const args = ["-shared", "-fPIC", "-Wall", "-o", library, source, ...defines.map((name) => `-D${name}`)];
  const { error, status, stderr } = spawnSync(COMPILER, args, { encoding: "utf8" });
  if (error !== undefined) throw new Error(`no C compiler (${error.message}): apt-get install gcc libc6-dev`);
  if (status !== 0) throw new Error(`the NVML stub does not compile: ${stderr}`);
  const loaded = koffi.load(library);
  const set = loaded.func("stub_set", "void", ["int", "str", "int64_t"]);
  const get = loaded.func("stub_get", "int64_t", ["int", "str"]);
  const reset = loaded.func("stub_reset", "void", ["int"]);
  const reload = loaded.func("stub_reload", "void", []);
  return {
    library,
    set: (board, key, value) => void set(board, key, value),
    get: (board, key) => Number(get(board, key)),
    reload: () => void reload(),
    reset: (boards) => void reset(boards),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

export const uuidOf = (board: number): string => `GPU-8f1c2d3e-0000-4000-8000-00000000000${board}`;
