// A real agent process on a machine of files whose NVIDIA driver hangs: nvmlInit, or every call about a board, never returns.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { crdOf, kinds, labels, type NodeTwin } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually, eventuallyPasses, watchFor } from "../../src/platform/clock/testing/index.ts";
import { EmbeddedApi, type ListeningServer } from "../../src/platform/embedded/index.ts";
import { buildNvmlStub, type NvmlStub } from "../../src/platform/hardware/testing/nvml-stub.ts";
import { KubeClient, resources } from "../../src/platform/kube/index.ts";
import { seededRandom } from "../../src/platform/random/index.ts";
import { createMachineFiles, differences, limitFile, readTree } from "./machine-files.ts";

const shape = { cpus: 4, packages: 2, gpus: 0 };
const NODE = "worker";
/** Turns limits of 30 s into an hour, so that a test does not depend on how fast the agent starts. */
const PATIENT_WITH_NVML = `--import=data:text/javascript,${encodeURIComponent(`
  const usual = globalThis.setTimeout;
  globalThis.setTimeout = (act, ms, ...more) => usual(act, ms > 29_000 && ms <= 30_000 ? 3_600_000 : ms, ...more);`)}`;

const scratch = mkdtempSync(join(tmpdir(), "joulie-hung-driver-"));
const children = new Set<ChildProcess>();
let stub: NvmlStub;
let api: EmbeddedApi;
let listening: ListeningServer;
let client: KubeClient;

beforeAll(async () => {
  stub = buildNvmlStub();
  api = new EmbeddedApi({ clock: systemClock, random: seededRandom(1), crds: kinds.map(crdOf) });
  listening = await api.listen({ tls: "self-signed" });
  writeFileSync(join(scratch, "kubeconfig"), listening.kubeconfig(), { mode: 0o600 });
  client = new KubeClient({
    transport: api.transport(),
    clock: systemClock,
    random: seededRandom(2),
    fieldManager: "joulie-operator",
  });
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await api.close();
  stub.remove();
  rmSync(scratch, { recursive: true });
});

/** A machine and its node, with a driver that hangs while the file `hang` exists. */
async function machine(name: string, variable: "STUB_NVML_INIT_HANG" | "STUB_NVML_HANG") {
  const folder = join(scratch, name);
  mkdirSync(folder);
  createMachineFiles(folder, shape);
  const hang = join(folder, "hang");
  writeFileSync(hang, "");
  const node = `${NODE}-${name}`;
  await client.create(resources.nodes, { metadata: { name: node, labels: { [labels.managed]: "true" } } });
  const spec = {
    nodeName: node,
    profile: "eco",
    policy: { name: "static_partition" },
    cpu: { packagePowerCapWatts: 200 },
    gpu: { powerCap: { capWattsPerGpu: 400 } },
  };
  await client.apply(resources.nodeTwins, { name: node }, { spec }, { force: true });
  const env = {
    PATH: "/nowhere",
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    NODE_NAME: node,
    KUBECONFIG: join(scratch, "kubeconfig"),
    METRICS_ADDR: "127.0.0.1:0",
    RECONCILE_INTERVAL: "1s",
    HOST_SYS_ROOT: join(folder, "sys"),
    HOST_PROC_ROOT: join(folder, "proc"),
    STATE_DIR: join(folder, "state"),
    NVML_LIBRARY: stub.library,
    STUB_NVML_BOARDS: "2",
    [variable]: hang,
  };
  const packageWatts = () => Number(readFileSync(join(folder, "sys", limitFile(0)), "utf8")) / 1e6;
  const gpuStatus = async () => {
    const twin = (await client.get(resources.nodeTwins, { name: node })) as unknown as NodeTwin;
    return twin.status?.controlStatus?.gpu;
  };
  return { folder, hang, env, packageWatts, gpuStatus, pristine: readTree(join(folder, "sys")) };
}

function joulie(args: readonly string[], env: NodeJS.ProcessEnv) {
  const main = join(import.meta.dirname, "../../src/main.ts");
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text: Buffer) => (output += text.toString()));
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal, output }));
  return { child, ended, output: () => output };
}

describe.concurrent("an agent whose NVIDIA driver hangs", () => {
  it("AGT-48 caps the CPUs before nvmlInit returns, and on SIGTERM restores them and exits within its grace period", async () => {
    const { folder, env, packageWatts, pristine } = await machine("init", "STUB_NVML_INIT_HANG");
    // An agent that waits for nvmlInit until its limit of 30 s never sets a cap here.
    const { child, ended, output } = joulie(["agent"], { ...env, NODE_OPTIONS: PATIENT_WITH_NVML });
    await eventuallyPasses(() => expect(output()).toContain("serving metrics"));
    await eventuallyPasses(() => expect(packageWatts()).toBe(200));
    child.kill("SIGTERM");
    expect(await ended).toMatchObject({ code: 0, signal: null });
    expect(differences(readTree(join(folder, "sys")), pristine)).toEqual([]);
  });

  it("AGT-48 exits within its grace period when a capped board hangs, and restores the boards that answer", async () => {
    const { folder, hang, env, packageWatts, gpuStatus, pristine } = await machine("board", "STUB_NVML_HANG");
    rmSync(hang);
    const { child, ended } = joulie(["agent"], { ...env, NODE_OPTIONS: PATIENT_WITH_NVML });
    await eventually(async () => (await gpuStatus())?.result === "applied");
    writeFileSync(hang, "");
    const hung = async () => (await gpuStatus())?.message?.includes("has not returned since") === true;
    await eventually(hung);
    // The message stays the same at the next ticks: each change would be a write to the API server.
    const before = await gpuStatus();
    await watchFor(5000);
    expect(await gpuStatus()).toEqual(before);
    expect(packageWatts()).toBe(200);
    child.kill("SIGTERM");
    expect(await ended).toMatchObject({ code: 0, signal: null });
    expect(differences(readTree(join(folder, "sys")), pristine)).toEqual([]);
    // The boards are still capped: the journal keeps their originals for the next start.
    expect(readFileSync(join(folder, "state/originals.json"), "utf8")).toContain("GPU-");
  });

  it("`agent probe` exits, names the hanging call and writes nothing", async () => {
    const { folder, env, pristine } = await machine("probe", "STUB_NVML_INIT_HANG");
    rmSync(join(folder, "state"), { recursive: true });
    const { code, output } = await joulie(["agent", "probe"], env).ended;
    expect(code).toBe(0);
    expect(output).toContain("nvmlInit_v2");
    expect(differences(readTree(join(folder, "sys")), pristine)).toEqual([]);
    expect(existsSync(join(folder, "state"))).toBe(false);
  });
});
