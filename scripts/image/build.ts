import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { imageConfig, imageSizeLimit } from "./layout.ts";
import { writeImageRoot } from "./root.ts";
import { billOfMaterials } from "./sbom.ts";

const repository = join(import.meta.dirname, "../..");

export interface BuiltImage {
  /** OCI archive. */
  readonly archive: string;
  readonly sbom: string;
  readonly reference: string;
  /** Uncompressed size in bytes. */
  readonly bytes: number;
}

/** Builds the image without a registry or daemon, and its bill of materials beside it. `say` receives each step. */
export async function buildImage(
  folder: string,
  reference: string,
  say: (step: string) => void = () => {},
): Promise<BuiltImage> {
  const { version } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as { version: string };
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), "joulie-image-"));
  try {
    const root = join(work, "root");
    say("bundling Joulie, and collecting Node and its libraries");
    const libraries = await writeImageRoot(root);
    const bytes = sizeOf(root);
    if (bytes > imageSizeLimit) throw new Error(`the image has ${bytes} bytes, more than ${imageSizeLimit}`);
    const archive = join(folder, "joulie.oci.tar");
    say(`packing ${(bytes / 1e6).toFixed(0)} MB with buildah`);
    pack(work, root, archive, reference, version);
    const sbom = join(folder, "joulie.cdx.json");
    say("writing the bill of materials");
    const bill = billOfMaterials(join(repository, "package-lock.json"), version, libraries);
    writeFileSync(sbom, `${JSON.stringify(bill, undefined, 2)}\n`);
    return { archive, sbom, reference, bytes };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function pack(work: string, root: string, archive: string, reference: string, version: string): void {
  const storage = ["--storage-driver", "vfs", "--root", join(work, "storage"), "--runroot", join(work, "run")];
  const buildah = (...args: string[]) => tool("buildah", [...storage, ...args]).trim();
  const container = buildah("from", "scratch");
  buildah("copy", "--quiet", container, root, "/");
  const labels = {
    ...imageConfig.labels,
    [imageConfig.buildLabels.version]: version,
    [imageConfig.buildLabels.revision]: revision(),
  };
  buildah(
    "config",
    "--user",
    imageConfig.user,
    "--workingdir",
    imageConfig.workingDirectory,
    "--entrypoint",
    JSON.stringify(imageConfig.entrypoint),
    ...Object.entries(imageConfig.environment).flatMap(([name, value]) => ["--env", `${name}=${value}`]),
    ...Object.entries(labels).flatMap(([name, value]) => ["--label", `${name}=${value}`]),
    container,
  );
  buildah("commit", "--quiet", "--rm", container, reference);
  rmSync(archive, { force: true });
  buildah("push", "--quiet", reference, `oci-archive:${archive}:${reference}`);
}

function revision(): string {
  const { status, stdout } = spawnSync("git", ["rev-parse", "HEAD"], { cwd: repository, encoding: "utf8" });
  return status === 0 ? stdout.trim() : "unknown";
}

function sizeOf(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function tool(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  if (status === 0) return stdout;
  if (error !== undefined && "code" in error && error.code === "ENOENT") {
    throw new Error(`${command} is not installed; on Debian: apt-get install --no-install-recommends buildah binutils`);
  }
  throw new Error(`${command} ${args.join(" ")} failed: ${error?.message ?? stderr.trim()}`);
}
