import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { buildControlPlane, locateControlPlane, removeLock } from "./build.ts";
import { ownerMark } from "./owner.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "joulie-build-"));
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** A fake `go` that prints a version and "builds" with the given shell lines; $out is the output file. */
function fakeGo(build: string): void {
  const script = `#!/bin/sh
[ "$1" = env ] && { echo go1.99.0; exit 0; }
[ "$1" = list ] && { printf 'fmt\nk8s.io/api/core/v1\njoulie.io/controlplane\n'; exit 0; }
echo "$@" >> ${folder}/builds
out=""; for word in "$@"; do [ "$last" = -o ] && out="$word"; last="$word"; done
${build}`;
  writeFileSync(join(folder, "go"), script);
  chmodSync(join(folder, "go"), 0o755);
  vi.stubEnv("PATH", `${folder}:/usr/bin:/bin`);
}

const builds = () => readFileSync(join(folder, "builds"), "utf8").trimEnd().split("\n");
const quiet = () => {};

describe("the control plane's binary", () => {
  it("is unavailable without Go and gives the reason", async () => {
    vi.stubEnv("PATH", folder);
    const result = await buildControlPlane(quiet);
    expect(result).toEqual({ available: false, reason: expect.stringContaining("no usable Go") });
  });

  it("is built once for concurrent callers, outside the checkout, with a message", async () => {
    fakeGo('echo binary > "$out"');
    const lines: string[] = [];
    const results = await Promise.all([1, 2, 3].map(async () => buildControlPlane((line) => void lines.push(line))));
    for (const result of results) {
      if (!result.available) throw new Error(result.reason);
      expect(result.path.startsWith(join(folder, "cache", "joulie", "controlplane-"))).toBe(true);
      expect(readFileSync(result.path, "utf8")).toBe("binary\n");
      expect(readdirSync(dirname(result.path))).toEqual(["controlplane"]);
    }
    expect(builds()).toHaveLength(1);
    expect(lines.filter((line) => line.includes("about 6 min"))).toHaveLength(1);
    expect(lines.filter((line) => /^built in \d+ s$/.test(line))).toHaveLength(1);
    expect(await locateControlPlane()).toMatchObject({ available: true, built: true });
  });

  it("X-174 says how many packages it has compiled, without those that Go's cache has", async () => {
    fakeGo('echo k8s.io/api/core/v1 >&2; echo joulie.io/controlplane >&2; echo binary > "$out"');
    const lines: string[] = [];
    await buildControlPlane((line) => void lines.push(line));
    expect(builds()[0]).toMatch(/^build -v /);
    expect(lines[1]).toMatch(/^etcd and Kubernetes v\S+: compiled 1 of at most 3 packages, after \d+ s$/);
  });

  it("X-174 says to another process that waits how far it is", async () => {
    const [lines, first] = [[] as string[], join(folder, "first")];
    // The first build ends when the second caller has said that it waits.
    fakeGo(
      `echo k8s.io/api/core/v1 >&2; while [ ! -e ${first} ]; do read -r nothing < /dev/null || :; done; echo binary > "$out"`,
    );
    const building = buildControlPlane((line) => void lines.push(line));
    await eventually(() => lines.some((line) => line.includes("compiled 1")));
    const waiting = buildControlPlane((line) => {
      lines.push(line);
      writeFileSync(first, "");
    });
    await Promise.all([building, waiting]);
    expect(lines).toContainEqual(
      expect.stringMatching(/^another process builds .*; waiting for it – compiled 1 of at most 3 packages$/),
    );
  });

  it("carries the version of go.mod, which clients parse", async () => {
    fakeGo('echo binary > "$out"');
    const result = await buildControlPlane(quiet);
    expect(result).toMatchObject({ version: expect.stringMatching(/^v1\.\d+\.\d+$/) });
    expect(builds()[0]).toContain(`component-base/version.gitVersion=${result.available ? result.version : ""}`);
    expect(builds()[0]).toContain("-trimpath");
  });

  it("is built by the next process if a builder died", async () => {
    fakeGo('echo binary > "$out"');
    const first = await buildControlPlane(quiet);
    if (!first.available) throw new Error(first.reason);
    rmSync(first.path);
    // No process has this pid: it is above the kernel's maximum.
    const dead = ownerMark(2 ** 30);
    for (const owner of ["", `${dead}-x.`]) writeFileSync(`${first.path}.${owner}unfinished`, "half");
    writeFileSync(join(dirname(first.path), "lock"), `${dead}-x`);
    await buildControlPlane(quiet);
    expect(readdirSync(dirname(first.path))).toEqual(["controlplane"]);
  });

  it("does not touch the unfinished build of another machine", async () => {
    fakeGo('echo binary > "$out"');
    const first = await buildControlPlane(quiet);
    if (!first.available) throw new Error(first.reason);
    rmSync(first.path);
    const theirs = ["controlplane.7-elsewhere-1-x.unfinished", `controlplane.${ownerMark()}-x.unfinished`];
    for (const name of theirs) writeFileSync(join(dirname(first.path), name), "half");
    await buildControlPlane(quiet);
    expect(readdirSync(dirname(first.path)).toSorted()).toEqual(["controlplane", ...theirs].toSorted());
  });

  it("removes the lock of a dead process only while the lock is still that one", () => {
    const lock = join(folder, "lock");
    removeLock(lock, "dead");
    writeFileSync(lock, "another's");
    removeLock(lock, "dead");
    expect(readFileSync(lock, "utf8")).toBe("another's");
    removeLock(lock, "another's");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("reports a failed build with the compiler's message and leaves no files behind", async () => {
    fakeGo('echo half > "$out"; echo "main.go:1: no such thing" >&2; exit 1');
    await expect(buildControlPlane(quiet)).rejects.toThrow("main.go:1: no such thing");
    const result = await locateControlPlane();
    if (!result.available) throw new Error(result.reason);
    expect(result.built).toBe(false);
    expect(existsSync(dirname(result.path)) && readdirSync(dirname(result.path))).toEqual([]);
  });
});
