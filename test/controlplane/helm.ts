// The real helm, built from its sources on first use and kept outside the checkout. It is a tool of the control plane's Go module:
// both use the same libraries of Kubernetes, which Go compiles once.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { run } from "../realnode/command.ts";
import { buildOnce, cacheFolder, compilerEnvironment, moduleFiles, sources, versionOf } from "./build.ts";

const PACKAGE = "helm.sh/helm/v3/cmd/helm";

/** Path of helm, built if it is not there. */
export async function buildHelm(
  say: (line: string) => void = (line) => process.stderr.write(`joulie: ${line}\n`),
): Promise<string> {
  const version = versionOf("helm.sh/helm/v3");
  const args = ["build", "-trimpath", "-ldflags", settingsOf(version).join(" ")];
  const key = createHash("sha256")
    .update(JSON.stringify([args, moduleFiles()]))
    .digest("hex")
    .slice(0, 16);
  const path = join(cacheFolder(), `helm-${key}`, "helm");
  await buildOnce(path, { what: `helm ${version}`, minutes: 1, say }, async (unfinished) => {
    const env = { ...compilerEnvironment, GOFLAGS: "" };
    await run("go", [...args, "-o", unfinished, PACKAGE], { env, cwd: sources, limitMs: 30 * 60_000 });
  });
  return path;
}

function settingsOf(version: string): string[] {
  const [major = "", minor = ""] = versionOf("k8s.io/kubernetes").slice(1).split(".");
  return [
    "-s",
    "-w",
    `-X helm.sh/helm/v3/internal/version.version=${version}`,
    // What `helm template` takes for the cluster's version where it asks none.
    ...["lint/rules", "chartutil"].flatMap((folder) => [
      `-X helm.sh/helm/v3/pkg/${folder}.k8sVersionMajor=${major}`,
      `-X helm.sh/helm/v3/pkg/${folder}.k8sVersionMinor=${minor}`,
    ]),
  ];
}

/**
 * Runs helm as the user of the kubeconfig, with a home folder of its own. Helm prints the output of hooks to standard error, which
 * `withErrors` adds to the result.
 */
export async function helmOf(folder: string, kubeconfig?: string, { withErrors = false } = {}) {
  const path = await buildHelm();
  const env = { HOME: folder, ...(kubeconfig === undefined ? {} : { KUBECONFIG: kubeconfig }) };
  return async (...args: string[]): Promise<string> => run(path, args, { env, withErrors });
}
