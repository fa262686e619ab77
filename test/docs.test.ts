import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { variableNames } from "../src/platform/config/index.ts";
import { programs } from "../src/programs/index.ts";

const root = join(import.meta.dirname, "..");
const readers = ["README.md", "CONTRIBUTING.md", "docs/**/*.md", "charts/**/*.{md,yaml,yml,tpl,txt,json}"];

/** Upper-case names that a page may use though no program reads them as a variable. */
const notOurs: Readonly<Record<string, string>> = {
  CI: "set by CI services; the tests read it",
  NO_COLOR: "a convention of terminals that libraries follow",
  JOULIE_TRACES_DIR: "where the tests find traces to replay",
};

/** Names of a kind rather than of a variable. */
const otherKinds: readonly RegExp[] = [
  /^JOULIE_E_/, // error codes; docs/reference/errors.md lists them
  /^[A-Z0-9_]+_(SERVICE_HOST|SERVICE_PORT|PORT)(_|$)/, // set by Kubernetes for every Service
];

const NAME = "[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+";

/** `A_{B,C}_D` stands for `A_B_D` and `A_C_D`. */
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
 * The names in a text that look like variables of ours and are none: those that begin as one of ours does, and those
 * that stand where a variable is set (`NAME=value`, or `name: NAME` in a manifest).
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

const configs = await Promise.all(programs.map(async (program) => program.config()));
const known = new Set(configs.flatMap(variableNames));

describe("the pages", () => {
  const pages = globSync(readers, { cwd: root }).toSorted();

  it("are found", () => {
    expect(pages).toEqual(expect.arrayContaining(["README.md", "CONTRIBUTING.md", "docs/reference/configuration.md"]));
  });

  it.each(pages)("X-67 %s names only variables the code reads", (page) => {
    expect(unknownVariables(readFileSync(join(root, page), "utf8"), known)).toEqual([]);
  });

  it("X-67 the reference names every variable the code reads", () => {
    const reference = readFileSync(join(root, "docs/reference/configuration.md"), "utf8");
    expect([...known].filter((name) => !reference.includes(`\`${name}\``))).toEqual([]);
  });
});

describe("X-67 the search for variables nobody reads", () => {
  it.each([
    ["an invented name", "Set `STATIC_HP_FRACTION` to 0.4.", ["STATIC_HP_FRACTION"]],
    ["an invented name that begins like none of ours", "Run `POWER_BUDGET=3 joulie operator`.", ["POWER_BUDGET"]],
    ["an invented name in a manifest", 'env:\n  - name: SHINY_THING\n    value: "1"', ["SHINY_THING"]],
    ["an invented name among choices", "QUEUE_HP_{MIN,MEAN}", ["QUEUE_HP_MEAN"]],
    ["a family that is not there", "all of QUEUE_LP_*", ["QUEUE_LP"]],
    ["each name once", "POOL_SIZE=1, then POOL_SIZE=2", ["POOL_SIZE"]],
  ])("finds %s", (_, text, names) => {
    expect(unknownVariables(text, known)).toEqual(names);
  });

  it.each([
    ["variables of ours", "STATIC_HP_FRAC=0.4 and `CPU_{PERFORMANCE,ECO}_CAP_PCT_OF_MAX`, KUBECONFIG=~/x"],
    ["a family of ours", "TELEMETRY_* and TELEMETRY_HTTP_*"],
    ["error codes", "JOULIE_E_CONFIG_VALUE"],
    ["Kubernetes' service variables", "KUBERNETES_SERVICE_HOST=10.0.0.1 and NODE_EXPORTER_PORT_9100_TCP"],
    ["acronyms and shouting", "CPU, GPU, RAPL, TDP: DO_NOT touch"],
    ["lower-case names with a part in upper case", "my_STATIC_THING and metric_STATIC_x"],
  ])("leaves %s alone", (_, text) => {
    expect(unknownVariables(text, known)).toEqual([]);
  });
});
