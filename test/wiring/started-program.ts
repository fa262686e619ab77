// Runs `joulie …` as a process, for variables that a program reads before a test can inject anything.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crdOf, kinds } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import type { EveryProgram, RawValues } from "../../src/platform/config/index.ts";
import { FaultyApi } from "../../src/platform/embedded/testing/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import type { Row } from "./variable-table.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");
/** NODE_OPTIONS and JOULIE_MUTANT bring a mutant into the process (scripts/mutation/apply.ts). */
const inherited = ["PATH", "HOME", "NODE_COMPILE_CACHE", "NODE_OPTIONS", "JOULIE_MUTANT", "JOULIE_TEST_RUN"];

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `joulie ARGS` until it exits; sends SIGTERM once `until` holds. */
export async function runJoulie(
  args: readonly string[],
  variables: RawValues = {},
  until: (output: string) => boolean = () => false,
): Promise<Ended> {
  const env = { ...Object.fromEntries(inherited.map((name) => [name, process.env[name]])), ...variables };
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  const stop = { asked: false };
  // Sent once: a second signal would force an immediate exit.
  const look = (): void => {
    if (stop.asked || !until(stdout + stderr)) return;
    stop.asked = true;
    child.kill("SIGTERM");
  };
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
    look();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
    look();
  });
  // Polls, because some conditions become true without a line of output.
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const looking = eventually(() => {
    look();
    return stop.asked || hasEnded();
  });
  void looking.then(async () => eventually(hasEnded)).catch(() => child.kill("SIGKILL"));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      resolve({ code, stdout, stderr });
    });
  });
}

interface Plane {
  readonly api: FaultyApi;
  readonly kubeconfig: string;
  readonly folder: string;
}

/** Serves an API over HTTP with a folder for the test's files; `use` receives the path of its kubeconfig. */
export async function withApi<Result>(use: (plane: Plane) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "joulie-wiring-"));
  const api = new FaultyApi({ clock: systemClock, random: systemRandom, crds: kinds.map(crdOf) });
  try {
    const kubeconfig = join(folder, "kubeconfig");
    await writeFile(kubeconfig, (await api.listen()).kubeconfig());
    return await use({ api, kubeconfig, folder });
  } finally {
    await api.close();
    await rm(folder, { recursive: true, force: true });
  }
}

type LogLine = Readonly<Record<string, unknown>>;

/** The rows of the variables that all programs share. */
export function everyProgramRows(program: string, variables: RawValues = {}) {
  const loopback = { METRICS_ADDR: "127.0.0.1:0", EXTENDER_ADDR: "127.0.0.1:0", SIMULATOR_ADDR: "127.0.0.1:0" };
  const env = { ...loopback, ...variables };
  const known = new Map<string, Promise<string>>();
  /** The log lines before the first request to the API. */
  const firstWords = async (more: RawValues): Promise<string> => {
    const key = JSON.stringify(more);
    const run = known.get(key) ?? withApi(async (plane) => (await untilAsked(plane, { ...env, ...more })).stdout);
    known.set(key, run);
    return (await run).trim().split("\n")[0] ?? "";
  };
  const untilAsked = async (
    { api, kubeconfig, folder }: Plane,
    own: RawValues,
  ): Promise<Ended & { asked: boolean }> => {
    let asked = false;
    api.faults.add({ fault: { kind: "refused" }, when: () => !(asked = true) });
    return {
      ...(await runJoulie([program], { KUBECONFIG: kubeconfig, STATE_DIR: folder, ...own }, () => asked)),
      asked,
    };
  };
  const isJson = async (more: RawValues): Promise<boolean> => (await firstWords(more)).startsWith("{");
  const isSaid = async (more: RawValues): Promise<boolean> => (await firstWords(more)) !== "";
  const pod = async (more: RawValues): Promise<unknown> => (JSON.parse(await firstWords(more)) as LogLine)["pod"];
  const reached = async ({ KUBECONFIG }: RawValues): Promise<boolean> =>
    withApi(async (plane) => (await untilAsked(plane, KUBECONFIG === undefined ? { ...env, KUBECONFIG } : env)).asked);
  /** The result of a kubeconfig that would send its token to a remote server over http. */
  const insecure = async (more: RawValues): Promise<string> =>
    withApi(async ({ folder }) => {
      const [name, server] = ["elsewhere", "http://cluster.invalid"];
      const clusters = [{ name, cluster: { server } }];
      const users = [{ name, user: { token: "s3cret" } }];
      const contexts = [{ name, context: { cluster: name, user: name } }];
      const file = join(folder, "insecure");
      await writeFile(file, JSON.stringify({ "current-context": name, clusters, users, contexts }));
      const isServing = (output: string) => output.includes('"url":');
      const { stdout, stderr } = await runJoulie(
        [program],
        { ...env, STATE_DIR: folder, ...more, KUBECONFIG: file },
        isServing,
      );
      const said = stdout + stderr;
      return isServing(said) ? "starts" : /ALLOW_INSECURE_TOKEN/.test(said) ? "refused" : said;
    });
  return {
    ALLOW_INSECURE_TOKEN: { value: "true", observe: insecure, byDefault: "refused", changed: "starts" },
    LOG_LEVEL: { value: "silent", observe: isSaid, byDefault: true, changed: false },
    LOG_FORMAT: { value: "pretty", observe: isJson, byDefault: true, changed: false },
    KUBECONFIG: { value: "the API's own", observe: reached, byDefault: false, changed: true },
    POD_NAME: { value: "joulie-7", observe: pod, byDefault: undefined, changed: "joulie-system/joulie-7" },
    POD_NAMESPACE: {
      value: "power",
      beside: { POD_NAME: "joulie-7" },
      observe: pod,
      byDefault: "joulie-system/joulie-7",
      changed: "power/joulie-7",
    },
  } satisfies Record<keyof EveryProgram, Row>;
}
