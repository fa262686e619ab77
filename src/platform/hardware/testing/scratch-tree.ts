import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type HostTree, noData } from "./fake-host.ts";

/** Writes a tree to a folder of real files. */
export function scratchTree(tree: HostTree): { readonly root: string; readonly remove: () => void } {
  const root = mkdtempSync(join(tmpdir(), "joulie-host-"));
  for (const folder of tree.folders ?? []) mkdirSync(join(root, folder), { recursive: true });
  for (const [path, target] of Object.entries(tree.links ?? {})) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    symlinkSync(target, join(root, path));
  }
  for (const [path, text] of Object.entries(tree.files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), text === noData ? "" : `${text}\n`);
  }
  return { root, remove: () => rmSync(root, { recursive: true }) };
}
