import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const clones: string[] = [];
afterEach(() => {
  for (const clone of clones.splice(0)) rmSync(clone, { recursive: true, force: true });
});

/** A clone with a script to run, and a fake npm that records its arguments. */
function cloneWith(npm: string | undefined) {
  const clone = mkdtempSync(join(tmpdir(), "joulie-setup-"));
  clones.push(clone);
  cpSync(join(root, "bin"), join(clone, "bin"), { recursive: true });
  mkdirSync(join(clone, "scripts"));
  cpSync(join(root, "scripts/setup.mjs"), join(clone, "scripts/setup.mjs"));
  writeFileSync(
    join(clone, "scripts/hello.ts"),
    'const name: string = process.argv[2] ?? "";\nconsole.log(`hello ${name}`);\n',
  );
  writeFileSync(join(clone, "package.json"), "{}");
  writeFileSync(join(clone, "package-lock.json"), "{}");
  const path = join(clone, "path");
  mkdirSync(path);
  if (npm !== undefined) {
    writeFileSync(join(path, "npm"), `#!/bin/sh\necho "$@" >> asked\n${npm}\n`);
    chmodSync(join(path, "npm"), 0o755);
  }
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/setup.mjs", ...args], {
      cwd: clone,
      env: { PATH: `${path}:/usr/bin:/bin` },
    });
    return { status, stdout: stdout.toString(), stderr: stderr.toString() };
  };
  const installs = () => {
    const asked = join(clone, "asked");
    return existsSync(asked) ? readFileSync(asked, "utf8").trim().split("\n").length : 0;
  };
  return { clone, run, installs };
}

const goodNpm = "mkdir -p node_modules && touch node_modules/.package-lock.json";

describe("scripts/setup.mjs", () => {
  it("installs once, runs the script with its arguments and forwards its exit code", () => {
    const { clone, run, installs } = cloneWith(goodNpm);
    expect(run("hello.ts", "you")).toMatchObject({ status: 0, stdout: "hello you\n" });
    expect(installs()).toBe(1);
    writeFileSync(join(clone, "scripts/fail.ts"), "process.exit(7);\n");
    expect(run("fail.ts").status).toBe(7);
    expect(installs()).toBe(1);
  });

  it("installs again if the lock file is newer than the installation", () => {
    const { clone, run, installs } = cloneWith(goodNpm);
    run("hello.ts");
    const later = new Date(2100, 0);
    utimesSync(join(clone, "package-lock.json"), later, later);
    run("hello.ts");
    expect(installs()).toBe(2);
  });

  it("reports a failure of npm in one line and does not run the script", () => {
    const { run } = cloneWith("exit 1");
    const { status, stdout, stderr } = run("hello.ts");
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr.trimEnd().split("\n").at(-1)).toBe(
      "joulie: npm install --no-save --no-audit --no-fund --loglevel=error failed; its message is above",
    );
  });

  it("names a missing script", () => {
    const { run } = cloneWith(goodNpm);
    const { status, stderr } = run("nope.ts");
    expect(status).toBe(2);
    expect(stderr).toContain("joulie: there is no scripts/nope.ts; usage:");
  });
});
