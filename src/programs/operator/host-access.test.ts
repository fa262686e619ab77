import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../../..");

/** The text of every module that the operator loads, without imports of types, which load nothing. */
function modulesFrom(entry: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const open = [join(root, entry)];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const name = relative(root, path);
    if (found.has(name)) continue;
    const text = readFileSync(path, "utf8").replaceAll(/^(?:import|export) type [^;]*;/gm, "");
    found.set(name, text);
    for (const target of importsOf(text)) if (target.startsWith(".")) open.push(join(dirname(path), target));
  }
  return found;
}

/** Static and dynamic ones. */
const importsOf = (text: string): string[] =>
  Array.from(text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g), ([, target = ""]) => target);

it("OPR-01 imports no module that accesses the host's power interfaces", () => {
  const modules = modulesFrom("src/programs/operator/index.ts");
  expect(modules.size).toBeGreaterThan(100);
  const names = [...modules.keys()];
  expect(names.filter((name) => /^src\/(?:platform\/(?:hardware|journal)|programs\/agent)\//.test(name))).toEqual([]);
  const using = (pattern: RegExp) =>
    [...modules].flatMap(([name, text]) => (importsOf(text).some((one) => pattern.test(one)) ? [name] : []));
  expect(using(/^(?:koffi|node:ffi|node:worker_threads)/)).toEqual([]);
  // A kubeconfig may name a program that prints credentials.
  expect(using(/^node:child_process/)).toEqual(["src/platform/kube/auth/exec-plugin.ts"]);
  // Files are read, for the cluster's credentials, and never written.
  const files = [...modules.values()].flatMap((text) =>
    Array.from(text.matchAll(/import ([^;]*?) from "node:fs[^"]*"/g), ([, clause = ""]) => clause),
  );
  const reading = new Set(["existsSync", "readFile", "readFileSync"]);
  const imported = files.flatMap((clause) => clause.split(/[{},\s]+/).filter((one) => one !== ""));
  expect(imported.filter((one) => !reading.has(one))).toEqual([]);
  expect(files).toHaveLength(using(/^node:fs/).length);
});
