import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

describe("completion", () => {
  const folder = mkdtempSync(join(tmpdir(), "joulie-completion-"));
  const file = (shell: string) => join(folder, `joulie.${shell}`);
  beforeAll(async () => {
    for (const shell of ["bash", "zsh", "fish"]) writeFileSync(file(shell), await printed("completion", shell));
    writeFileSync(join(folder, "trace.csv"), "");
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Completions that bash offers with the cursor after the last word. */
  const offered = (...words: readonly string[]): string[] => {
    const script = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _joulie; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const text = execFileSync("bash", ["-c", script, file("bash"), "joulie", ...words], {
      cwd: folder,
      encoding: "utf8",
    });
    return text.split("\n").filter((word) => word !== "");
  };

  it.for(["bash", "zsh", "fish"])("is a script that %s can parse", (shell, { skip }) => {
    if (!isInstalled(shell)) skip(`${shell} is not installed`);
    const { status, stderr } = spawnSync(shell, ["-n", file(shell)], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  it("offers every command", () => {
    const names = programs.map(({ name }) => name);
    expect(offered("")).toEqual([
      ...names,
      "version",
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
    expect(offered("f")).toEqual(["fleet"]);
    expect(offered("agent", "")).toEqual(expect.arrayContaining(["probe", "restore"]));
    expect(offered("completion", "")).toEqual(["bash", "zsh", "fish", "--help"]);
  });

  it("offers exactly the flags of each program, alias and action", async () => {
    for (const program of programs) {
      const at = (path: readonly string[]) => offered(...path, "--").toSorted();
      for (const { path, one } of [
        ...[program.name, ...(program.aliases ?? [])].map((name) => ({ path: [name], one: program })),
        ...(program.actions ?? []).map((action) => ({ path: [program.name, action.name], one: action })),
      ]) {
        const flags = variableNames(await one.config()).map(flagOf);
        expect(at(path)).toEqual([...new Set([...flags, "--json", "--print-config", "--help"])].toSorted());
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
    [["simulate", "--trace", "tr"], ["trace.csv"]],
    [["operator", "--lease-name", "agent", "--log-f"], ["--log-format"]],
    [["version", "--j"], ["--json"]],
    [["nothing", ""], []],
  ])("for the words %j offers %j", (words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });

  it("zsh and fish offer what bash offers", async () => {
    const zsh = await printed("completion", "zsh");
    const fish = await printed("completion", "fish");
    for (const program of programs) {
      for (const flag of variableNames(await program.config()).map(flagOf)) {
        expect(zsh).toContain(`'${flag}:`);
        expect(fish).toContain(`'__joulie_at "/${program.name}"' -l ${flag.slice(2)} `);
      }
    }
    expect(zsh).toContain(
      "'/operator --policy-type') compadd -- 'static_partition' 'queue_aware_v1' 'fit_aware_v1' 'rule_swap_v1'",
    );
    expect(fish).toContain("-l policy-type -x -a 'static_partition queue_aware_v1 fit_aware_v1 rule_swap_v1'");
  });
});
