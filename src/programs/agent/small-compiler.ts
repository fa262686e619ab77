import { setFlagsFromString } from "node:v8";

/**
 * undici reads answers with WebAssembly. After some hundred of them V8 compiles the reader anew with its optimising compiler,
 * which takes 23 MiB meanwhile and leaves most of that behind as gaps in the C library's heap. One node's agent reads a few
 * answers a minute: what the first compiler made is good enough. Has to come before the first answer.
 */
export function keepFirstCompilation(): void {
  setFlagsFromString("--wasm-tiering-budget=2000000000");
}
