// Finds a Node that can run Joulie. Plain JavaScript on purpose: it runs on whatever Node the machine has (18 or newer).
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";

const NEEDED_MAJOR = 24;

/** @param {string} version as in process.versions.node */
export const isNewEnough = (version) => Number.parseInt(version, 10) >= NEEDED_MAJOR;

/**
 * The first Node that is new enough: this one, the one npm installed beside us, then any on the PATH.
 * @param {string} root the package's own folder
 * @param {{ version?: string, execPath?: string, path?: string | undefined, platform?: string, arch?: string }} [machine]
 * @returns {string | undefined} its path
 */
export function findNode(root, machine = {}) {
  const version = machine.version ?? process.versions.node;
  if (isNewEnough(version)) return machine.execPath ?? process.execPath;
  const bundled = `node-${machine.platform ?? process.platform}-${machine.arch ?? process.arch}/package.json`;
  const candidates = [];
  try {
    candidates.push(join(dirname(createRequire(join(root, "package.json")).resolve(bundled)), "bin", "node"));
  } catch {
    // Not installed for this platform: the PATH is next.
  }
  const path = "path" in machine ? machine.path : process.env["PATH"];
  for (const folder of (path ?? "").split(delimiter)) if (folder) candidates.push(join(folder, "node"));
  return candidates.find((candidate) => isNewEnough(versionOf(candidate)));
}

/** @param {string} node */
function versionOf(node) {
  try {
    return execFileSync(node, ["-p", "process.versions.node"], { timeout: 5000, stdio: ["ignore", "pipe", "ignore"] })
      .toString()
      .trim();
  } catch {
    return "0";
  }
}

/** The one line a person reads when there is no way to a Node that is new enough. */
export const noNodeMessage = () =>
  `joulie: needs Node ${NEEDED_MAJOR} or newer, this is ${process.versions.node} and no other was found; ` +
  `install Node ${NEEDED_MAJOR}, or run "npm install" here (it brings one for Linux on x64 and arm64) (JOULIE_E_NODE_VERSION)`;
