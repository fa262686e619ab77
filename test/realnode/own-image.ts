// Images made from scratch: nothing is pulled from a registry.
import { join } from "node:path";
import { buildControlPlane } from "../controlplane/build.ts";
import { run } from "./command.ts";

export interface OwnImage {
  readonly name: string;
  /** Files of this machine, by their path in the image. */
  readonly files: ReadonlyMap<string, string>;
  readonly entrypoint?: readonly string[];
  readonly user: string;
}

/** Builds an image below `folder` and returns its archive. */
export async function buildOwnImage(folder: string, { name, files, entrypoint, user }: OwnImage): Promise<string> {
  const archive = join(folder, `${name.replaceAll(/\W/g, "-")}.tar`);
  const storage = ["--storage-driver", "vfs", "--root", join(folder, "buildah"), "--runroot", join(folder, "run")];
  const buildah = async (...args: string[]) => (await run("buildah", [...storage, ...args])).trim();
  const container = await buildah("from", "scratch");
  for (const [path, file] of files) await buildah("copy", "--quiet", container, file, path);
  const start = entrypoint === undefined ? [] : ["--entrypoint", JSON.stringify(entrypoint)];
  await buildah("config", ...start, "--user", user, container);
  await buildah("commit", "--quiet", "--rm", container, name);
  await buildah("push", "--quiet", name, `docker-archive:${archive}:${name}`);
  return archive;
}

/** Builds a Go program without dependencies. */
export async function buildGo(source: string, binary: string): Promise<void> {
  await run("go", ["build", "-trimpath", "-ldflags=-s -w", "-o", binary, source], { env: { CGO_ENABLED: "0" } });
}

/** An image with the kube-scheduler of the tests' control plane. */
export async function buildSchedulerImage(folder: string, name: string): Promise<string> {
  const controlPlane = await buildControlPlane();
  if (!controlPlane.available) throw new Error(`there is no kube-scheduler: ${controlPlane.reason}`);
  const start = join(folder, "kube-scheduler");
  await buildGo(join(import.meta.dirname, "kube-scheduler", "main.go"), start);
  const libraries = (await run("ldd", [controlPlane.path])).matchAll(/(\/\S+) \(0x/g);
  const files = new Map([
    ["/usr/local/bin/kube-scheduler", start],
    ["/controlplane", controlPlane.path],
    ...Array.from(libraries, ([, file = ""]) => [file, file] as const),
  ]);
  return buildOwnImage(folder, { name, files, user: "65532:65532" });
}
