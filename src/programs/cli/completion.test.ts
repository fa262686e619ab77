import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { flagOf, variableNames } from "../../platform/config/index.ts";
import { programs } from "../index.ts";
import { run } from "./cli.ts";

async function printed(...args: readonly string[]): Promise<string> {
  let [out, err] = ["", ""];
  const code = await run(args, programs, {
    env: {},
    machine: { isTerminal: false, exists: () => false },
    out: (text) => (out += text),
    err: (text) => (err += text),
  });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out;
}

const isInstalled = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).status === 0;

/** What is offered in place of the last word, without descriptions. */
const offered = async (...words: readonly string[]): Promise<string[]> => {
  const lines = (await printed("completion", "words", "--", ...words)).split("\n");
  return lines.map((line) => line.replace(/\t.*/, "")).filter((word) => word !== "");
};

describe("completion", () => {
  it.for(["bash", "zsh", "fish"])("is a script that %s can parse", async (shell, { skip }) => {
    if (!isInstalled(shell)) skip(`${shell} is not installed`);
    const folder = mkdtempSync(join(tmpdir(), "joulie-completion-"));
    const file = join(folder, `joulie.${shell}`);
    writeFileSync(file, await printed("completion", shell));
    const { status, stderr } = spawnSync(shell, ["-n", file], { encoding: "utf8" });
    rmSync(folder, { recursive: true });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  it("offers in bash the words that joulie prints, without their descriptions", async () => {
    const script = `joulie() { printf '%s\\tabout it\\n' "$@" >&1; }
      ${await printed("completion", "bash")}
      COMP_WORDS=(joulie agent --log); COMP_CWORD=2; _joulie; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const text = execFileSync("bash", ["-c", script], { encoding: "utf8" });
    expect(text.trim().split("\n")).toEqual(["completion", "words", "--", "agent", "--log"]);
  });

  it("offers every command", async () => {
    const names = programs.map(({ name }) => name);
    expect(await offered("")).toEqual([
      ...names,
      "version",
      "install",
      "scheduler-config",
      "status",
      "node",
      "why",
      "plan",
      "top",
      "savings",
      "doctor",
      "support-bundle",
      "pin",
      "unpin",
      "stop",
      "resume",
      "check",
      "crds",
      "uninstall",
      "wake",
      "completion",
      "--version",
      "--help",
    ]);
    expect(await offered("f")).toEqual(["fleet"]);
    expect(await offered("agent", "")).toEqual(expect.arrayContaining(["probe", "restore"]));
    expect(await offered("completion", "")).toEqual(["bash", "zsh", "fish", "words", "--help"]);
  });

  it("offers exactly the flags of each program and action", async () => {
    for (const program of programs) {
      const at = async (path: readonly string[]) => (await offered(...path, "--")).toSorted();
      for (const { path, one } of [
        { path: [program.name], one: program },
        ...(program.actions ?? []).map((action) => ({ path: [program.name, action.name], one: action })),
      ]) {
        const flags = variableNames(await one.config()).map(flagOf);
        expect(await at(path)).toEqual([...new Set([...flags, "--json", "--print-config", "--help"])].toSorted());
      }
    }
  });

  it.each([
    [["operator", "--policy-type", "st"], ["static_partition"]],
    [["operator", "--policy-type", "=", "st"], ["static_partition"]],
    [
      ["operator", "--policy-type", "="],
      ["static_partition", "queue_aware_v1", "fit_aware_v1", "rule_swap_v1"],
    ],
    [
      ["operator", "--write-node-power-profiles", ""],
      ["true", "false"],
    ],
    [["operator", "--static-hp-frac", ""], []],
    [["operator", "--policy-type=st"], ["--policy-type=static_partition"]],
    [["simulate", "--trace", "tr"], []],
    [["operator", "--lease-name", "agent", "--log-f"], ["--log-format"]],
    [["version", "--j"], ["--json"]],
    [["nothing", ""], []],
  ])("for the words %j offers %j", async (words, expected) => {
    expect(await offered(...words)).toEqual(expected);
  });
});
