import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildNvmlStub, type NvmlStub } from "./nvml-stub.ts";

let stub: NvmlStub;
beforeAll(() => {
  stub = buildNvmlStub();
});
afterAll(() => stub.remove());

/** Runs a few lines in a process of its own, with an Nvml in it and the stub's `reset` and `set`. */
async function run(lines: string, env: NodeJS.ProcessEnv = {}) {
  const here = JSON.stringify(import.meta.dirname);
  const script = `
    import koffi from ${JSON.stringify(import.meta.resolve("koffi"))};
    const { Nvml } = await import(${here} + "/nvml.ts");
    const { systemClock } = await import(${here} + "/../clock/index.ts");
    const stub = koffi.load(${JSON.stringify(stub.library)});
    const reset = stub.func("stub_reset", "void", ["int"]);
    const set = stub.func("stub_set", "void", ["int", "str", "int64_t"]);
    reset(2);
    const nvml = new Nvml({ library: ${JSON.stringify(stub.library)}, clock: systemClock });
    ${lines}`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: join(import.meta.dirname, "../../.."),
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const [code, signal] = await once(child, "close");
  return { code, signal, output };
}

describe("a process with NVML in it", () => {
  it("ends when told to, with its exit code, although a call into the driver never returns", async () => {
    const { code, output } = await run(`
      await nvml.look();
      set(0, "hang", 1);
      const stop = new AbortController();
      const looking = nvml.look(stop.signal);
      await systemClock.sleep(50);
      stop.abort();
      await looking;
      process.on("exit", () => console.log("earlier handlers ran"));
      await nvml.close();
      process.exit(7);`);
    expect({ code, output }).toEqual({ code: 7, output: "earlier handlers ran\n" });
  });

  it("ends by itself once NVML is closed", async () => {
    const { code, output } = await run("console.log((await nvml.look()).boards.length); await nvml.close();");
    expect({ code, output }).toEqual({ code: 0, output: "2\n" });
  });
});
