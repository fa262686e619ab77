// Finds where a program reads its variables, and what each read looks like with the default written in its place.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { type ConfigSchema, parseConfig, variableNames } from "../../src/platform/config/index.ts";
import { sourceFiles } from "../rules/layers.ts";

/** One read of one variable, hard-coded. */
export interface Mutant {
  readonly variable: string;
  /** Absolute. */
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** In a rule of the configuration, which says whether a program starts. */
  readonly ofRule: boolean;
  /** The same only while `condition` holds; else the read as it is. */
  readonly switched: (condition: string) => string;
}

const root = join(import.meta.dirname, "../..");
/** Read the variables that every program has, for all of them. The table of the operator has their rows. */
const SHARED_FILES = ["src/platform/config/every-program.ts", "src/programs/run-in-cluster.ts"];
/** Only for tests; nothing of it is in a program. */
const isForTests = (file: string): boolean =>
  /\.test\.ts$|\/(?:trial|fake-[\w-]+|control-service)\.ts$|\/testing\//.test(file);

/** Every read of a variable of these configurations, in a program's own folder and where all programs share one. */
export function mutantsOf(program: string, configs: readonly ConfigSchema[]): Mutant[] {
  const defaults = new Map(configs.flatMap((config) => [...hardCodedDefaults(config)]));
  const own = sourceFiles(join(root, "src/programs", program)).filter((file) => !isForTests(file));
  const shared = program === "operator" ? SHARED_FILES.map((file) => join(root, file)) : [];
  const reads = [...own, ...shared].flatMap((file) => mutantsIn(file, defaults));
  // config.test.ts has the rules between variables. One counts here where nothing else reads the variable.
  const read = new Set(reads.filter(({ ofRule }) => !ofRule).map(({ variable }) => variable));
  return reads.filter(({ ofRule, variable }) => !ofRule || !read.has(variable));
}

/** Where a default would reach out of the test, to the host or to a port for all to see, something harmless stands for it. */
function hardCodedDefaults(config: ConfigSchema): Map<string, string> {
  const machine = { isTerminal: false, exists: () => false };
  const parsed = parseConfig(config, { env: {}, flags: {}, machine });
  if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("; "));
  const { values } = parsed.value;
  const code = (value: unknown): string => {
    if (typeof value === "string" && value.startsWith("/")) return '"/dev/null/joulie-mutant"';
    if (typeof value === "object" && value !== null && "port" in value) return '{ host: "127.0.0.1", port: 0 }';
    return JSON.stringify(value) ?? "undefined";
  };
  return new Map(variableNames(config).map((name) => [name, code(values[name])]));
}

function mutantsIn(file: string, defaults: ReadonlyMap<string, string>): Mutant[] {
  const text = readFileSync(file, "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  let inRule = false;
  const add = (
    node: ts.Node,
    variable: string,
    { replacement, switched }: Pick<Mutant, "replacement" | "switched">,
  ) => {
    const [start, end] = [node.getStart(source), node.getEnd()];
    const line = source.getLineAndCharacterOfPosition(start).line + 1;
    mutants.push({ variable, file, line, start, end, replacement, switched, ofRule: inRule });
  };
  const addRead = (node: ts.Node, variable: string): void => {
    const value = defaults.get(variable);
    if (value === undefined) return;
    const switched = (condition: string) => `(${condition} ? (${value}) : ${node.getText(source)})`;
    add(node, variable, { replacement: `(${value})`, switched });
  };
  /** Something of another name, which is not there, so that the default counts. */
  const addBinding = (node: ts.Node, variable: string, local: string): void => {
    const value = defaults.get(variable);
    if (value === undefined) return;
    const of = (name: string) => `${name}: ${local} = ${value}`;
    const switched = (condition: string) => of(`[${condition} ? "absent" : "${variable}"]`);
    add(node, variable, { replacement: of('"absent"'), switched });
  };
  const visit = (node: ts.Node): void => {
    const isRule = ts.isPropertyAssignment(node) && node.name.getText(source) === "holds";
    if (isRule) inRule = true;
    if (ts.isTypeNode(node)) return;
    // config.NAME
    if (ts.isPropertyAccessExpression(node) && !node.expression.getText(source).endsWith(".shape"))
      addRead(node, node.name.text);
    // texts["NAME"]
    if (ts.isElementAccessExpression(node) && ts.isStringLiteral(node.argumentExpression))
      addRead(node, node.argumentExpression.text);
    // { NAME } and { NAME: local }
    if (ts.isBindingElement(node) && ts.isIdentifier(node.name)) {
      const name = node.propertyName ?? node.name;
      if (ts.isIdentifier(name)) addBinding(node, name.text, node.name.text);
    }
    ts.forEachChild(node, visit);
    if (isRule) inRule = false;
  };
  visit(source);
  return mutants;
}

/** The file with all of its mutants in it, each of them behind its own condition. */
export const withMutants = (text: string, mutants: readonly (Mutant & { readonly condition: string })[]): string =>
  mutants
    .toSorted((a, b) => b.start - a.start)
    .reduce(
      (all, { start, end, switched, condition }) => all.slice(0, start) + switched(condition) + all.slice(end),
      text,
    );
