// What a real node needs beyond Go and Node: Debian packages and root.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

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
    return {
      ready: false,
      reason: `containers need Linux, this is ${process.platform}; run "npm test" as root in a Linux machine`,
    };
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
  if (!isDebian())
    return { ready: false, reason: `not Debian: install the equivalents of ${missing.join(" ")}, then run "npm test"` };
  say(`installing Debian packages for tests on a real node: ${missing.join(" ")} …`);
  const failure = withoutServices(() => installPackages(missing));
  return failure === undefined ? { ready: true } : { ready: false, reason: `${install} failed: ${failure}` };
}

/** Returns the error text of a failed installation. */
function installPackages(names: readonly string[]): string | undefined {
  const aptGet = (...args: string[]) =>
    spawnSync("apt-get", ["-q", ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe"],
    });
  // An outdated mirror of one source must not stop the installation from the others.
  aptGet("update");
  const { status, stderr } = aptGet("install", "-y", "--no-install-recommends", ...names);
  return status === 0 ? undefined : stderr.trim().slice(-500);
}

/** The tests start their own containerd and Prometheus, so Debian's services of the same name are not started. */
function withoutServices<T>(install: () => T): T {
  const policy = "/usr/sbin/policy-rc.d";
  if (existsSync(policy)) return install();
  writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    return install();
  } finally {
    rmSync(policy, { force: true });
  }
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
