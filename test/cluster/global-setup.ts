import { buildControlPlane } from "../controlplane/build.ts";
import { buildHelm } from "../controlplane/helm.ts";

/** Builds the control plane before the first test, outside any test's timeout. */
export default async function setup(): Promise<void> {
  const binary = await buildControlPlane();
  if (!binary.available) throw new Error(`the cluster suite cannot run: ${binary.reason}`);
  await buildHelm();
}
