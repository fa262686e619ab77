// `node scripts/image/root.ts FOLDER` writes the file system of the image: Node, the libraries it needs, the bundle, the
// dashboard's page and koffi. The Dockerfile and `npm run image` both run it, so their images contain the same files.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bundle } from "../bundle.ts";
import { buildWeb } from "../web.ts";

const repository = join(import.meta.dirname, "../..");

/** Writes the image's files below `folder` and returns the libraries copied from this machine. */
export async function writeImageRoot(folder: string, node: string = process.execPath): Promise<readonly string[]> {
  rmSync(folder, { recursive: true, force: true });
  const binary = join(folder, "usr/local/bin/node");
  copy(realpathSync(node), binary);
  // A sixth of the released binary is symbols for debuggers.
  tool("strip", [binary]);
  chmodSync(binary, 0o755);
  const libraries = librariesOf(node);
  for (const library of libraries) copy(realpathSync(library), join(folder, library));
  await bundle(join(folder, "app/joulie.mjs"));
  await buildWeb();
  copy(join(repository, "dist/dashboard"), join(folder, "app/dashboard"));
  copyKoffi(join(folder, "app/node_modules"));
  cpSync(join(repository, "LICENSE"), join(folder, "app/LICENSE"));
  mkdirSync(join(folder, "etc"), { recursive: true });
  writeFileSync(join(folder, "etc/passwd"), "root:x:0:0:root:/:/\njoulie:x:65532:65532:joulie:/:/\n");
  writeFileSync(join(folder, "etc/group"), "root:x:0:\njoulie:x:65532:\n");
  // glibc's own default asks DNS alone.
  writeFileSync(join(folder, "etc/nsswitch.conf"), "hosts: files dns\n");
  mkdirSync(join(folder, "tmp"), { recursive: true });
  chmodSync(join(folder, "tmp"), 0o1777);
  return libraries;
}

/** The shared libraries of Node, the loader included, at the paths where the loader looks for them. */
function librariesOf(node: string): string[] {
  const lines = tool("ldd", [node]).split("\n");
  return lines.flatMap((line) => /(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}

/** The loader's JavaScript and the native library for this platform; neither C++ sources nor documentation. */
function copyKoffi(modules: string): void {
  const platform = `@koromix/koffi-linux-${process.arch}`;
  const installed = join(repository, "node_modules");
  const files = ["package.json", "LICENSE.txt", "index.js", "src/koffi/index.js", "src/koffi/src/static.js"];
  for (const file of files) copy(join(installed, "koffi", file), join(modules, "koffi", file));
  for (const file of ["package.json", "index.js", `linux_${process.arch}`]) {
    copy(join(installed, platform, file), join(modules, platform, file));
  }
}

function copy(from: string, to: string): void {
  if (!existsSync(from)) throw new Error(`${from} is missing; run "npm install"`);
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true });
}

function tool(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")} failed: ${error?.message ?? stderr.trim()}`);
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error("usage: node scripts/image/root.ts FOLDER");
  await writeImageRoot(folder);
}
