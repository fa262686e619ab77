import { buildControlPlane } from "../controlplane/build.ts";
import { buildHelm } from "../controlplane/helm.ts";

/** Builds before the first test begins, where no test's time limit runs. */
export default async function setup(): Promise<void> {
  const binary = await buildControlPlane();
  if (!binary.available) throw new Error(`the cluster suite cannot run: ${binary.reason}`);
  await buildHelm();
}
