import { crdOf, kinds } from "../../core/api/index.ts";
import { type KubeClient, resources } from "../../platform/kube/index.ts";

/** Helm installs the CustomResourceDefinitions of a chart but never upgrades them. Returns their names. */
export async function applyCrds(client: KubeClient): Promise<string[]> {
  const names: string[] = [];
  for (const kind of kinds) {
    const { metadata, spec } = crdOf(kind);
    // Helm owns the fields of the CRDs it installed.
    await client.apply(resources.customResourceDefinitions, metadata, { spec }, { force: true });
    names.push(metadata.name);
  }
  return names;
}
