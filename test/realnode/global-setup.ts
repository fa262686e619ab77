import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { type BuiltImage, buildImage } from "../../scripts/image/build.ts";
import buildPrograms from "../cluster/global-setup.ts";
import { ownerMark } from "../controlplane/owner.ts";
import { folderPrefix } from "./leftovers.ts";

declare module "vitest" {
  interface ProvidedContext {
    image: BuiltImage;
  }
}

/** Builds the programs and the image once for all files. */
export default async function setup(project: TestProject): Promise<() => void> {
  await buildPrograms();
  // The name makes the next run remove it if this one is killed.
  const folder = mkdtempSync(join(tmpdir(), `${folderPrefix}${ownerMark()}-image-`));
  project.provide("image", await buildImage(folder, "localhost/joulie:dev"));
  return () => rmSync(folder, { recursive: true, force: true });
}
