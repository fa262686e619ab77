import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { flagOf, removedFrom, variableNames } from "../src/platform/config/index.ts";
import { programs } from "../src/programs/index.ts";

const root = join(import.meta.dirname, "..");
const readers = ["*.md", "docs/**/*.md", "charts/**/*.{md,yaml,yml,tpl,txt,json}"];

/** Upper-case names that a page may use although no program reads them as a variable. */
const notOurs: Readonly<Record<string, string>> = {
  CI: "set by CI services; the tests read it",
  KUBECONFIG: "read by kubectl and Joulie",
  NO_COLOR: "a convention of terminals that libraries follow",
  MALLOC_ARENA_MAX: "read by the C library",
  NODE_OPTIONS: "read by Node itself",
  NVIDIA_VISIBLE_DEVICES: "read by NVIDIA's container runtime",
  NVIDIA_DRIVER_CAPABILITIES: "read by NVIDIA's container runtime",
  JOULIE_TRACES_DIR: "where the tests find traces to replay",
  JOULIE_BENCH_NODES: "sets the size of the cluster that a bench creates",
  JOULIE_BUNDLES: "names the bundles that a bench compares",
  JOULIE_TEST_SEED: "repeats a run of a randomized test",
  JOULIE_GUIDE_RESULTS: "asks the tests to run the long tables of a guide again",
};

/** Patterns of names that are not variables of ours. */
const otherKinds: readonly RegExp[] = [
  /^JOULIE_E_/, // error codes; docs/reference/errors.md lists them
  /^[A-Z0-9_]+_(SERVICE_HOST|SERVICE_PORT|PORT)(_|$)/, // set by Kubernetes for every Service
];

/** Flags that a page may name although none of our programs reads them. */
const othersFlags: ReadonlySet<string> = new Set([
  "--max-semi-space-size", // Node's own
  "--max-old-space-size",
  "--wasm-tiering-budget",
  "--no-parallel-scavenge",
  "--expose-gc",
  "--kube-scheduler-arg", // of k3s
  "--namespace", // of joulie scheduler-config, which reads no variables
  "--timeout", // of joulie uninstall, which reads no variables
  "--keep-objects", // of joulie uninstall
  "--name", // of joulie check, which reads no variables
  "--programs",
  "--node-selector",
  "--report-only",
  "--service",
  "--port",
  "--scheduler-name",
  "--tls",
  "--host",
  "--lease", // of joulie uninstall
  "--ca-file",
  "--cert-file",
  "--key-file",
  "--whole-nodes",
  "--energy",
  "--yes", // of joulie power import, which reads no variables
  "--pattern",
  "--secret",
  "--metal3",
  "--type",
  "--no-labels",
  "--concurrency", // of joulie power test
  "--drain",
  "--all",
  "--sort-by", // of the console's commands, which read no variables
  "--filter",
  "--once",
  "--no-headers",
  "--context",
  "--installation",
  "--extender-weight",
  "--profile",
  "--cpu-cap",
  "--gpu-cap",
  "--for",
  "--since",
  "--dashboard",
  "--prometheus",
  "--operator",
  "--extender",
  "--window",
  "--interval",
  "--price",
  "--currency",
  "--carbon",
  "--pue",
  "--file",
  "--watch",
]);

const NAME = "[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+";

/** Expands `A_{B,C}_D` to `A_B_D` and `A_C_D`. */
function withoutBraces(text: string): string {
  const braces = /\b([A-Z][A-Z0-9_]*_)?\{([A-Z0-9_]+(?:,[A-Z0-9_]+)+)\}((?:_[A-Z0-9]+)*)/g;
  return text.replaceAll(braces, (_, before: string | undefined, choices: string, after: string) =>
    choices
      .split(",")
      .map((choice) => `${before ?? ""}${choice}${after}`)
      .join(" "),
  );
}

/**
 * The unknown names in a text that look like our variables: names with the prefix of one of ours, and names
 * in the place of a variable (`NAME=value`, or `name: NAME` in a manifest).
 */
function unknownVariables(text: string, known: ReadonlySet<string>): string[] {
  const beginnings = new Set([...known].filter((name) => name.includes("_")).map((name) => name.split("_")[0]));
  const names = new RegExp(`(name: *["']?)?(?<![A-Za-z0-9_])(${NAME})(?![A-Za-z0-9])(_?\\*|=)?`, "g");
  const unknown = new Set<string>();
  for (const [, named, name = "", ending] of withoutBraces(text).matchAll(names)) {
    const set = ending === "=" || named !== undefined;
    if (!set && !beginnings.has(name.split("_")[0])) continue;
    if (known.has(name) || name in notOurs || otherKinds.some((kind) => kind.test(name))) continue;
    // `TELEMETRY_HTTP_*` names several at once.
    if (ending?.endsWith("*") && [...known].some((variable) => variable.startsWith(name))) continue;
    unknown.add(name);
  }
  return [...unknown];
}

/**
 * The unknown flags in a text that look like ours: flags of several words with the prefix of one of ours,
 * and flags passed to a `joulie` command.
 */
function unknownFlags(text: string, known: ReadonlySet<string>): string[] {
  const beginnings = [...known].map((flag) => /^--\w+-/.exec(flag)?.[0] ?? `${flag}-`);
  const unknown = new Set<string>();
  for (const line of text.split("\n")) {
    for (const { 0: flag, index } of line.matchAll(/(?<![\w!-])--[a-z][a-z0-9-]*/g)) {
      const before = line.slice(0, index);
      // A release of Helm is called joulie as well.
      const given = /\bjoulie(?:\.mjs)?\s[^`|;&]*$/.test(before) && !/\b(helm|kubectl)\b/.test(before);
      const similar = beginnings.some((beginning) => flag.startsWith(beginning));
      if ((given || similar) && !known.has(flag) && !othersFlags.has(flag)) unknown.add(flag);
    }
  }
  return [...unknown];
}

/** The repository paths that a text names, and the targets of its relative links. */
function missingFiles(text: string, folder: string): string[] {
  const paths = text.matchAll(/(?<![\w./-])(?:src|test|bench|scripts|charts|docs)\/[\w./-]*\w/g);
  const links = text.matchAll(/\]\((?!\w+:|#)([\w./-]+)(?:#[\w-]*)?\)/g);
  const named = [...Array.from(paths, ([path]) => path), ...Array.from(links, ([, link = ""]) => join(folder, link))];
  return [...new Set(named)].filter((path) => !existsSync(join(root, path)));
}

interface Step {
  readonly command: string;
  readonly output: string;
}

/** The commands in the console blocks of a page, each with the output that the page shows. */
function consoleSteps(page: string): Step[] {
  const blocks = [...page.matchAll(/^```console\n(.*?)^```/gms)].map(([, block = ""]) => block);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command = "", ...output] = step.trimEnd().split("\n");
        return { command, output: output.join("\n") };
      }),
  );
}

/** The output of a command at the root of the checkout, without our variables in the environment. */
function printedBy(command: string): string {
  const PATH = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const { stdout } = spawnSync("sh", ["-c", `exec 2>&1\n${command}`], { cwd: root, env: { PATH }, encoding: "utf8" });
  return stdout.trimEnd();
}

const all = programs.flatMap((program) => [program, ...(program.actions ?? [])]);
const configs = await Promise.all(all.map(async (program) => program.config()));
const known = new Set(configs.flatMap(variableNames));
const removed = programs.flatMap(({ name }) => removedFrom(name));
/** They name variables of earlier versions: what to do instead, and what the chart still accepts. */
const namesOfOldVersions: ReadonlySet<string> = new Set(["CHANGELOG.md", "charts/joulie/values.schema.json"]);
const knownFlags = new Set([...known].map(flagOf).concat("--help", "--version", "--print-config"));
/** Flags of `joulie wake` and `joulie uninstall`, which are no programs. */
const commandFlags = ["--all", "--release", "--power-lease", "--image", "--client-kubeconfig"];

describe("documentation pages", () => {
  const pages = globSync(readers, { cwd: root }).toSorted();

  it("are found", () => {
    const some = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/reference/configuration.md"];
    expect(pages).toEqual(expect.arrayContaining(some));
  });

  it.each(pages)("X-67 %s names only variables the code reads", (page) => {
    const accepted = namesOfOldVersions.has(page) ? new Set([...known, ...removed]) : known;
    expect(unknownVariables(readFileSync(join(root, page), "utf8"), accepted)).toEqual([]);
  });

  it.each(pages)("X-67 %s names only flags the code reads", (page) => {
    const unknown = unknownFlags(readFileSync(join(root, page), "utf8"), knownFlags);
    expect(unknown.filter((flag) => !commandFlags.includes(flag))).toEqual([]);
  });

  it.each(pages.filter((page) => page.endsWith(".md")))("%s names only files that exist", (page) => {
    expect(missingFiles(readFileSync(join(root, page), "utf8"), dirname(page))).toEqual([]);
  });

  it("X-67 the reference names every variable that the code reads, and lists flag-only settings as flags", () => {
    const reference = readFileSync(join(root, "docs/reference/configuration.md"), "utf8");
    const named = (name: string) => reference.includes(`\`${name}\``) || reference.includes(`| \`${flagOf(name)}\` |`);
    expect([...known].filter((name) => !named(name))).toEqual([]);
  });
});

describe("X-67 the search for unknown variables", () => {
  it.each([
    ["an invented name", "Set `STATIC_HP_FRACTION` to 0.4.", ["STATIC_HP_FRACTION"]],
    ["an invented name without a prefix of ours", "Run `POWER_BUDGET=3 joulie operator`.", ["POWER_BUDGET"]],
    ["an invented name in a manifest", 'env:\n  - name: SHINY_THING\n    value: "1"', ["SHINY_THING"]],
    ["an invented name among choices", "QUEUE_HP_{MIN,MEAN}", ["QUEUE_HP_MEAN"]],
    ["an unknown family of names", "all of QUEUE_LP_*", ["QUEUE_LP"]],
    ["each name once", "POOL_SIZE=1, then POOL_SIZE=2", ["POOL_SIZE"]],
  ])("reports %s", (_, text, names) => {
    expect(unknownVariables(text, known)).toEqual(names);
  });

  it.each([
    ["variables of ours", "STATIC_HP_FRAC=0.4 and `CPU_{PERFORMANCE,ECO}_CAP_PCT_OF_MAX`, KUBECONFIG=~/x"],
    ["a family of ours", "TELEMETRY_* and TELEMETRY_HTTP_*"],
    ["error codes", "JOULIE_E_CONFIG_VALUE"],
    ["Kubernetes' service variables", "KUBERNETES_SERVICE_HOST=10.0.0.1 and NODE_EXPORTER_PORT_9100_TCP"],
    ["acronyms and words in capitals", "CPU, GPU, RAPL, TDP: DO_NOT touch"],
    ["lower-case names with an upper-case part", "my_STATIC_THING and metric_STATIC_x"],
  ])("accepts %s", (_, text) => {
    expect(unknownVariables(text, known)).toEqual([]);
  });
});

describe("X-67 the search for unknown flags", () => {
  it.each([
    ["an invented flag", "Add `--static-hp-fraction 0.4`.", ["--static-hp-fraction"]],
    ["an invented flag of a manifest", "args:\n  - --pool-size=3", ["--pool-size"]],
    ["an invented flag without a prefix of ours", "`node bin/joulie.mjs operator --shiny`", ["--shiny"]],
    ["an invented flag among others", "joulie agent --log-level=warn --shiny x | grep --color y", ["--shiny"]],
  ])("reports %s", (_, text, flags) => {
    expect(unknownFlags(text, knownFlags)).toEqual(flags);
  });

  it.each([
    ["flags of ours", "`joulie operator --static-hp-frac 0.4 --print-config` and `joulie --version`"],
    ["flags of other programs", "kubectl get nodes --field-selector x; biome check --write; joulie demo | less --raw"],
    ["comments, arrows and rules", "<!--static --> a -- b --> c\n| --- |\n-----BEGIN"],
  ])("accepts %s", (_, text) => {
    expect(unknownFlags(text, knownFlags)).toEqual([]);
  });
});

describe("the search for missing files", () => {
  it("reports paths and links without a file", () => {
    expect(missingFiles("See `src/core/gone.ts` and [it](gone.md#part).", "docs")).toEqual([
      "src/core/gone.ts",
      "docs/gone.md",
    ]);
  });

  it("accepts existing files, folders, patterns and links to other sites", () => {
    const text =
      "`src/core/units`, `test/docs.test.ts`, src/**/x.test.ts, [a](../README.md#top), [b](https://a.example/b)";
    expect(missingFiles(text, "docs")).toEqual([]);
  });
});

describe("the console blocks of README and operator guide", () => {
  const steps = ["README.md", "docs/guides/operator.md"].flatMap((page) =>
    consoleSteps(readFileSync(join(root, page), "utf8")),
  );

  it("are found, each command with its output", () => {
    expect(steps.length).toBeGreaterThan(0);
    const page = "```console\n$ echo a\na\n\n$ true\n$ echo b | cat\nb\n$5\n```\n```\n$ no\n```\n";
    expect(consoleSteps(page)).toEqual([
      { command: "echo a", output: "a" },
      { command: "true", output: "" },
      { command: "echo b | cat", output: "b\n$5" },
    ]);
  });

  it.each(steps)("show the actual output of: $command", ({ command, output }) => {
    expect(printedBy(command)).toBe(output);
  });
});
