import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildNvmlStub, type NvmlStub } from "../testing/nvml-stub.ts";

let stub: NvmlStub;
let state: string;
beforeAll(() => {
  stub = buildNvmlStub();
  state = mkdtempSync(join(tmpdir(), "joulie-state-"));
});
afterAll(() => {
  stub.remove();
  rmSync(state, { recursive: true });
});

/** Runs code in a subprocess with an NvmlBackend `nvml`, a function `gpus` that finds all GPUs, and the stub's `set`. */
async function run(lines: string, env: NodeJS.ProcessEnv = {}, withStub = true) {
  const here = JSON.stringify(import.meta.dirname);
  const stubLines = `
    const { default: koffi } = await import(${JSON.stringify(import.meta.resolve("koffi"))});
    const stub = koffi.load(library);
    stub.func("stub_reset", "void", ["int"])(2);
    const set = stub.func("stub_set", "void", ["int", "str", "int64_t"]);
    const get = stub.func("stub_get", "int64_t", ["int", "str"]);
    const { eventually } = await import(${here} + "/../../clock/testing/index.ts");
    const callHangs = async () => eventually(() => Number(get(-1, "hanging")) === 1);`;
  const script = `
    const { NvmlBackend } = await import(${here} + "/nvml-backend.ts");
    const { systemClock } = await import(${here} + "/../../clock/index.ts");
    const { findGpuBackend } = await import(${here} + "/../gpu/gpu-backends.ts");
    const { FakeHost } = await import(${here} + "/../testing/fake-host.ts");
    const gpus = (library, boot = "1") => findGpuBackend({
      sys: new FakeHost({ files: {} }),
      proc: new FakeHost({ files: { "sys/kernel/random/boot_id": boot } }, "/proc"),
      clock: systemClock, nvmlLibrary: library, stateDir: ${JSON.stringify(state)}, mayWrite: true,
    });
    const library = ${JSON.stringify(stub.library)};
    const nvml = new NvmlBackend({ library, clock: systemClock });
    ${withStub ? stubLines : ""}
    ${lines}`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: join(import.meta.dirname, "../../../.."),
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
  it("exits with its exit code although a driver call never returns", async () => {
    const { code, output } = await run(`
      await nvml.discover();
      set(0, "hang", 1);
      const stop = new AbortController();
      const looking = nvml.discover(stop.signal);
      await callHangs();
      stop.abort();
      await looking;
      process.on("exit", () => console.log("earlier handlers ran"));
      await nvml.close();
      process.exit(7);`);
    expect({ code, output }).toEqual({ code: 7, output: "earlier handlers ran\n" });
  });

  it("quirk 11: disables NVML after it crashed twice, and tries it again after a reboot", async () => {
    const look = "console.log((await gpus(library)).name, (await gpus(library).discover()).absent);";
    const crash = { STUB_NVML_CRASH: "1", PATH: "/nowhere" };
    expect(await run(look, crash)).toMatchObject({ signal: "SIGSEGV" });
    expect(await run(look, crash)).toMatchObject({ signal: "SIGSEGV" });
    const third = await run(look, crash);
    expect(third).toMatchObject({ code: 0, output: expect.stringContaining("starting it did not finish 2 times") });
    expect(
      await run('console.log((await gpus(library, "2").discover()).boards.length); process.exit(0)'),
    ).toMatchObject({
      output: "2\n",
    });
    // This attempt finished, so the record is gone.
    expect(await run("console.log((await gpus(library).discover()).boards.length); process.exit(0)")).toMatchObject({
      output: "2\n",
    });
  });

  it("tries NVML again after slow starts that were killed, because NVML did not crash", async () => {
    const look = (then: string) => `const looking = gpus(library, "slow").discover(); ${then}`;
    const killed = look(`set(-1, "inithang", 1); await callHangs(); process.kill(process.pid, "SIGKILL");`);
    for (let start = 0; start < 3; start++) expect(await run(killed)).toMatchObject({ signal: "SIGKILL" });
    const later = look("console.log((await looking).boards?.length ?? (await looking).absent); process.exit(0);");
    expect(await run(later, { STUB_NVML_BOARDS: "2" })).toMatchObject({ output: "2\n" });
  });

  it("writes no record if it may not", async () => {
    const lines = `
      const where = ${JSON.stringify(join(state, "untouched"))};
      const backend = findGpuBackend({
        sys: new FakeHost({ files: {} }), proc: new FakeHost({ files: {} }, "/proc"), clock: systemClock,
        nvmlLibrary: library, stateDir: where, mayWrite: false,
      });
      set(-1, "inithang", 1);
      void backend.discover();
      await callHangs();
      console.log((await import("node:fs")).existsSync(where));
      process.exit(0);`;
    expect(await run(lines)).toMatchObject({ code: 0, output: "false\n" });
  });

  it("exits at once with its exit code while a call is running", async () => {
    const lines = `set(-1, "inithang", 1); void nvml.discover(); await callHangs(); process.exit(143);`;
    expect(await run(lines)).toMatchObject({ code: 143, signal: null });
  });

  it("does not load koffi without a sign of NVIDIA", async () => {
    const { output } = await run(
      `console.log((await gpus("libnvidia-ml.so.1").discover()).absent);
       console.log(process.report.getReport().sharedObjects.filter((file) => file.includes("koffi")).length);`,
      {},
      false,
    );
    expect(output).toMatch(/no NVIDIA GPU .*\n0\n$/s);
  });

  it("exits by itself after NVML is closed", async () => {
    const { code, output } = await run("console.log((await nvml.discover()).boards.length); await nvml.close();");
    expect({ code, output }).toEqual({ code: 0, output: "2\n" });
  });
});
