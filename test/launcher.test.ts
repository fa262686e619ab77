import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { findNode } from "../bin/node24.mjs";
import { bundle } from "../scripts/bundle.ts";

const root = join(import.meta.dirname, "..");
const scratch = mkdtempSync(join(tmpdir(), "joulie-launcher-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** A fake Node executable that reports the given version. */
function fakeNode(version: string): string {
  const folder = join(scratch, `node-${version}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "node"), `#!/bin/sh\necho ${version}\n`);
  chmodSync(join(folder, "node"), 0o755);
  return folder;
}

/** Ends what is left of a process group. A program left behind would keep the test run waiting for its output. */
function endGroup({ pid = 0 }: ChildProcess): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

describe("finding Node 24", () => {
  const nowhere = { version: "20.20.2", platform: "plan9", arch: "vax" };

  it("uses the running Node if it is new enough", () => {
    expect(findNode(root, { version: "26.1.0", execPath: "/opt/node" })).toBe("/opt/node");
  });

  it("uses the first Node on the PATH that is new enough", () => {
    const path = [fakeNode("18.20.1"), join(scratch, "missing"), fakeNode("25.0.0"), fakeNode("24.1.0")].join(":");
    expect(findNode(root, { ...nowhere, path })).toBe(join(scratch, "node-25.0.0", "node"));
  });

  it("prefers the Node that npm installed to the PATH", () => {
    const installed = join(scratch, "package", "node_modules", "node-plan9-vax");
    mkdirSync(installed, { recursive: true });
    writeFileSync(join(installed, "package.json"), "{}");
    cpSync(fakeNode("24.9.9"), join(installed, "bin"), { recursive: true });
    expect(findNode(join(scratch, "package"), { ...nowhere, path: fakeNode("25.0.0") })).toBe(
      join(installed, "bin", "node"),
    );
  });

  it("returns undefined if no Node is new enough", () => {
    expect(findNode(root, { ...nowhere, path: fakeNode("22.0.0") })).toBeUndefined();
    expect(findNode(root, { ...nowhere, path: undefined })).toBeUndefined();
  });
});

const systemNodes = ["/usr/bin/node", "/usr/local/bin/node"];
const isOlder = (node: string) => {
  const major = Number.parseInt(spawnSync(node, ["-p", "process.versions.node"]).stdout?.toString() ?? "", 10);
  return major >= 18 && major < 24;
};

describe("bin/joulie.mjs", () => {
  it("starts under an older Node and forwards arguments and exit code", () => {
    // If the machine has no older Node, a preload script simulates one by changing the reported version.
    const older = systemNodes.find(isOlder);
    const preload = join(scratch, "older.cjs");
    writeFileSync(preload, 'Object.defineProperty(process.versions, "node", { value: "20.0.0" });');
    const command: [string, ...string[]] = older === undefined ? [process.execPath, "--require", preload] : [older];
    const joulie = (...args: string[]) => {
      const [node, ...flags] = command;
      return spawnSync(node, [...flags, "bin/joulie.mjs", ...args], { cwd: root });
    };
    const bad = joulie("operator", "--static-hp-frac", "half", "--print-config");
    expect(bad.stderr.toString()).toContain("half");
    expect(bad.status).toBe(2);
    expect(joulie("--version").stdout.toString()).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(joulie("--help").stdout.toString()).toContain("operator");
  });

  it("runs the bundle without sources and packages", async () => {
    const installed = join(scratch, "installed");
    cpSync(join(root, "bin"), join(installed, "bin"), { recursive: true });
    await bundle(join(installed, "dist", "joulie.mjs"));
    const fromBundle = execFileSync(process.execPath, ["bin/joulie.mjs", "--help"], { cwd: installed }).toString();
    const fromSource = execFileSync(process.execPath, ["bin/joulie.mjs", "--help"], { cwd: root }).toString();
    expect(fromBundle).toBe(fromSource);
    expect(fromBundle).toContain("operator");
  });

  it("reports missing packages in one line", () => {
    const bare = join(scratch, "bare");
    cpSync(join(root, "bin"), join(bare, "bin"), { recursive: true });
    const run = spawnSync(process.execPath, ["bin/joulie.mjs", "--help"], { cwd: bare });
    expect(run.status).toBe(2);
    expect(run.stderr.toString()).toMatch(/^joulie: a part is missing \(.*\); run "npm install" in .*\n$/);
  });

  it("passes one Ctrl-C of a terminal to the program once", async () => {
    const group = join(scratch, "group");
    cpSync(join(root, "bin"), join(group, "bin"), { recursive: true });
    mkdirSync(join(group, "dist"));
    writeFileSync(
      join(group, "dist/joulie.mjs"),
      'let n = 0; process.on("SIGINT", () => console.log(`SIGINT ${++n}`)); process.on("SIGTERM", () => process.exit(5)); setInterval(() => {}, 1000); console.log("up");',
    );
    writeFileSync(join(group, "older.cjs"), 'Object.defineProperty(process.versions, "node", { value: "20.0.0" });');
    const child = spawn(process.execPath, ["--require", "./older.cjs", "bin/joulie.mjs"], {
      cwd: group,
      env: { PATH: dirname(process.execPath) },
      detached: true,
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => endGroup(child));
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output === "up\n") process.kill(-(child.pid ?? 0), "SIGINT");
      // The launcher passes it on after a SIGINT, if it passed that on as well.
      if (output.endsWith("SIGINT 1\n")) child.kill("SIGTERM");
    });
    expect(await once(child, "exit")).toEqual([5, null]);
    expect(output).toBe("up\nSIGINT 1\n");
  });

  it("reports a missing Node 24 in one line", () => {
    const stranded = join(scratch, "stranded");
    cpSync(join(root, "bin"), join(stranded, "bin"), { recursive: true });
    // The launcher reads the version once, so a preload script simulates an older Node by changing it.
    writeFileSync(join(stranded, "older.cjs"), 'Object.defineProperty(process.versions, "node", { value: "20.0.0" });');
    const run = spawnSync(process.execPath, ["--require", "./older.cjs", "bin/joulie.mjs", "--help"], {
      cwd: stranded,
      env: { PATH: fakeNode("20.0.0") },
    });
    expect(run.status).toBe(2);
    expect(run.stderr.toString()).toMatch(/^joulie: needs Node 24 or newer, .*\n$/);
  });
});
