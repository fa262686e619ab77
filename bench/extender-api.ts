// The Kubernetes API of bench/extender.ts in a separate process: its objects must not add garbage-collection pauses
// to the client's measurements. Reports its address when all nodes exist; takes commands as messages.
import { crdOf, kinds } from "../src/core/api/index.ts";
import { milliseconds } from "../src/core/units/index.ts";
import { systemClock } from "../src/platform/clock/index.ts";
import { EmbeddedApi } from "../src/platform/embedded/index.ts";
import { KubeClient, resources } from "../src/platform/kube/index.ts";
import { seededRandom } from "../src/platform/random/index.ts";
import { nameOf, nodeOf, twinStatusOf } from "./extender-cluster.ts";

/** `change`: update one twin after another until `rest`. */
export type ApiCommand = "change" | "rest";

const size = Number(process.argv[2]);
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
  await hand.create(resources.nodes, { metadata: { name, labels, annotations }, spec, status });
  await hand.apply(resources.nodeTwins, { name }, { spec: { nodeName: name, profile: "performance" } });
  await publish(index, index);
}
process.on("message", (wish: ApiCommand) => {
  changes?.abort();
  if (wish === "rest") return;
  changes = new AbortController();
  void change(changes.signal);
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
