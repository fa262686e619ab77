import { execFileSync } from "node:child_process";
import { chmodSync, closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { systemClock, VirtualClock } from "../../clock/index.ts";
import { eventually } from "../../clock/testing/index.ts";
import { lastOutputLine, VendorTool } from "./vendor-tool.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "joulie-command-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function script(name: string, text: string, mode = 0o755): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, mode);
  return file;
}

const tool = (file: string, clock = systemClock): VendorTool =>
  new VendorTool({ files: [file], install: "install it", clock });

describe("a vendor's tool", () => {
  it("gets its arguments without shell interpretation", async () => {
    const answer = await tool(script("echo", 'printf "%s|" "$@"; echo oops >&2; exit 3')).run([
      "$(id)",
      "a b",
      ";",
      "*",
    ]);
    expect(answer).toEqual({ status: 3, stdout: "$(id)|a b|;|*|", stderr: "oops\n" });
  });

  it("gets a minimal environment", async () => {
    process.env["JOULIE_SECRET"] = "s3cret";
    const answer = await tool(script("env", "env")).run([]);
    delete process.env["JOULIE_SECRET"];
    expect(answer).toMatchObject({ status: 0, stdout: expect.stringContaining("LC_ALL=C") });
    expect(JSON.stringify(answer)).not.toContain("s3cret");
  });

  it("X-65 is absent if the file or its interpreter is missing, and says what to install", async () => {
    const missing = join(folder, "nowhere");
    expect(await tool(missing).run([])).toEqual({ absent: `${missing} is not installed: install it` });
    const python = join(folder, "python-script");
    writeFileSync(python, "#!/usr/bin/env no-such-python\n");
    chmodSync(python, 0o755);
    expect(await tool(python).run([])).toEqual({ absent: `${python} is not installed: install it` });
  });

  it("reports a file that is not executable", async () => {
    const answer = await tool(script("locked", "true", 0o644)).run([]);
    expect(answer.failed).toMatch(/locked cannot be run: .*EACCES/);
  });

  it("is killed after its time limit, and the next run works", async () => {
    const clock = new VirtualClock();
    const file = script("sleepy", 'if [ "$1" = sleep ]; then exec sleep 1000; fi; echo awake');
    const sleepy = tool(file, clock);
    const first = sleepy.run(["sleep"]);
    await expect.poll(() => clock.waiting).toBe(1);
    clock.advance(milliseconds(30_000));
    expect(await first).toEqual({ failed: `${file} did not finish within 30000 ms` });
    // No other run starts until the killed process has ended.
    await expect.poll(async () => sleepy.run([])).toEqual({ status: 0, stdout: "awake\n", stderr: "" });
  });

  it("is killed when the caller cancels it", async () => {
    const stop = new AbortController();
    const clock = new VirtualClock();
    const running = tool(script("abandoned", "exec sleep 1000"), clock).run([], stop.signal);
    await expect.poll(() => clock.waiting).toBe(1);
    stop.abort();
    expect((await running).failed).toContain("cancelled by the caller");
  });

  it("is stopped when it prints too much", async () => {
    expect((await tool(script("chatty", "exec yes")).run([])).failed).toContain("printed more than");
  });

  it("runs one call at a time", async () => {
    // Each run holds the folder until it gets a line; a second one at the same time would find it.
    const [held, lines] = [join(folder, "held"), join(folder, "lines")];
    execFileSync("mkfifo", [lines]);
    const pipe = openSync(lines, "r+");
    const once = tool(script("once", `mkdir ${held} || exit 9; read line < ${lines}; rmdir ${held}`));
    const runs = Promise.all([once.run([]), once.run([]), once.run([])]);
    await eventually(() => existsSync(held));
    writeSync(pipe, "end\nend\nend\n");
    const answers = await runs;
    closeSync(pipe);
    expect(answers.map((answer) => "status" in answer && answer.status)).toEqual([0, 0, 0]);
  });

  it("reports its last output line", () => {
    expect(lastOutputLine({ stdout: "Unable to set.\nAll done.\n=====\n", stderr: "" })).toBe("Unable to set.");
    expect(lastOutputLine({ stdout: "", stderr: "" })).toBe("it printed nothing");
    expect(lastOutputLine({ stdout: "x".repeat(9999), stderr: "" })).toHaveLength(300);
  });
});
