import ts from "typescript";

/** Where time and chance come from: the only files that may touch them. */
const TIME_SOURCE = /^src\/platform\/clock\//;
const CHANCE_SOURCE = /^src\/platform\/random\//;

const TIMERS = new Set(["setTimeout", "setInterval", "setImmediate"]);
const TIMER_MODULES = /^(node:)?(timers|timers\/promises|perf_hooks)$/;
const GLOBAL_OBJECTS = new Set(["globalThis", "global", "window", "self"]);

/**
 * Finds what would make a decision depend on the moment or on luck: `Date.now`, `new Date()`, `performance`, timers and
 * `Math.random`, also when renamed, destructured or imported. Everything else gets time and chance as arguments.
 */
export function timeAndChance(path: string, text: string): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const report = (node: ts.Node, what: string, source: string) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
    found.push(`${path}:${line + 1}: ${what} outside ${source}`);
  };
  const reportTime = (node: ts.Node, what: string) => {
    if (!TIME_SOURCE.test(path)) report(node, what, "platform/clock");
  };
  const reportChance = (node: ts.Node, what: string) => {
    if (!CHANCE_SOURCE.test(path)) report(node, what, "platform/random");
  };

  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node)) return;
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      if (TIMER_MODULES.test(node.moduleSpecifier.text)) reportTime(node, `import of ${node.moduleSpecifier.text}`);
      return;
    }
    if (ts.isIdentifier(node) && isValueReference(node)) {
      if (TIMERS.has(node.text) || node.text === "performance") reportTime(node, node.text);
      if (node.text === "Date" && !isHarmlessDate(node)) reportTime(node, dateUse(node));
      if (node.text === "Math" && !isHarmlessMath(node)) reportChance(node, "Math.random");
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** True where the name stands for the global itself: `setTimeout(…)`, `globalThis.setTimeout`, not `clock.setTimeout` or `{ setTimeout: … }`. */
function isValueReference(node: ts.Identifier): boolean {
  const parent = node.parent;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) {
    return ts.isIdentifier(parent.expression) && GLOBAL_OBJECTS.has(parent.expression.text);
  }
  if (ts.isBindingElement(parent) && parent.propertyName === node) return isGlobalDestructuring(parent);
  if (ts.isBindingElement(parent) && parent.name === node) return isGlobalDestructuring(parent);
  if (ts.isPropertyAssignment(parent) && parent.name === node) return false;
  if (ts.isTypeElement(parent) || ts.isClassElement(parent) || ts.isMethodDeclaration(parent))
    return parent.name !== node;
  if (ts.isParameter(parent) || ts.isFunctionDeclaration(parent)) return parent.name !== node;
  return true;
}

function isGlobalDestructuring(element: ts.BindingElement): boolean {
  const declaration = element.parent.parent;
  if (!ts.isVariableDeclaration(declaration) || declaration.initializer === undefined) return false;
  return ts.isIdentifier(declaration.initializer) && GLOBAL_OBJECTS.has(declaration.initializer.text);
}

/** The property read from a global: `now` of `Date.now` and of `Date["now"]`; undefined when it is used as a whole. */
function propertyOf(node: ts.Identifier): string | undefined {
  const whole = ts.isPropertyAccessExpression(node.parent) && node.parent.name === node ? node.parent : node;
  const parent = whole.parent;
  if (ts.isPropertyAccessExpression(parent) && parent.expression === whole) return parent.name.text;
  if (ts.isElementAccessExpression(parent) && parent.expression === whole) {
    return ts.isStringLiteralLike(parent.argumentExpression) ? parent.argumentExpression.text : undefined;
  }
  return undefined;
}

function isHarmlessDate(node: ts.Identifier): boolean {
  const parent = node.parent;
  if (ts.isNewExpression(parent) && parent.expression === node) return (parent.arguments?.length ?? 0) > 0;
  if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword) return true;
  return ["parse", "UTC", "prototype"].includes(propertyOf(node) ?? "");
}

function dateUse(node: ts.Identifier): string {
  if (ts.isNewExpression(node.parent)) return "new Date()";
  return propertyOf(node) === "now" ? "Date.now" : "Date";
}

function isHarmlessMath(node: ts.Identifier): boolean {
  const property = propertyOf(node);
  return property !== undefined && property !== "random";
}
