// The real helm, built from its sources on first use and kept outside the checkout.
import { createHash } from "node:crypto";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { run } from "../realnode/command.ts";
import { buildOnce, cacheFolder } from "./build.ts";

const version = "v3.22.0";
const kubernetes = { major: "1", minor: "36" };
const settings = [
  "-s",
  "-w",
  `-X helm.sh/helm/v3/internal/version.version=${version}`,
  // What `helm template` takes for the cluster's version where it asks none.
  ...["lint/rules", "chartutil"].flatMap((folder) => [
    `-X helm.sh/helm/v3/pkg/${folder}.k8sVersionMajor=${kubernetes.major}`,
    `-X helm.sh/helm/v3/pkg/${folder}.k8sVersionMinor=${kubernetes.minor}`,
  ]),
];

/** Path of helm, built if it is not there. */
export async function buildHelm(
  say: (line: string) => void = (line) => process.stderr.write(`joulie: ${line}\n`),
): Promise<string> {
  const key = createHash("sha256")
    .update(JSON.stringify([version, settings]))
    .digest("hex")
    .slice(0, 16);
  const path = join(cacheFolder(), `helm-${key}`, "helm");
  await buildOnce(path, { what: `helm ${version}`, minutes: 3, say }, async (unfinished) => {
    const bin = mkdtempSync(join(dirname(path), "bin-"));
    try {
      const install = ["install", "-trimpath", `-ldflags=${settings.join(" ")}`, `helm.sh/helm/v3/cmd/helm@${version}`];
      // With cgo, as the control plane: both then share what Go has compiled.
      const env = { GOBIN: bin, GOFLAGS: "" };
      await run("go", install, { env, cwd: bin, limitMs: 30 * 60_000 });
      renameSync(join(bin, "helm"), unfinished);
    } finally {
      rmSync(bin, { recursive: true, force: true });
    }
  });
  return path;
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
