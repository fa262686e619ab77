import { type AnyKind, CodedError, crdOf, kinds, labels } from "../../core/api/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { type Clock, systemClock, withTimeLimit } from "../../platform/clock/index.ts";
import { isApiError, type KubeClient, type KubeObject, type Resource, resources } from "../../platform/kube/index.ts";
import { SIMULATED } from "../fleet/index.ts";

const crds: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};
const TRIES = 100;
const PAUSE = milliseconds(100);
const GIVING_BACK = milliseconds(10_000);

/**
 * Creates missing CRDs and a namespace in a real cluster. Refuses a cluster that Joulie already manages, because two
 * operators would conflict. Returns a function that removes what was created.
 */
export async function prepareCluster(
  client: KubeClient,
  namespace: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<(signal: AbortSignal) => Promise<void>> {
  await refuseManaged(client, signal);
  const brought: { readonly resource: Resource; readonly name: string; readonly uid: string }[] = [];
  const bring = async (resource: Resource, manifest: object): Promise<void> => {
    const { metadata } = manifest as KubeObject;
    signal.throwIfAborted();
    try {
      // Without the signal: after an aborted request it would be unknown whether the object exists.
      const made = await client.create(resource, { ...manifest, metadata: { ...metadata } });
      brought.push({ resource, name: metadata.name, uid: made.metadata.uid ?? "" });
    } catch (error) {
      if (!isApiError(error, "alreadyExists")) throw error;
    }
  };
  const giveBack = async (limit: AbortSignal): Promise<void> => {
    for (const { resource, name, uid } of brought.toReversed()) {
      await client.delete(resource, { name }, { signal: limit, preconditions: { uid } }).catch((error: unknown) => {
        if (!isApiError(error, "notFound", "conflict")) throw error;
      });
    }
  };
  try {
    for (const kind of kinds) await bring(crds, crdOf(kind));
    await bring(resources.namespaces, { metadata: { name: namespace } });
    for (const kind of kinds) await served(kind, client, clock, signal);
  } catch (error) {
    // Cleans up after an abort as well.
    await withTimeLimit(systemClock, GIVING_BACK, giveBack).catch(() => undefined);
    throw error;
  }
  return giveBack;
}

async function refuseManaged(client: KubeClient, signal: AbortSignal): Promise<void> {
  const foreign = `${labels.managed}=true,${SIMULATED.replace("=", "!=")}`;
  const [managed, simulated, twins] = await Promise.all([
    client.list(resources.nodes, { labelSelector: foreign, limit: 1 }, { signal, lean: true }),
    client.listAll(resources.nodes, { labelSelector: SIMULATED }, { signal, lean: true }),
    client.listAll(resources.nodeTwins, {}, { signal, lean: true }).catch((error: unknown) => {
      if (isApiError(error, "notFound")) return { items: [] };
      throw error;
    }),
  ]);
  const ours = new Set(simulated.items.map(({ metadata }) => metadata.name));
  const [node] = managed.items;
  const twin = twins.items.find(({ metadata }) => !ours.has(metadata.name));
  const found =
    node === undefined ? twin && `a NodeTwin ${twin.metadata.name}` : `the managed Node ${node.metadata.name}`;
  if (found === undefined) return;
  throw new CodedError(
    "JOULIE_E_DEMO_CLUSTER",
    `this cluster has ${found}: Joulie already manages this cluster, and the demo would interfere; use another cluster`,
  );
}

/** Waits until the API server serves a kind, shortly after its CRD was created. */
async function served({ plural, kind }: AnyKind, client: KubeClient, clock: Clock, signal: AbortSignal): Promise<void> {
  const resource = Object.values(resources).find((one: Resource) => one.plural === plural && one.kind === kind);
  if (resource === undefined) return;
  for (let attempt = 1; ; attempt++) {
    try {
      await client.list(resource, { limit: 1 }, { signal });
      return;
    } catch (error) {
      if (attempt === TRIES || !isApiError(error, "notFound")) throw error;
      await clock.sleep(PAUSE, signal);
    }
  }
}
