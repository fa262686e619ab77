// Starts sushy-tools, a Redfish service that others wrote, for tests. It is installed once, outside the checkout.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cacheFolder } from "../controlplane/build.ts";

const VERSION = "2.2.0";
const INSTALL_LIMIT_MS = 240_000;

export type SushyTools =
  | { readonly available: true; readonly folder: string }
  | { readonly available: false; readonly reason: string };

/** Creates the virtual environment if it is missing. */
export function installSushy(): SushyTools {
  const folder = join(cacheFolder(), `sushy-tools-${VERSION}`);
  if (existsSync(join(folder, "bin/sushy-emulator"))) return { available: true, folder };
  const python = spawnSync("python3", ["--version"]);
  if (python.status !== 0) return { available: false, reason: "no python3 on this machine" };
  mkdirSync(cacheFolder(), { recursive: true });
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ["python3", ["-m", "venv", folder]],
    [join(folder, "bin/pip"), ["install", "--quiet", "--disable-pip-version-check", `sushy-tools==${VERSION}`]],
  ];
  for (const [command, args] of steps) {
    const { status, stderr, error } = spawnSync(command, args, { timeout: INSTALL_LIMIT_MS, encoding: "utf8" });
    if (status === 0) continue;
    rmSync(folder, { recursive: true, force: true });
    const why = error?.message ?? stderr.trim().split("\n").at(-1);
    return { available: false, reason: `sushy-tools ${VERSION} cannot be installed: ${why}` };
  }
  return { available: true, folder };
}

export interface SushyService {
  readonly address: string;
  readonly systemIds: readonly string[];
  readonly credentials: { readonly username: string; readonly password: string };
  stop(): Promise<void>;
}

/** Starts the service with machines that are off. */
export async function startSushy(folder: string, systems: number): Promise<SushyService> {
  const home = mkdtempSync(join(tmpdir(), "joulie-sushy-"));
  const credentials = { username: "joulie", password: "a-pass-word" };
  const script = "import bcrypt,sys;print(bcrypt.hashpw(sys.argv[1].encode(), bcrypt.gensalt(4)).decode())";
  const hashed = spawnSync(join(folder, "bin/python"), ["-c", script, credentials.password], { encoding: "utf8" });
  writeFileSync(join(home, "users"), `${credentials.username}:${hashed.stdout.trim()}\n`);
  const systemIds = Array.from({ length: systems }, (_, index) => `00000000-0000-4000-8000-00000000000${index}`);
  const machines = systemIds.map((uuid, index) => ({ uuid, name: `machine-${index}`, power_state: "Off", nics: [] }));
  const port = await freePort();
  const settings = {
    SUSHY_EMULATOR_LISTEN_IP: "127.0.0.1",
    SUSHY_EMULATOR_LISTEN_PORT: port,
    SUSHY_EMULATOR_AUTH_FILE: join(home, "users"),
    SUSHY_EMULATOR_STATE_DIR: home,
    SUSHY_EMULATOR_FAKE_SYSTEMS: machines,
  };
  // JSON without true, false and null is Python as well.
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const file = join(home, "emulator.conf");
  writeFileSync(file, `${lines.join("\n")}\n`);
  const child = spawn(join(folder, "bin/sushy-emulator"), ["--fake", "--config", file], { stdio: "ignore" });
  const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()));
  const address = `http://127.0.0.1:${port}`;
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
    rmSync(home, { recursive: true, force: true });
  };
  for (let turn = 0; turn < 300; turn++) {
    const isUp = await fetch(`${address}/redfish/v1/`)
      .then(({ ok }) => ok)
      .catch(() => false);
    if (isUp) return { address, systemIds, credentials, stop };
    if (child.exitCode !== null) break;
    await sleep(100);
  }
  await stop();
  throw new Error("sushy-emulator did not start");
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}
