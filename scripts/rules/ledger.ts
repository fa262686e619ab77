import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { sourceFiles } from "./layers.ts";

const ID = /^[A-Z]+-\d{2,}$/;

/** The ids of docs/requirements.md with their text, in order. */
export function ledger(markdown: string): Map<string, string> {
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

/** The ids that test titles of a file start with. A test that is skipped, empty or meant to fail proves nothing and does not count. */
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
  /** Places whose test names an id that the ledger does not have. */
  readonly unknown: readonly string[];
}

/** What the tests of the repository prove of its ledger. */
export function survey(root: string): Survey {
  const required = ledger(readFileSync(join(root, "docs/requirements.md"), "utf8"));
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

const DEAD = new Set(["skip", "todo", "fails"]);

/** `it.skip(…)`, `describe.skip(…)`, `it.todo(…)`, `it.fails(…)`, and options that say the same. */
function isSkipped(call: ts.CallExpression): boolean {
  if (ts.isPropertyAccessExpression(call.expression) && DEAD.has(call.expression.name.text)) return true;
  return call.arguments.some(
    (argument) =>
      ts.isObjectLiteralExpression(argument) &&
      argument.properties.some(
        (property) =>
          ts.isPropertyAssignment(property) &&
          DEAD.has(property.name.getText()) &&
          property.initializer.kind === ts.SyntaxKind.TrueKeyword,
      ),
  );
}

/** `it`, `test`, `it.each(…)`, `it.for(…)`, `test.concurrent`. */
function isTest(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return callee.text === "it" || callee.text === "test";
  if (ts.isCallExpression(callee)) return isTest(callee.expression);
  if (ts.isTaggedTemplateExpression(callee)) return isTest(callee.tag);
  if (ts.isPropertyAccessExpression(callee)) return !DEAD.has(callee.name.text) && isTest(callee.expression);
  return false;
}

function titleOf(call: ts.CallExpression): string {
  const [title] = call.arguments;
  if (title === undefined) return "";
  if (ts.isStringLiteralLike(title)) return title.text;
  return ts.isTemplateExpression(title) ? title.head.text : "";
}

/** Misspelt ones too (`SHC-07`, `x-01`), so that the survey can complain about them. */
function leadingIds(title: string): string[] {
  const ids: string[] = [];
  for (const word of title.split(/[\s,;:/]+/)) {
    if (!ID.test(word.toUpperCase())) break;
    ids.push(word);
  }
  return ids;
}
