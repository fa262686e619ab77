// What a real node needs beyond Go and Node: Debian packages and root.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** A file of each package shows that it is installed, also where it came by another way than apt. */
const packages: Readonly<Record<string, readonly string[]>> = {
  containerd: ["/usr/bin/containerd", "/usr/local/bin/containerd"],
  runc: ["/usr/sbin/runc", "/usr/bin/runc", "/usr/local/sbin/runc"],
  "containernetworking-plugins": ["/usr/lib/cni/bridge"],
  iptables: ["/usr/sbin/iptables", "/sbin/iptables"],
  iproute2: ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"],
  openssl: ["/usr/bin/openssl"],
  buildah: ["/usr/bin/buildah"],
  binutils: ["/usr/bin/strip"],
  prometheus: ["/usr/bin/promtool"],
};

type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: string };

/** Checks whether a real node can run here. As root on Debian it installs what is missing, and says so. */
export function prepareMachine(
  say: (line: string) => void = (line) => process.stderr.write(`joulie: ${line}\n`),
): Readiness {
  if (process.platform !== "linux")
    return { ready: false, reason: `containers need Linux, this is ${process.platform}` };
  const missing = Object.entries(packages)
    .filter(([, files]) => !files.some((file) => existsSync(file)))
    .map(([name]) => name);
  const install = `apt-get install --no-install-recommends ${missing.join(" ")}`;
  if (process.getuid?.() !== 0) {
    const first = missing.length === 0 ? "" : `${install} && `;
    return {
      ready: false,
      reason: `containers, mounts and network namespaces need root; run: sudo sh -c '${first}npm test'`,
    };
  }
  const other = otherKubelet();
  if (other !== undefined) {
    return { ready: false, reason: `${other} runs on this machine and has pods of its own; run these tests elsewhere` };
  }
  // In a container, root alone is not enough.
  if (spawnSync("unshare", ["--net", "--mount", "true"]).status !== 0) {
    return { ready: false, reason: "root may not create namespaces here; run the container with --privileged" };
  }
  if (missing.length === 0) return { ready: true };
  if (!isDebian()) return { ready: false, reason: `this system has no apt-get; install: ${missing.join(" ")}` };
  say(`installing Debian packages for tests on a real node: ${missing.join(" ")} …`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  for (const args of [
    ["update", "-q"],
    ["install", "-q", "-y", "--no-install-recommends", ...missing],
  ]) {
    const { status, stderr } = spawnSync("apt-get", args, {
      env,
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe"],
    });
    // An outdated mirror of one source must not stop the installation from the others.
    if (status !== 0 && args[0] === "install") {
      return { ready: false, reason: `${install} failed: ${stderr.trim().slice(-500)}` };
    }
  }
  return { ready: true };
}

/** A machine has one tree of pod cgroups. The kubelet of a test is called controlplane. */
function otherKubelet(): string | undefined {
  const names = readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
      } catch {
        return "";
      }
    });
  return names.find((name) => ["kubelet", "k3s-server", "k3s-agent", "k0s"].includes(name));
}

function isDebian(): boolean {
  try {
    return /^ID(_LIKE)?=.*debian/m.test(readFileSync("/etc/os-release", "utf8")) && existsSync("/usr/bin/apt-get");
  } catch {
    return false;
  }
}
