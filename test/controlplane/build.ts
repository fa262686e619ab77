// Builds the control plane for tests on first use and caches it outside the checkout: one binary per hash of its sources.
import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { isGone, ownerMark } from "./owner.ts";

export { isAlive } from "./owner.ts";

export type ControlPlaneBinary =
  | { readonly available: true; readonly path: string; readonly version: string; readonly built: boolean }
  | { readonly available: false; readonly reason: string };

/** The folder of the Go module. */
export const sources = import.meta.dirname;
/** The compiler then collects less garbage, which saves a fifth of its processor time. */
export const compilerEnvironment = { GOGC: "400" };
/** A builder that holds the lock longer than this counts as dead. */
const patienceMs = 60 * 60_000;
const PROGRESS_EVERY_MS = 10_000;
/** Where a builder says how far it is, for the processes that wait for it. */
const PROGRESS_FILE = "progress";

/** The path of the binary; does not build it. */
export async function locateControlPlane(): Promise<ControlPlaneBinary> {
  let go: string;
  try {
    go = await run("go", ["env", "GOVERSION", "GOOS", "GOARCH"]);
  } catch (error) {
    return {
      available: false,
      reason: `no usable Go on this machine (${messageOf(error)}); install Go from go.dev/dl`,
    };
  }
  // The programs report this version, and clients cannot parse an unset one.
  const version = versionOf("k8s.io/kubernetes");
  const hash = createHash("sha256").update(JSON.stringify([go, buildArguments(version)]));
  for (const [file, content] of moduleFiles()) hash.update(file).update(content);
  const path = join(cacheFolder(), `controlplane-${hash.digest("hex").slice(0, 16)}`, "controlplane");
  return { available: true, path, version, built: existsSync(path) };
}

/** Returns the binary and builds it if it is missing. `say` receives lines before, during and after a build. */
export async function buildControlPlane(
  say: (line: string) => void = (line) => process.stderr.write(`joulie: ${line}\n`),
): Promise<ControlPlaneBinary> {
  const binary = await locateControlPlane();
  if (!binary.available || binary.built) return binary;
  await buildOnce(
    binary.path,
    { what: `etcd and Kubernetes ${binary.version}`, minutes: 6, say },
    async (unfinished, progress) => compile([...buildArguments(binary.version), "-o", unfinished, "."], progress),
  );
  return { ...binary, built: true };
}

/** Where built programs are kept, outside the checkout. */
export const cacheFolder = (): string => join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "joulie");

interface BuildNotice {
  readonly what: string;
  /** About, on 2 cores. */
  readonly minutes: number;
  readonly say: (line: string) => void;
}

/** Builds a file that is not there, in one process at a time; `build` writes it under another name first. */
export async function buildOnce(
  path: string,
  { what, minutes, say }: BuildNotice,
  build: (unfinished: string, progress: (text: string) => void) => Promise<void>,
): Promise<void> {
  if (existsSync(path)) return;
  const folder = join(path, "..");
  mkdirSync(folder, { recursive: true });
  const progress = join(folder, PROGRESS_FILE);
  const release = await takeTurn(join(folder, "lock"), () =>
    say(`another process builds ${what}; waiting for it${withDash(contentOf(progress))}`),
  );
  try {
    if (existsSync(path)) return;
    say(`building ${what} for tests, once, into ${folder} (about ${minutes} min on 2 cores) …`);
    const start = performance.now();
    removeUnfinished(folder, basename(path));
    const unfinished = `${path}.${ownerMark()}-${randomUUID()}.unfinished`;
    try {
      await build(unfinished, (text) => {
        writeFileSync(progress, text);
        say(`${what}: ${text}, after ${Math.round((performance.now() - start) / 1000)} s`);
      });
      renameSync(unfinished, path);
    } finally {
      rmSync(unfinished, { force: true });
      rmSync(progress, { force: true });
    }
    say(`built in ${Math.round((performance.now() - start) / 1000)} s`);
  } finally {
    release();
  }
}

/** Names and contents of the files that a build depends on. */
export const moduleFiles = (): [string, string][] =>
  readdirSync(sources)
    .filter((name) => /\.go$|^go\.(mod|sum)$/.test(name))
    .map((name) => [name, readFileSync(join(sources, name), "utf8")]);

/** The version of a module that go.mod requires. */
export function versionOf(module: string): string {
  const words = readFileSync(join(sources, "go.mod"), "utf8").split(/\s+/);
  const version = words[words.indexOf(module) + 1];
  if (version === undefined || !/^v\d+\.\d+\.\d+$/.test(version))
    throw new Error(`test/controlplane/go.mod requires no ${module}`);
  return version;
}

function buildArguments(version: string): string[] {
  const [major, minor] = version.slice(1).split(".");
  const values = { gitVersion: version, gitMajor: major, gitMinor: minor };
  const versions = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((where) =>
    Object.entries(values).map(([name, value]) => `-X ${where}.${name}=${value}`),
  );
  return ["-trimpath", "-ldflags", ["-s", "-w", ...versions].join(" ")];
}

/** Removes files of dead builders; each builder writes to its own file name. */
function removeUnfinished(folder: string, program: string): void {
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".unfinished"))) {
    if (isGone(name.slice(program.length + 1)) === true) rmSync(join(folder, name), { force: true });
  }
}

/**
 * Allows one builder at a time across processes. Creating a link is atomic, so the lock always names its holder.
 * If two processes build at once, the binary is still complete, because a rename puts it in place.
 */
async function takeTurn(lock: string, onWait: () => void): Promise<() => void> {
  const me = `${ownerMark()}-${randomUUID()}`;
  const mine = `${lock}.${me}`;
  writeFileSync(mine, me);
  const deadline = performance.now() + patienceMs;
  let saidAt = -Infinity;
  try {
    for (;;) {
      try {
        linkSync(mine, lock);
        return () => removeLock(lock, me);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
      const holder = contentOf(lock);
      if (holder === undefined) continue;
      if (isGone(holder) === true || performance.now() > deadline) removeLock(lock, holder);
      else {
        if (performance.now() - saidAt >= PROGRESS_EVERY_MS) {
          onWait();
          saidAt = performance.now();
        }
        await sleep(500);
      }
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/**
 * Removes a lock only if it still has this content. Two processes may find the same dead lock, and the second must not remove
 * the new lock of the first: this moves the lock away, compares the content again, and puts a different lock back.
 */
export function removeLock(lock: string, content: string): void {
  if (contentOf(lock) !== content) return;
  const moved = `${lock}.${randomUUID()}`;
  try {
    renameSync(lock, moved);
    if (contentOf(moved) !== content) linkSync(moved, lock);
  } catch (error) {
    // Another process was faster: the lock is gone or replaced.
    if (!["ENOENT", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  } finally {
    rmSync(moved, { force: true });
  }
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

const withDash = (text: string | undefined): string => (text === undefined ? "" : ` – ${text}`);

/**
 * Compiles the module. Says at the first package and then every ten seconds how far it is. Go prints a package only if it compiles
 * it: what its cache has is not compiled again.
 */
async function compile(args: readonly string[], progress: (text: string) => void): Promise<void> {
  const total = (await run("go", ["list", "-deps", "."])).trim().split("\n").length;
  let compiled = 0;
  const tell = () =>
    progress(compiled === 0 ? "looking at Go's cache" : `compiled ${compiled} of at most ${total} packages`);
  const timer = setInterval(tell, PROGRESS_EVERY_MS);
  try {
    await run("go", ["build", "-v", ...args], () => {
      compiled += 1;
      if (compiled === 1) tell();
    });
  } finally {
    clearInterval(timer);
  }
}

/** A line of `go build -v`. */
const PACKAGE = /^[\w./~-]+$/;

async function run(command: string, args: readonly string[], onPackage?: () => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...compilerEnvironment };
    const child = spawn(command, args, { cwd: sources, stdio: ["ignore", "pipe", "pipe"], env });
    let output = "";
    let errors = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    createInterface(child.stderr).on("line", (line) => {
      if (onPackage !== undefined && PACKAGE.test(line)) onPackage();
      else errors += `${line}\n`;
    });
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(output);
      else
        reject(
          new Error(`${command} ${args[0]} in test/controlplane ended with ${code}: ${errors.trim().slice(-2000)}`),
        );
    });
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
