import { existsSync } from "node:fs";
import { join } from "node:path";
import type * as Koffi from "koffi";
import { errorMessageOf } from "../../../core/api/index.ts";
import {
  type NvmlArguments,
  NvmlCode,
  NvmlError,
  type NvmlFunction,
  type NvmlIn,
  type NvmlName,
  type NvmlOut,
  type NvmlResults,
  nvmlFunctions,
  TEXT_BYTES,
} from "./nvml-functions.ts";

/** NVML's functions. Each call runs on its own thread, because the driver may be slow or hang. */
export interface NvmlLibrary {
  call<Name extends NvmlName>(name: Name, ...args: NvmlArguments<Name>): Promise<NvmlResults<Name>>;
  /** Exits the process at once. A normal exit waits for every thread, even for one that hangs in the driver. */
  exit(code: number): void;
}

/**
 * Where hosts have the library. CDI mounts it into the container at the host's path. The image has no linker cache, so the
 * linker does not search the folder of another distribution.
 */
const FOLDERS = ["/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];

/** The files to try in turn. A path is tried alone. */
export const nvmlFiles = (library: string, folders: readonly string[] = FOLDERS): readonly string[] =>
  library.includes("/") ? [library] : [library, ...folders.map((folder) => join(folder, library)).filter(existsSync)];

/**
 * Loads koffi and the library. koffi costs 2 to 9 MB, which a node without the NVIDIA driver does not need. Rejects with a message
 * that says what to install. A function that the library lacks fails only when it is called.
 */
export async function loadNvml(files: readonly string[]): Promise<NvmlLibrary> {
  const koffi = await importKoffi();
  const library = firstOf(koffi, files);
  const ins = { handle: "void *", u32: "uint32_t" } as const satisfies Record<NvmlIn, string>;
  const out = (type: string) => koffi.out(koffi.pointer(type));
  const outs = {
    handle: [out("void *")],
    u32: [out("uint32_t")],
    i32: [out("int")],
    u64: [out("uint64_t")],
    text: [out("char"), "uint32_t"],
  } as const satisfies Record<NvmlOut, unknown>;
  const bind = ({ symbol, takes, gives }: NvmlFunction): Bound | undefined => {
    try {
      return library.func(symbol, "int", [...takes.map((type) => ins[type]), ...gives.flatMap((type) => outs[type])]);
    } catch {
      return undefined;
    }
  };
  const bound = new Map(Object.entries(nvmlFunctions).map(([name, made]) => [name, bind(made)]));
  return {
    async call(name, ...args) {
      const made: NvmlFunction = nvmlFunctions[name];
      const callee = bound.get(name);
      if (callee === undefined) throw new NvmlError(made.symbol, NvmlCode.functionNotFound);
      const boxes = made.gives.map((type) => [type === "text" ? "\0".repeat(TEXT_BYTES) : null]);
      const results = boxes.flatMap((box, place) => (made.gives[place] === "text" ? [box, TEXT_BYTES] : [box]));
      const code = await new Promise<number>((resolve, reject) => {
        callee.async(...args, ...results, (error: unknown, result: number) =>
          // koffi passes an error or a result, never both.
          error instanceof Error ? reject(error) : resolve(result),
        );
      });
      if (code !== NvmlCode.ok) throw new NvmlError(made.symbol, code);
      // koffi returns 64-bit values as bigint only beyond 2^53.
      const values: unknown[] = boxes.map(([value], place) => (made.gives[place] === "u64" ? Number(value) : value));
      return values as NvmlResults<typeof name>;
    },
    exit: (code) => {
      koffi.load("libc.so.6").func("_exit", "void", ["int"])(code);
    },
  };
}

type Bound = ReturnType<Koffi.LibraryHandle["func"]>;

async function importKoffi(): Promise<typeof Koffi> {
  try {
    return await import("koffi");
  } catch (error) {
    throw new Error("NVML needs the npm package koffi, which is not installed: npm install koffi", {
      cause: error,
    });
  }
}

function firstOf(koffi: typeof Koffi, files: readonly string[]): Koffi.LibraryHandle {
  let cause: unknown;
  for (const file of files) {
    try {
      return koffi.load(file);
    } catch (error) {
      cause = error;
    }
  }
  const reason = errorMessageOf(cause);
  throw new Error(
    `cannot load the NVML library ${files.join(" or ")} (${reason}): install the NVIDIA driver, and in a container the NVIDIA container toolkit with the capability "utility", or set NVML_LIBRARY`,
    { cause },
  );
}
