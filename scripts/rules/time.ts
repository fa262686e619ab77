import ts from "typescript";
import { isDeclaredAround } from "./scope.ts";

/** The only files that may access system time and randomness. */
const TIME_SOURCE = /^src\/platform\/clock\//;
const CHANCE_SOURCE = /^src\/platform\/random\//;

const TIMERS = new Set(["setTimeout", "setInterval", "setImmediate", "performance"]);
const TIMER_MODULES = /^(node:)?(timers|timers\/promises|perf_hooks)$/;
const GLOBAL_OBJECTS = new Set(["globalThis", "global", "self", "window"]);
/** Properties of otherwise harmless globals that read the time or wait. */
const TIMED_PROPERTIES: Readonly<Record<string, readonly string[]>> = {
  process: ["hrtime", "uptime"],
  AbortSignal: ["timeout"],
};
const TIMELESS_DATE = ["parse", "UTC", "prototype"];

/**
 * Finds direct access to time and randomness: `Date.now`, `new Date()`, `performance`, timers and `Math.random`, also
 * when renamed, destructured or imported. All other code takes a clock and a random source as arguments.
 */
export function findDirectTimeAndRandom(path: string, text: string): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const report = (node: ts.Node, what: string, chance = false) => {
    if ((chance ? CHANCE_SOURCE : TIME_SOURCE).test(path)) return;
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
    found.push(`${path}:${line + 1}: ${what} outside ${chance ? "platform/random" : "platform/clock"}`);
  };

  const visit = (node: ts.Node): void => {
    if (ts.isExpressionWithTypeArguments(node)) return visit(node.expression);
    if (ts.isTypeNode(node)) return;
    const specifier = importedModule(node);
    if (specifier !== undefined && TIMER_MODULES.test(specifier)) report(node, `import of ${specifier}`);
    if (ts.isImportDeclaration(node)) return;
    if (ts.isIdentifier(node) && isReference(node) && !isDeclaredAround(node)) judge(node, node.text, node);
    ts.forEachChild(node, visit);
  };

  /** `use` is the expression that refers to the global `name`: `Date`, `globalThis.Date`, `globalThis["Date"]`. */
  const judge = (use: ts.Expression, name: string, at: ts.Node): void => {
    const property = propertyOf(use);
    if (GLOBAL_OBJECTS.has(name)) {
      if (property === undefined) {
        if (!isSpiedOn(use)) report(at, `${name} as a whole`);
      } else judge(use.parent as ts.Expression, property, at);
    } else if (TIMERS.has(name)) {
      report(at, name);
    } else if (name === "Date") {
      if (!isHarmlessDate(use, property)) report(at, dateUse(use, property));
    } else if (name === "Math") {
      if (property === undefined || property === "random") report(at, "Math.random", true);
    } else if (TIMED_PROPERTIES[name]?.includes(property ?? "") === true) {
      report(at, `${name}.${property}`);
    }
  };
  visit(file);
  return found;
}

/** `vi.spyOn(globalThis, "BigInt")`: a test that spies on a harmless global. */
function isSpiedOn(use: ts.Expression): boolean {
  const call = use.parent;
  if (!ts.isCallExpression(call) || !ts.isPropertyAccessExpression(call.expression)) return false;
  const [, name] = call.arguments;
  if (call.expression.name.text !== "spyOn" || name === undefined || !ts.isStringLiteralLike(name)) return false;
  return !TIMERS.has(name.text) && name.text !== "Date" && name.text !== "Math";
}

/** The module named by an import declaration, an `import()` or a re-export. */
function importedModule(node: ts.Node): string | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    return node.moduleSpecifier !== undefined && ts.isStringLiteral(node.moduleSpecifier)
      ? node.moduleSpecifier.text
      : undefined;
  }
  if (!ts.isCallExpression(node) || node.expression.kind !== ts.SyntaxKind.ImportKeyword) return undefined;
  const [specifier] = node.arguments;
  return specifier !== undefined && ts.isStringLiteralLike(specifier) ? specifier.text : undefined;
}

/** True for a variable reference, false for a property name: `clock.setTimeout`, `{ setTimeout: … }`. */
function isReference(node: ts.Identifier): boolean {
  const parent = node.parent;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isBindingElement(parent)) return parent.initializer === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isTypeElement(parent) || ts.isClassElement(parent))
    return "initializer" in parent && parent.initializer === node;
  return true;
}

/** The property read from an expression: `now` in `Date.now` and `Date["now"]`; undefined if none is read. */
function propertyOf(use: ts.Expression): string | undefined {
  const parent = use.parent;
  if (ts.isPropertyAccessExpression(parent) && parent.expression === use) return parent.name.text;
  if (!ts.isElementAccessExpression(parent) || parent.expression !== use) return undefined;
  return ts.isStringLiteralLike(parent.argumentExpression) ? parent.argumentExpression.text : undefined;
}

function isHarmlessDate(use: ts.Expression, property: string | undefined): boolean {
  const parent = use.parent;
  if (ts.isNewExpression(parent) && parent.expression === use) {
    const [first] = parent.arguments ?? [];
    return first !== undefined && !ts.isSpreadElement(first);
  }
  if (ts.isBinaryExpression(parent)) {
    return parent.right === use && parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword;
  }
  return property !== undefined && TIMELESS_DATE.includes(property);
}

function dateUse(use: ts.Expression, property: string | undefined): string {
  if (ts.isNewExpression(use.parent) && use.parent.expression === use) return "new Date()";
  return property === "now" ? "Date.now" : "Date";
}
