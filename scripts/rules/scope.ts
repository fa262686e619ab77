import ts from "typescript";

/** True if the file declares the name in a scope around the node, so that it does not refer to the global. */
export function isDeclaredAround(node: ts.Identifier): boolean {
  for (let scope: ts.Node = node.parent; scope !== undefined; scope = scope.parent) {
    if (namesDeclaredBy(scope).has(node.text)) return true;
  }
  return false;
}

const known = new WeakMap<ts.Node, ReadonlySet<string>>();

function namesDeclaredBy(scope: ts.Node): ReadonlySet<string> {
  let names = known.get(scope);
  if (names === undefined) {
    names = new Set(declarationsOf(scope).flatMap(boundNames));
    known.set(scope, names);
  }
  return names;
}

/** The names that a node declares for its contents. */
function declarationsOf(scope: ts.Node): ts.BindingName[] {
  if (ts.isFunctionLike(scope)) return scope.parameters.map(({ name }) => name);
  if (ts.isCatchClause(scope)) return scope.variableDeclaration === undefined ? [] : [scope.variableDeclaration.name];
  if (ts.isForStatement(scope) || ts.isForOfStatement(scope) || ts.isForInStatement(scope)) {
    const { initializer } = scope;
    return initializer !== undefined && ts.isVariableDeclarationList(initializer)
      ? initializer.declarations.map(({ name }) => name)
      : [];
  }
  return ts.isSourceFile(scope) || ts.isBlock(scope) || ts.isCaseOrDefaultClause(scope)
    ? [...scope.statements].flatMap(declaredByStatement)
    : [];
}

function declaredByStatement(statement: ts.Statement): ts.BindingName[] {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.map(({ name }) => name);
  if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement))
    return statement.name ? [statement.name] : [];
  if (!ts.isImportDeclaration(statement) || statement.importClause === undefined) return [];
  const { name, namedBindings } = statement.importClause;
  const own = name === undefined ? [] : [name];
  if (namedBindings === undefined) return own;
  return ts.isNamespaceImport(namedBindings)
    ? [...own, namedBindings.name]
    : [...own, ...namedBindings.elements.map((element) => element.name)];
}

function boundNames(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? boundNames(element.name) : []));
}
