// npm run image -- dockerfile: builds the Dockerfile without a registry and runs the result. As root on Debian.
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { imageConfig, imageSizeLimit } from "./layout.ts";

const repository = join(import.meta.dirname, "../..");
const BASE = "localhost/joulie-base:try";
const RESULT = "localhost/joulie:try";

/** Returns what `joulie --version` prints inside the image. `say` receives each step. */
export function tryDockerfile(say: (step: string) => void): string {
  const work = mkdtempSync(join(tmpdir(), "joulie-dockerfile-"));
  const buildah = (...args: string[]) =>
    tool("buildah", ["--storage-driver", "vfs", "--root", join(work, "root"), "--runroot", join(work, "run"), ...args]);
  try {
    const base = join(work, "base");
    const release = /^VERSION_CODENAME=(\S+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "stable";
    say(`making a base of Debian ${release} with debootstrap, which takes a minute`);
    tool("debootstrap", ["--variant=minbase", "--include=ca-certificates", release, base]);
    addNode(base);
    const trust = certificates(base);
    const made = buildah("from", "scratch");
    buildah("copy", "--quiet", made, base, "/");
    const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    buildah("config", "--env", `PATH=${path}`, ...trust, made);
    buildah("commit", "--quiet", "--rm", made, BASE);
    say("building the Dockerfile with buildah, which takes a few minutes");
    const build = ["build", "--isolation", "chroot", "--network", "host", "--pull=never", "--quiet", "--tag", RESULT];
    buildah(...build, "--build-arg", `NODE_IMAGE=${BASE}`, repository);
    say("running the result");
    const root = buildah("mount", buildah("from", "--pull-never", RESULT));
    const bytes = Number(tool("du", ["--summarize", "--bytes", root]).split("\t")[0]);
    if (bytes > imageSizeLimit) throw new Error(`the image has ${bytes} bytes, more than ${imageSizeLimit}`);
    return tool("chroot", [`--userspec=${imageConfig.user}`, root, ...imageConfig.entrypoint, "--version"]);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** What the public base image has besides Debian: Node and npm. */
function addNode(base: string): void {
  copyFileSync(process.execPath, join(base, "usr/local/bin/node"));
  const npm = dirname(dirname(realpathSync(tool("which", ["npm"]))));
  mkdirSync(join(base, "usr/local/lib/node_modules"), { recursive: true });
  cpSync(npm, join(base, "usr/local/lib/node_modules/npm"), { recursive: true });
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(base, "usr/local/bin/npm"));
}

/** npm in the container trusts what npm trusts here. */
function certificates(base: string): string[] {
  const file = process.env["NODE_EXTRA_CA_CERTS"];
  if (file === undefined) return [];
  copyFileSync(file, join(base, "etc/ssl/extra.pem"));
  return ["--env", "NODE_EXTRA_CA_CERTS=/etc/ssl/extra.pem"];
}

function tool(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", maxBuffer: 1 << 28 });
  if (status === 0) return stdout.trim();
  const hint = error === undefined ? "" : "; on Debian, as root: apt-get install debootstrap buildah";
  throw new Error(`${command} ${args.join(" ")} failed: ${error?.message ?? stderr.trim().slice(-1000)}${hint}`);
}
