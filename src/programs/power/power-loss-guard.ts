import { isDeepStrictEqual } from "node:util";
import { wantedOf } from "./cluster-view.ts";
import type { NodeCase, NodeReconcilerOptions } from "./node-case.ts";

/** A machine must not be switched off now. Nothing was sent to its switch. */
export class NotEmpty extends Error {}

export type GuardOptions = Pick<NodeReconcilerOptions, "api" | "stopped" | "leads">;

/**
 * The last check before a call that takes power away; every such call comes directly after it. It asks the API server, not the
 * watches, except for one thing: the watch must have shown the taint, and the count of pods must not be older than what it showed.
 */
export async function mayLosePower(
  { name, node, endpoint, wanted, signal }: NodeCase,
  { api, stopped, leads }: GuardOptions,
): Promise<void> {
  if (node?.tainted !== true) throw new NotEmpty("the taint has not been observed");
  const fresh = await api.freshView(name, signal);
  if (fresh.node?.uid !== node.uid) throw new NotEmpty("the Node was deleted or replaced");
  if (!fresh.node.tainted) throw new NotEmpty("another writer removed the taint");
  // The switch was opened with the former spec, which may belong to another machine.
  if (!isDeepStrictEqual(fresh.endpoint?.spec, endpoint.spec)) throw new NotEmpty("the PowerEndpoint was changed");
  const current = wantedOf(fresh, stopped());
  if (wanted.state === "off" && current.state === "on") throw new NotEmpty(current.reason);
  const pods = await api.podsOn(name, node.resourceVersion, signal);
  if (pods.length > 0) throw new NotEmpty(runsPods(pods));
  if (!leads()) throw new Error("this replica does not lead any more");
}

export const runsPods = (pods: readonly string[]): string =>
  `${pods.length} pods are on the node: ${pods.slice(0, 3).join(", ")}${pods.length > 3 ? ", …" : ""}`;
