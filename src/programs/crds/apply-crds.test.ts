import { expect, it } from "vitest";
import { crdOf, kinds, nodeTwinKind } from "../../core/api/index.ts";
import { instant } from "../../core/units/index.ts";
import { VirtualClock } from "../../platform/clock/testing/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import { KubeClient, type KubeObject, resources } from "../../platform/kube/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { applyCrds } from "./apply-crds.ts";

it("installs missing CRDs and replaces the schema of older ones", async () => {
  const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  const older = crdOf(nodeTwinKind);
  for (const version of older.spec.versions)
    version.schema.openAPIV3Schema = { type: "object", properties: { spec: { type: "object" } } };
  const api = new EmbeddedApi({ clock, random: seededRandom(1), crds: [older] });
  const client = new KubeClient({ transport: api.transport(), clock, random: seededRandom(2), fieldManager: "crds" });
  const names = kinds.map(({ plural }) => `${plural}.joulie.io`);
  expect(await applyCrds(client)).toEqual(names);
  for (const kind of kinds) {
    const name = `${kind.plural}.joulie.io`;
    const found = await client.get<KubeObject & { spec: object }>(resources.customResourceDefinitions, { name });
    expect(found.spec).toMatchObject(crdOf(kind).spec);
  }
  await api.close();
});
