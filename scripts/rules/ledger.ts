import ts from "typescript";

/** The ids of docs/requirements.md with their text, in order. */
export function ledger(markdown: string): Map<string, string> {
  const lines = markdown.matchAll(/^- ((?:AGT|OPR|POL|SCH|TWN|X)-\d+): (.+)$/gm);
  return new Map([...lines].map(([, id, text]) => [id ?? "", text ?? ""]));
}

export interface NamedId {
  readonly id: string;
  readonly line: number;
}

/** The ids that test titles of a file start with, of the given sections. A skipped test proves nothing and does not count. */
export function namedIds(source: string, sections: ReadonlySet<string>): NamedId[] {
  const file = ts.createSourceFile("x.test.ts", source, ts.ScriptTarget.Latest, true);
  const found: NamedId[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && isTest(node.expression)) {
      const line = file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
      for (const id of leadingIds(titleOf(node), sections)) found.push({ id, line });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** `it`, `test`, `it.each(…)`, `it.for(…)`, `test.concurrent`; not `it.skip` or `it.todo`. */
function isTest(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return callee.text === "it" || callee.text === "test";
  if (ts.isCallExpression(callee)) return isTest(callee.expression);
  if (ts.isTaggedTemplateExpression(callee)) return isTest(callee.tag);
  if (ts.isPropertyAccessExpression(callee))
    return !["skip", "todo"].includes(callee.name.text) && isTest(callee.expression);
  return false;
}

function titleOf(call: ts.CallExpression): string {
  const [title] = call.arguments;
  if (title === undefined) return "";
  if (ts.isStringLiteralLike(title)) return title.text;
  return ts.isTemplateExpression(title) ? title.head.text : "";
}

function leadingIds(title: string, sections: ReadonlySet<string>): string[] {
  const ids: string[] = [];
  for (const word of title.split(/[\s,:]+/)) {
    const id = /^([A-Z]+)-\d+$/.exec(word);
    if (id === null || !sections.has(id[1] ?? "")) break;
    ids.push(word);
  }
  return ids;
}
