// Starts sushy-tools, a Redfish service that others wrote, for tests. It is installed once, outside the checkout.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { buildOnce, cacheFolder } from "../controlplane/build.ts";
import { run } from "../realnode/command.ts";

const VERSION = "2.2.0";
const INSTALL_LIMIT_MS = 240_000;

export type SushyTools =
  | { readonly available: true; readonly folder: string }
  | { readonly available: false; readonly reason: string };

/** Creates the virtual environment if it is missing, in one process at a time. */
export async function installSushy(
  say: (line: string) => void = (line) => process.stderr.write(`joulie: ${line}\n`),
): Promise<SushyTools> {
  const home = join(cacheFolder(), `sushy-tools-${VERSION}-venv`);
  const folder = join(home, "venv");
  try {
    await buildOnce(join(home, "complete"), { what: `sushy-tools ${VERSION}`, minutes: 1, say }, async (mark) => {
      rmSync(folder, { recursive: true, force: true });
      await run("python3", ["-m", "venv", folder], { limitMs: INSTALL_LIMIT_MS });
      const pip = ["install", "--quiet", "--disable-pip-version-check", `sushy-tools==${VERSION}`];
      await run(join(folder, "bin/pip"), pip, { limitMs: INSTALL_LIMIT_MS });
      writeFileSync(mark, "");
    });
    return { available: true, folder };
  } catch (error) {
    return { available: false, reason: `sushy-tools ${VERSION} cannot be installed: ${String(error)}` };
  }
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
  try {
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`sushy-emulator ended with ${child.exitCode}`);
      const answer = await fetch(`${address}/redfish/v1/`).catch(() => undefined);
      return answer?.ok;
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { address, systemIds, credentials, stop };
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
