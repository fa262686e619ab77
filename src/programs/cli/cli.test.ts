import { execFile, spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import {
  choice,
  configOf,
  duration,
  flag,
  flagsOnly,
  group,
  number,
  type RawValues,
  url,
} from "../../platform/config/index.ts";
import { freePorts } from "../../platform/serve/index.ts";
import { type Program, programs } from "../index.ts";
import { run } from "./cli.ts";

const about = "Something.";
const config = configOf({
  ...group("Pace", {
    WAIT: duration({ default: "60s", about }),
    STATIC_HP_FRAC: number({ default: "0.5", min: 0, about }),
  }),
  ...group("Rest", {
    SIMULATE_ONLY: flag({ default: "false", about }),
    MODE: choice(["a", "b"], { default: "a", about }),
    ENDPOINT: url({ about }),
  }),
});

const lookConfig = configOf({ ...flagsOnly("This look", { JSON: flag({ default: "false", about }) }) });

/** Runs the command line in this process with two programs: one implemented and one not. */
async function joulie(args: readonly string[], env: RawValues = {}) {
  const started: unknown[] = [];
  const present: Program<typeof config> = {
    name: "present",
    summary: "Is there.",
    config: async () => config,
    start: async (values) => {
      started.push(values);
      return 7;
    },
    actions: [
      {
        name: "look",
        summary: "Looks at it.",
        config: async () => lookConfig,
        start: async (values) => {
          started.push(values);
          return 3;
        },
      },
    ],
  };
  let out = "";
  let err = "";
  const code = await run(args, [present], {
    env,
    machine: { isTerminal: false, exists: () => false },
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
  });
  return { code, out, err, started };
}

describe("the options of the console", () => {
  it.each([
    [["savings", "--interval", "0s"], "shorter than a second"],
    [["savings", "--window", "10ms"], "shorter than a second"],
    [["savings", "--since", "0s"], "shorter than a second"],
    [["pin", "n1", "--profile", "eco", "--for", "0s"], "shorter than a second"],
    [["why", "p", "--extender-weight", "heavy"], "not a whole number above 0"],
    [["top", "--sort-by", "typo"], "Use name, class, power"],
    [["node", "-w", "--sort-by", "label:"], "Use name, class, power"],
  ])("refuses %j before it asks a cluster", async (args, message) => {
    const { code, err } = await joulie(args);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe("starting a program", () => {
  it("passes the parsed values and returns the exit code", async () => {
    const { code, started, out, err } = await joulie(["present", "--wait", "5s", "--static-hp-frac=0.4"], {
      MODE: "b",
    });
    expect(code).toBe(7);
    expect(started).toEqual([
      { WAIT: 5000, STATIC_HP_FRAC: 0.4, SIMULATE_ONLY: false, MODE: "b", ENDPOINT: undefined },
    ]);
    expect(out + err).toBe("");
  });

  it.each([
    [["--simulate-only"], true],
    [["--simulate-only", "false"], false],
    [["--simulate-only=true"], true],
    [["--simulate-only", "--mode", "b"], true],
  ])("parses the switch %j", async (flags, value) => {
    expect((await joulie(["present", ...flags])).started).toEqual([expect.objectContaining({ SIMULATE_ONLY: value })]);
  });

  it("runs an action with its own flags", async () => {
    expect(await joulie(["present", "look", "--json"])).toEqual({
      code: 3,
      out: "",
      err: "",
      started: [{ JSON: true }],
    });
    const misplaced = await joulie(["present", "--json"]);
    expect([misplaced.code, misplaced.started]).toEqual([2, []]);
    expect(misplaced.err).toBe(
      "joulie present: option '--json' requires --print-config; see joulie present --help (JOULIE_E_USAGE)\n",
    );
    expect((await joulie(["present", "look", "--mode", "b"])).err).toMatch(
      /^joulie present look: unknown option '--mode'/,
    );
    expect((await joulie(["present", "--help"])).out).toContain("look");
  });

  it("reads one-time requests from flags only", async () => {
    expect((await joulie(["present", "look"], { JSON: "true" })).started).toEqual([{ JSON: false }]);
    const { code, err } = await joulie(["present", "look", "--json", "maybe"]);
    expect(code).toBe(2);
    expect(err).toMatch(/^joulie present look: --json="maybe" is not true or false; /);
  });

  it("warns about a misspelt variable but starts", async () => {
    const { code, err } = await joulie(["present"], { STATIC_HP_FRA: "1" });
    expect(code).toBe(7);
    expect(err).toMatch(/^joulie present: warning: STATIC_HP_FRA is not [^\n]* did you mean STATIC_HP_FRAC\?\n$/);
  });
});

describe("an invalid command line", () => {
  it("prints warnings before errors, because a misspelt name may be the cause", async () => {
    const { code, err } = await joulie(["present"], { WAIT: "banana", STATIC_HP_FRA: "1" });
    expect(code).toBe(2);
    expect(err).toMatch(/^joulie present: warning: STATIC_HP_FRA [^\n]*\njoulie present: WAIT="banana" [^\n]*\n$/);
  });

  it("prints one line per invalid value, names the flag, and exits 2 without starting", async () => {
    const { code, out, err, started } = await joulie(["present", "--static-hp-frac", "-1"], { WAIT: "banana" });
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(started).toEqual([]);
    const lines = err.trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(
      /^joulie present: WAIT="banana" is not a duration; allowed: .* \(JOULIE_E_CONFIG_VALUE\)$/,
    );
    expect(lines[1]).toMatch(
      /^joulie present: --static-hp-frac="-1" is less than 0; allowed: .*\(JOULIE_E_CONFIG_VALUE\)$/,
    );
  });

  it.each([
    [["presnt"], "joulie: unknown command 'presnt' (Did you mean present?); see joulie --help (JOULIE_E_USAGE)\n"],
    [
      ["presnt", "--help"],
      "joulie: unknown command 'presnt' (Did you mean present?); see joulie --help (JOULIE_E_USAGE)\n",
    ],
    [
      ["help", "presnt"],
      "joulie: unknown command 'presnt' (Did you mean present?); see joulie --help (JOULIE_E_USAGE)\n",
    ],
    [["help", "nothing"], "joulie: unknown command 'nothing'; see joulie --help (JOULIE_E_USAGE)\n"],
    [
      ["--versoin"],
      "joulie: unknown option '--versoin' (Did you mean --version?); see joulie --help (JOULIE_E_USAGE)\n",
    ],
    [
      ["present", "--static-hp-fra", "1"],
      /^joulie present: unknown option '--static-hp-fra' \(Did you mean --static-hp-frac\?\)[^\n]*\n$/,
    ],
    [["present", "--wait"], /^joulie present: option '--wait <duration>' argument missing[^\n]*\n$/],
    [["\u001b[31m\nx"], /^joulie: unknown command '[^\p{Cc}]*\n$/u],
    [["present", "extra"], /^joulie present: too many arguments[^\n]*\n$/],
  ])("%j exits 2 with one line", async (args, message) => {
    const { code, out, err } = await joulie(args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(message);
  });

  it("prints the help and exits 2 without a command", async () => {
    const { code, out, err } = await joulie([]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain("present");
  });
});

describe("help", () => {
  /** The help text of the real programs. */
  const help = async (args: readonly string[]) => {
    let out = "";
    const code = await run(args, programs, {
      env: {},
      machine: { isTerminal: false, exists: () => false },
      out: (text) => {
        out += text;
      },
      err: () => undefined,
    });
    return { code, out };
  };

  it.each([[["present", "--help"]], [["help", "present"]]])(
    "%j lists every flag in its group, with its default",
    async (args) => {
      const { code, out } = await joulie(args);
      expect(code).toBe(0);
      expect(out).toMatch(
        /Pace:\n +--wait <duration> +Something\. \(default: 60s\)\n +--static-hp-frac <number> .*0\.5/,
      );
      expect(out).toMatch(
        /Rest:\n +--simulate-only \[true\|false\] .*\n +--mode <a\|b> .*\n +--endpoint <url> +Something\.\n/,
      );
      expect(out).toContain("--print-config");
    },
  );

  it.each([
    [["--help"]],
    ...programs
      .flatMap(({ name, actions = [] }) => [name, ...actions.map((one) => `${name} ${one.name}`)])
      .map((path) => [[...path.split(" "), "--help"]]),
  ])("%j wraps at words, in 80 columns", async (args) => {
    const { code, out } = await help(args);
    expect(code).toBe(0);
    const wide = out.split("\n").filter((line) => line.length > 80 && line.trim().includes(" "));
    expect(wide).toEqual([]);
  });

  it("lists the programs", async () => {
    const { code, out } = await joulie(["help"]);
    expect(code).toBe(0);
    expect(out).toMatch(/present +Is there\./);
  });
});

it("--print-config prints names, values and sources in columns, starts nothing and exits 0", async () => {
  const env = { ENDPOINT: "https://me:hunter2@host/x", STATIC_HP_FRA: "1" };
  const { code, out, err, started } = await joulie(["present", "--print-config", "--simulate-only"], env);
  expect([code, started]).toEqual([0, []]);
  expect(out).not.toContain("hunter2");
  const [head, ...rows] = out
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/));
  expect(head).toEqual(["NAME", "VALUE", "SOURCE"]);
  expect(rows).toEqual([
    ["WAIT", "1m", "default"],
    ["STATIC_HP_FRAC", "0.5", "default"],
    ["SIMULATE_ONLY", "true", "flag"],
    ["MODE", "a", "default"],
    ["ENDPOINT", expect.stringContaining("@host/x"), "environment"],
  ]);
  const columns = out
    .trimEnd()
    .split("\n")
    .map((line) => line.search(/(SOURCE|default|flag|environment)$/));
  expect(new Set(columns).size).toBe(1);
  expect(err).toContain("did you mean STATIC_HP_FRAC?");
});

it("--print-config --json prints JSON with secrets hidden, and omits values that are not set", async () => {
  const env = { ENDPOINT: "https://me:hunter2@host/x" };
  const { code, out, started } = await joulie(["present", "--print-config", "--json", "--wait", "5s"], env);
  expect([code, started]).toEqual([0, []]);
  expect(out).not.toContain("hunter2");
  expect(JSON.parse(out)).toEqual({
    WAIT: { value: "5s", source: "flag" },
    STATIC_HP_FRAC: { value: "0.5", source: "default" },
    SIMULATE_ONLY: { value: "false", source: "default" },
    MODE: { value: "a", source: "default" },
    ENDPOINT: { value: expect.stringContaining("@host/x") as unknown, source: "environment" },
  });
  expect(JSON.parse((await joulie(["present", "--print-config", "--json"])).out)).toMatchObject({
    ENDPOINT: { source: "default" },
  });
  const own = await joulie(["present", "look", "--print-config", "--json"]);
  expect(JSON.parse(own.out)).toEqual({ JSON: { value: "true", source: "flag" } });
});

it("--print-config keeps each value on its row and escapes control characters", async () => {
  const { out } = await joulie(["present", "--print-config"], { ENDPOINT: "http://h/a\nb\u001b[31m" });
  expect(out.trimEnd().split("\n")).toHaveLength(6);
  expect(out).toMatch(/^ENDPOINT +http:\/\/h\/a\\nb\\u001b\[31m +environment$/m);
});

it("no variable has the name of a built-in flag (--help, --version, --print-config)", async () => {
  for (const program of programs) {
    const names = Object.keys((await program.config()).shape);
    expect(names).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(HELP|VERSION|PRINT_CONFIG)$/)]));
  }
});

describe("the real command", () => {
  const bin = join(import.meta.dirname, "..", "..", "..", "bin", "joulie.mjs");
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const command = async (args: string[], env: Record<string, string> = {}) =>
    new Promise<{ code: number; out: string; err: string }>((resolve) => {
      const child = execFile(
        process.execPath,
        [bin, ...args],
        { env: { PATH, NODE_COMPILE_CACHE, ...env } },
        (_, out, err) => resolve({ code: child.exitCode ?? -1, out, err }),
      );
    });

  it("X-13 names both invalid values and exits 2", async () => {
    const { code, out, err } = await command(["operator", "--print-config"], {
      STATIC_HP_FRAC: "half",
      RECONCILE_INTERVAL: "banana",
    });
    expect([code, out]).toEqual([2, ""]);
    const lines = err.trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(
      lines.find((line) => line.startsWith('joulie operator: STATIC_HP_FRAC="half" is not a number; allowed: ')),
    ).toBeDefined();
    expect(
      lines.find((line) => line.startsWith('joulie operator: RECONCILE_INTERVAL="banana" is not a duration; ')),
    ).toBeDefined();
  });

  it("prints the configuration of a valid environment", async () => {
    const { code, out, err } = await command(["operator", "--print-config", "--static-hp-frac", "0.4"], {
      POLICY_TYPE: "rule_swap_v1",
    });
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^RECONCILE_INTERVAL +1m +default$/m);
    expect(out).toMatch(/^STATIC_HP_FRAC +0\.4 +flag$/m);
    expect(out).toMatch(/^POLICY_TYPE +rule_swap_v1 +environment$/m);
  });

  it.each(["operator", "agent", "extender", "power", "fleet"])(
    "%s reports a missing kubeconfig in one line and exits 2",
    async (program) => {
      const env = { KUBECONFIG: "/nowhere/kubeconfig", NODE_NAME: "n", STATE_DIR: "/nowhere", HOME: "/nowhere" };
      const missing = await command([program], env);
      expect([missing.code, missing.out]).toEqual([2, ""]);
      expect(missing.err).toMatch(
        /^joulie \w+: kubeconfig \/nowhere\/kubeconfig: no such file; set KUBECONFIG or [^\n]* \(JOULIE_E_KUBECONFIG\)\n$/,
      );
      const nothing = await command([program], { ...env, KUBECONFIG: "" });
      expect([nothing.code, nothing.out]).toEqual([2, ""]);
      expect(nothing.err).toMatch(
        /^joulie \w+: no cluster: KUBECONFIG is not set[^\n]*; set KUBECONFIG, or run joulie demo[^\n]* \(JOULIE_E_KUBE_IDENTITY\)\n$/,
      );
    },
  );

  it("version prints the versions of Joulie, Node and the platform, as text and as JSON", async () => {
    const facts = { version: packageJson.version, node: process.versions.node };
    const text = await command(["version"]);
    expect([text.code, text.err]).toEqual([0, ""]);
    expect(text.out).toBe(`joulie ${facts.version}\nNode ${facts.node}\n${process.platform} ${process.arch}\n`);
    const json = await command(["version", "--json"]);
    expect(JSON.parse(json.out)).toEqual({ ...facts, platform: process.platform, arch: process.arch });
  });

  it("prints the package version", async () => {
    expect(await command(["--version"])).toEqual({ code: 0, out: `${packageJson.version}\n`, err: "" });
  });

  /** Exit code and standard error when standard output fails; "closed" = the reader is gone. */
  const badlyRead = async (args: string[], stdout: number | "closed") =>
    new Promise<{ code: number | null; err: string }>((resolve) => {
      const child = spawn(process.execPath, [bin, ...args], {
        stdio: ["ignore", stdout === "closed" ? "pipe" : stdout, "pipe"],
        env: { PATH, NODE_COMPILE_CACHE },
      });
      child.stdout?.destroy();
      let err = "";
      child.stderr?.setEncoding("utf8").on("data", (text: string) => {
        err += text;
      });
      child.on("close", (code) => resolve({ code, err }));
    });

  it.each([[["operator", "--print-config"]], [["--help"]]])(
    "exits without an error when the reader of %j closes the pipe early",
    async (args) => {
      expect(await badlyRead(args, "closed")).toEqual({ code: 0, err: "" });
    },
  );

  it.runIf(existsSync("/dev/full"))("reports a full disk in one line and exits 1", async () => {
    const full = openSync("/dev/full", "w");
    const { code, err } = await badlyRead(["operator", "--print-config"], full);
    closeSync(full);
    expect(code).toBe(1);
    expect(err).toMatch(/^joulie: could not write to standard output: ENOSPC[^\n]*\n$/);
  });

  it("X-165 says without an API path that the API server does not answer", async () => {
    const [port = 0] = await freePorts(1);
    const name = "gone";
    const config = {
      "current-context": name,
      contexts: [{ name, context: { cluster: name, user: name } }],
      clusters: [{ name, cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name, user: {} }],
    };
    const folder = await mkdtemp(join(tmpdir(), "joulie-cli-"));
    const file = join(folder, "kubeconfig");
    await writeFile(file, JSON.stringify(config));
    for (const args of [["status"], ["wake", "--all"]]) {
      const { code, err } = await command([...args, "--kubeconfig", file]);
      expect([code, err]).toEqual([
        1,
        `joulie ${args[0]}: the API server: no answer: connect ECONNREFUSED 127.0.0.1:${port}\n`,
      ]);
    }
    await rm(folder, { recursive: true });
  });

  it("joulie wake and joulie power test need names or --all", async () => {
    for (const args of [["wake"], ["wake", "a", "--all"]]) {
      const { code, err } = await command(args);
      expect([code, err]).toEqual([
        2,
        "joulie wake: name nodes, or use --all; see joulie wake --help (JOULIE_E_USAGE)\n",
      ]);
    }
    for (const args of [["test"], ["test", "a", "--all"]]) {
      const { code, err } = await command(["power", ...args]);
      expect([code, err]).toEqual([
        2,
        "joulie power test: name nodes, or use --all; see joulie power test --help (JOULIE_E_USAGE)\n",
      ]);
    }
    expect((await command(["power", "test", "--help"])).out).toContain("switches them off and on");
    expect((await command(["power", "test", "--all", "--concurrency", "0"])).err).toContain("from 1 to 100");
  });

  it("prints the help with the list of programs", async () => {
    const { code, out } = await command(["--help"]);
    expect(code).toBe(0);
    for (const name of ["operator", "agent", "extender", "power", "simulate", "fleet", "demo"]) {
      expect(out).toMatch(new RegExp(`^  ${name} +[A-Z]`, "m"));
    }
  });
});
