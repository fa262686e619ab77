import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const page = join(root, "dist/dashboard/index.html");
const sources = ["web", "src/programs/dashboard/wire.ts", "package-lock.json"];

/** Builds the dashboard's page into dist/dashboard. */
export async function buildWeb(): Promise<void> {
  // Loaded only here: starting the demo with a current page must not wait for it.
  const { build } = await import("vite");
  await build({ configFile: join(root, "web/vite.config.ts"), logLevel: "warn" });
}

/** Builds the page if a source is newer. */
export async function buildWebIfOld(): Promise<void> {
  if (changedAt(page) < Math.max(...sources.flatMap((path) => filesOf(join(root, path)).map(changedAt))))
    await buildWeb();
}

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

const changedAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
