import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { findNode } from "../bin/node24.mjs";
import { bundle } from "../scripts/bundle.ts";

const root = join(import.meta.dirname, "..");
const scratch = mkdtempSync(join(tmpdir(), "joulie-launcher-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** An executable that claims to be some version of Node. */
function fakeNode(version: string): string {
  const folder = join(scratch, `node-${version}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "node"), `#!/bin/sh\necho ${version}\n`);
  chmodSync(join(folder, "node"), 0o755);
  return folder;
}

describe("finding Node 24", () => {
  const nowhere = { version: "20.20.2", platform: "plan9", arch: "vax" };

  it("stays on the Node that runs when that is new enough", () => {
    expect(findNode(root, { version: "26.1.0", execPath: "/opt/node" })).toBe("/opt/node");
  });

  it("takes the first of the PATH that is new enough", () => {
    const path = [fakeNode("18.20.1"), join(scratch, "missing"), fakeNode("25.0.0"), fakeNode("24.1.0")].join(":");
    expect(findNode(root, { ...nowhere, path })).toBe(join(scratch, "node-25.0.0", "node"));
  });

  it("takes the one npm installed before the PATH", () => {
    const installed = join(scratch, "package", "node_modules", "node-plan9-vax");
    mkdirSync(installed, { recursive: true });
    writeFileSync(join(installed, "package.json"), "{}");
    cpSync(fakeNode("24.9.9"), join(installed, "bin"), { recursive: true });
    expect(findNode(join(scratch, "package"), { ...nowhere, path: fakeNode("25.0.0") })).toBe(
      join(installed, "bin", "node"),
    );
  });

  it("finds none where there is none", () => {
    expect(findNode(root, { ...nowhere, path: fakeNode("22.0.0") })).toBeUndefined();
    expect(findNode(root, { ...nowhere, path: undefined })).toBeUndefined();
  });
});

describe("bin/joulie.mjs", () => {
  const oldNode = ["/usr/bin/node", "/usr/local/bin/node"].find((node) => {
    const version = spawnSync(node, ["-p", "process.versions.node"]).stdout?.toString() ?? "";
    return Number.parseInt(version, 10) >= 18 && Number.parseInt(version, 10) < 24;
  });

  it.runIf(oldNode !== undefined)(
    "starts under an older Node of the system, passing arguments and exit code on",
    () => {
      const run = spawnSync(
        oldNode ?? "",
        ["bin/joulie.mjs", "operator", "--static-hp-frac", "half", "--print-config"],
        { cwd: root },
      );
      expect(run.stderr.toString()).toContain("half");
      expect(run.status).toBe(2);
      expect(execFileSync(oldNode ?? "", ["bin/joulie.mjs", "--version"], { cwd: root }).toString()).toMatch(
        /^\d+\.\d+\.\d+\n$/,
      );
    },
  );

  it("runs the bundle where there are no sources and no packages", async () => {
    const installed = join(scratch, "installed");
    cpSync(join(root, "bin"), join(installed, "bin"), { recursive: true });
    await bundle(join(installed, "dist", "joulie.mjs"));
    const fromBundle = execFileSync(process.execPath, ["bin/joulie.mjs", "--help"], { cwd: installed }).toString();
    const fromSource = execFileSync(process.execPath, ["bin/joulie.mjs", "--help"], { cwd: root }).toString();
    expect(fromBundle).toBe(fromSource);
    expect(fromBundle).toContain("operator");
  });

  it("says in one line that no Node 24 can be found", () => {
    const stranded = join(scratch, "stranded");
    cpSync(join(root, "bin"), join(stranded, "bin"), { recursive: true });
    // The version a program sees is read once, so an older Node is played by a preload that changes it.
    writeFileSync(join(stranded, "older.cjs"), 'Object.defineProperty(process.versions, "node", { value: "20.0.0" });');
    const run = spawnSync(process.execPath, ["--require", "./older.cjs", "bin/joulie.mjs", "--help"], {
      cwd: stranded,
      env: { PATH: fakeNode("20.0.0") },
    });
    expect(run.status).toBe(2);
    expect(run.stderr.toString()).toMatch(/^joulie: needs Node 24 or newer, .*\n$/);
  });
});
