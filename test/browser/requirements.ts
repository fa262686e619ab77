// What tests in a browser need: chromium. As root on Debian it is installed.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

type BrowserReadiness =
  | { readonly ready: true; readonly path: string }
  | { readonly ready: false; readonly reason: string };

/** Finds chromium, or installs Debian's package. */
export function prepareBrowser(
  say: (line: string) => void = (line) => process.stderr.write(`joulie: ${line}\n`),
): BrowserReadiness {
  const found = places.find((path) => existsSync(path));
  if (found !== undefined) return { ready: true, path: found };
  const install = "apt-get install --no-install-recommends chromium";
  if (!isDebian()) return { ready: false, reason: `no chromium found at ${places.join(", ")}; install it` };
  if (process.getuid?.() !== 0) return { ready: false, reason: `no chromium found; run: sudo ${install}` };
  say("installing chromium for tests in a browser …");
  const aptGet = (...args: string[]) =>
    spawnSync("apt-get", ["-q", ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe"],
    });
  aptGet("update");
  const { status, stderr } = aptGet("install", "-y", "--no-install-recommends", "chromium");
  const path = places.find((one) => existsSync(one));
  if (status === 0 && path !== undefined) return { ready: true, path };
  return { ready: false, reason: `${install} failed: ${stderr.trim().slice(-500)}` };
}

function isDebian(): boolean {
  try {
    return /^ID(_LIKE)?=.*debian/m.test(readFileSync("/etc/os-release", "utf8")) && existsSync("/usr/bin/apt-get");
  } catch {
    return false;
  }
}
