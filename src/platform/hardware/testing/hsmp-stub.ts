import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import koffi from "koffi";

/** The compiled HSMP driver stub (hsmp-stub.c), with functions to change its sockets. Socket -1 is the driver. */
export interface HsmpStub {
  readonly library: string;
  /** An empty file in place of /dev/hsmp. */
  readonly device: string;
  set(socket: number, key: string, value: number): void;
  get(socket: number, key: string): number;
  reset(sockets: number): void;
  remove(): void;
}

const COMPILER = "cc";
const source = join(import.meta.dirname, "hsmp-stub.c");

export function buildHsmpStub(): HsmpStub {
  const folder = mkdtempSync(join(tmpdir(), "joulie-hsmp-"));
  const library = join(folder, "libstub.so");
  const device = join(folder, "hsmp");
  const { error, status, stderr } = spawnSync(COMPILER, ["-shared", "-fPIC", "-Wall", "-o", library, source], {
    encoding: "utf8",
  });
  if (error !== undefined) throw new Error(`no C compiler (${error.message}): apt-get install gcc libc6-dev`);
  if (status !== 0) throw new Error(`the HSMP stub does not compile: ${stderr}`);
  writeFileSync(device, "");
  const loaded = koffi.load(library);
  const set = loaded.func("stub_set", "void", ["int", "str", "int64_t"]);
  const get = loaded.func("stub_get", "int64_t", ["int", "str"]);
  const reset = loaded.func("stub_reset", "void", ["int"]);
  return {
    library,
    device,
    set: (socket, key, value) => void set(socket, key, value),
    get: (socket, key) => Number(get(socket, key)),
    reset: (sockets) => {
      writeFileSync(device, "");
      reset(sockets);
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}
