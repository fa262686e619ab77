// The Kubernetes API of bench/extender.ts in a separate process: its objects must not add garbage-collection pauses
// to the client's measurements. Reports its address when all nodes exist; takes commands as messages.
import { crdOf, kinds } from "../src/core/api/index.ts";
import { milliseconds } from "../src/core/units/index.ts";
import { systemClock } from "../src/platform/clock/index.ts";
import { EmbeddedApi } from "../src/platform/embedded/index.ts";
import { KubeClient, resources } from "../src/platform/kube/index.ts";
import { seededRandom } from "../src/platform/random/index.ts";
import { hardwareLabels, nameOf, nodeOf, twinStatusOf } from "./extender-cluster.ts";
import { bigPod } from "./kube-objects.ts";

/** `change`: update one twin after another until `rest`. `bind`: replace one pod after another. */
export type ApiCommand = "change" | "bind" | "rest";

/** Exists from the start. */
const NAMESPACE = "default";
const size = Number(process.argv[2]);
const pods = Number(process.argv[3] ?? 0);
const api = new EmbeddedApi({ clock: systemClock, random: seededRandom(1), crds: kinds.map(crdOf) });
const hand = new KubeClient({
  transport: api.transport(),
  clock: systemClock,
  random: seededRandom(2),
  fieldManager: "bench",
  limit: { perSecond: 1e6, burst: 1e6, queue: 1e6 },
});
let changes: AbortController | undefined;

const listening = await api.listen({ tls: "self-signed" });
for (let index = 0; index < size; index++) {
  const { metadata, spec, status } = nodeOf(index);
  const { name, labels, annotations } = metadata;
  const declared = pods > 0 ? hardwareLabels(index) : {};
  await hand.create(resources.nodes, {
    metadata: { name, labels: { ...labels, ...declared }, annotations },
    spec,
    status,
  });
  await hand.apply(resources.nodeTwins, { name }, { spec: { nodeName: name, profile: "performance" } });
  await publish(index, index);
}
for (let index = 0; index < pods; index++) await bind(index);
process.on("message", (wish: ApiCommand) => {
  changes?.abort();
  if (wish === "rest") return;
  changes = new AbortController();
  void (wish === "bind" ? rebind(changes.signal) : change(changes.signal));
});
process.on("disconnect", () => process.exit());
process.send?.(listening.kubeconfig());

/** About a thousand twins per second, more than an operator writes. */
async function change(signal: AbortSignal): Promise<void> {
  for (let round = 1; !signal.aborted; round++) {
    await publish(round % size, round);
    if (round % 10 === 0) await systemClock.sleep(milliseconds(10));
  }
}

async function publish(index: number, figures: number): Promise<void> {
  const status = twinStatusOf(figures, new Date(systemClock.now()).toISOString());
  await hand.apply(resources.nodeTwins, { name: nameOf(index) }, { status }, { subresource: "status" });
}

async function bind(index: number): Promise<void> {
  const { metadata, spec, status } = bigPod(index, 1);
  const { name, labels, annotations, ownerReferences } = metadata;
  await hand.create(
    resources.pods,
    {
      metadata: { name, labels, annotations, ownerReferences },
      spec: { ...spec, nodeName: nameOf((index * 7919) % size), terminationGracePeriodSeconds: 0 },
    },
    { namespace: NAMESPACE },
  );
  await hand.apply(resources.pods, { name, namespace: NAMESPACE }, { status }, { subresource: "status" });
}

/** About 200 pods per second end and start. */
async function rebind(signal: AbortSignal): Promise<void> {
  for (let round = 0; !signal.aborted; round++) {
    const { name } = bigPod(round % pods, 1).metadata;
    await hand.delete(resources.pods, { name, namespace: NAMESPACE });
    await bind(round % pods);
    await systemClock.sleep(milliseconds(5));
  }
}
