import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { sourceFiles } from "./layers.ts";

const ID = /^[A-Z]+-\d{2,}$/;

/** The ids of docs/requirements.md with their text, in order. */
export function parseRequirements(markdown: string): Map<string, string> {
  const entries = new Map<string, string>();
  for (const [, id = "", text = ""] of markdown.matchAll(/^- ([A-Z]+-\d{2,}): (.+)$/gm)) {
    if (entries.has(id)) throw new Error(`docs/requirements.md has ${id} twice`);
    entries.set(id, text);
  }
  return entries;
}

export interface NamedId {
  readonly id: string;
  readonly line: number;
}

/**
 * The ids at the start of a file's test titles. A test that is skipped (even conditionally), empty or expected to
 * fail does not count.
 */
export function namedIds(source: string): NamedId[] {
  const file = ts.createSourceFile("x.test.ts", source, ts.ScriptTarget.Latest, true);
  const found: NamedId[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      if (isSkipped(node)) return;
      if (isTest(node.expression) && node.arguments.length > 1) {
        const line = file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
        for (const id of leadingIds(titleOf(node))) found.push({ id, line });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

export interface Survey {
  readonly required: ReadonlyMap<string, string>;
  readonly tested: ReadonlySet<string>;
  /** Locations of tests with an unknown id. */
  readonly unknown: readonly string[];
}

/** Compares the ids named by tests with docs/requirements.md. */
export function surveyRequirements(root: string): Survey {
  const required = parseRequirements(readFileSync(join(root, "docs/requirements.md"), "utf8"));
  const tested = new Set<string>();
  const unknown: string[] = [];
  for (const file of ["src", "test", "scripts", "bench"].flatMap((folder) => sourceFiles(join(root, folder)))) {
    if (!/\.test\.ts$|-contract\.ts$/.test(file)) continue;
    for (const { id, line } of namedIds(readFileSync(file, "utf8"))) {
      if (required.has(id)) tested.add(id);
      else unknown.push(`${relative(root, file)}:${line}: ${id}`);
    }
  }
  return { required, tested, unknown };
}

/** `skipIf` and `runIf` depend on the machine: such a test does not count. */
const DEAD = new Set(["skip", "todo", "fails", "skipIf", "runIf"]);
const SUITES = new Set(["it", "test", "describe", "suite"]);

/** A test or suite that is skipped, possibly skipped, or expected to fail. */
function isSkipped(call: ts.CallExpression): boolean {
  const modifiers = modifiersOf(call.expression);
  if (modifiers === undefined) return false;
  return (
    modifiers.some((name) => DEAD.has(name)) || call.arguments.some((part) => optionsSkip(part) || bodySkips(part))
  );
}

/** The names after `it`, `test` or `describe` in `it.concurrent.each(…)`; undefined for other calls. */
function modifiersOf(callee: ts.Expression): string[] | undefined {
  if (ts.isIdentifier(callee)) return SUITES.has(callee.text) ? [] : undefined;
  if (ts.isCallExpression(callee)) return modifiersOf(callee.expression);
  if (ts.isTaggedTemplateExpression(callee)) return modifiersOf(callee.tag);
  if (ts.isPropertyAccessExpression(callee)) return modifiersOf(callee.expression)?.concat(callee.name.text);
  return undefined;
}

/** `{ skip: true }`, and `{ skip: !present }`, which depends on the machine. */
function optionsSkip(argument: ts.Expression): boolean {
  if (!ts.isObjectLiteralExpression(argument)) return false;
  return argument.properties.some(
    (property) =>
      ts.isPropertyAssignment(property) &&
      DEAD.has(property.name.getText()) &&
      property.initializer.kind !== ts.SyntaxKind.FalseKeyword,
  );
}

/** A body that calls `skip` of its test context: `(context) => context.skip()` or `({ skip }) => skip()`. */
function bodySkips(argument: ts.Expression): boolean {
  if (!ts.isArrowFunction(argument) && !ts.isFunctionExpression(argument)) return false;
  const context = argument.parameters[0]?.name;
  if (context === undefined) return false;
  const callee = ts.isIdentifier(context) ? `${context.text}.skip` : "skip";
  if (ts.isObjectBindingPattern(context) && !context.elements.some(({ name }) => name.getText() === "skip"))
    return false;
  const calls = (node: ts.Node): boolean =>
    (ts.isCallExpression(node) && node.expression.getText() === callee) || ts.forEachChild(node, calls) === true;
  return calls(argument.body);
}

/** `it`, `test`, `it.each(…)`, `it.for(…)`, `test.concurrent`; not suites, whose titles do not count. */
function isTest(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return callee.text === "it" || callee.text === "test";
  if (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) return isTest(callee.expression);
  return ts.isTaggedTemplateExpression(callee) && isTest(callee.tag);
}

function titleOf(call: ts.CallExpression): string {
  const [title] = call.arguments;
  if (title === undefined) return "";
  if (ts.isStringLiteralLike(title)) return title.text;
  return ts.isTemplateExpression(title) ? title.head.text : "";
}

/** Includes misspelt ids (`SHC-07`, `x-01`), so that the survey can report them. */
function leadingIds(title: string): string[] {
  const ids: string[] = [];
  for (const word of title.split(/[\s,;:/]+/)) {
    if (!ID.test(word.toUpperCase())) break;
    ids.push(word);
  }
  return ids;
}
