import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly gzipped: Buffer;
  readonly isImmutable: boolean;
}

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Beside the bundle, whose parts are one folder deeper; from source, where `npm run build` puts it. */
const places = ["./dashboard/", "../dashboard/", "../../../../dist/dashboard/"];

/** The folder of the built page; undefined if it was not built. */
export function assetsFolder(from: string = import.meta.url): string | undefined {
  return places
    .map((place) => fileURLToPath(new URL(place, from)))
    .find((folder) => existsSync(join(folder, "index.html")));
}

export function loadAssets(folder: string): ReadonlyMap<string, Asset> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.flatMap(({ name, parentPath }) => {
      const type = types[name.slice(name.lastIndexOf(".") + 1)];
      if (type === undefined) return [];
      const body = readFileSync(join(parentPath, name));
      const path = `/${join(parentPath, name).slice(folder.length).replace(/^\/+/, "")}`;
      const asset = { type, body, gzipped: gzipSync(body, { level: 9 }), isImmutable: path.startsWith("/assets/") };
      return path === "/index.html" ? [["/", asset] as const] : [[path, asset] as const];
    }),
  );
}

export const noAssets =
  "the page of the dashboard was not built: run npm run build, or use the image, which contains it";
