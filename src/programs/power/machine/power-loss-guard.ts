import { isDeepStrictEqual } from "node:util";
import type { PodsOnNode } from "../api/node-api.ts";
import type { NodeCase, NodeReconcilerOptions } from "../steps/node-case.ts";
import { wantedOf } from "../watch/cluster-view.ts";

/** A machine must not be switched off now. Nothing was sent to its switch. */
export class NotEmpty extends Error {}

export type PowerLossGuardOptions = Pick<NodeReconcilerOptions, "api" | "stopped" | "leads">;

/**
 * The last check before a request that takes power away; the switch calls it directly before each such request. It asks the API
 * server, not the watches, except for one thing: the watch must have shown the taint, and the count of pods must not be older than
 * what it showed.
 */
export async function mayLosePower(
  { name, node, endpoint, wanted, signal }: NodeCase,
  { api, stopped, leads }: PowerLossGuardOptions,
): Promise<void> {
  if (node?.tainted !== true) throw new NotEmpty("the taint has not been observed");
  const promised = await api.podsPromisedTo(name, signal);
  const [fresh, stop, pods] = await Promise.all([
    api.freshView(name, signal),
    api.stopReason(signal),
    api.podsOn(name, node.resourceVersion, signal),
  ]);
  if (fresh.node?.uid !== node.uid) throw new NotEmpty("the Node was deleted or replaced");
  if (!fresh.node.tainted) throw new NotEmpty("another writer removed the taint");
  // The switch was opened with the former spec, which may belong to another machine.
  if (!isDeepStrictEqual(fresh.endpoint?.spec, endpoint.spec)) throw new NotEmpty("the PowerEndpoint was changed");
  const current = wantedOf(fresh, stop ?? stopped());
  if (wanted.state === "off" && current.state === "on") throw new NotEmpty(current.reason);
  const occupied = occupiedBecause(promised, pods);
  if (occupied !== undefined) throw new NotEmpty(occupied);
  if (!leads()) throw new Error("this replica does not lead any more");
}

/** Why the node is not empty; undefined if it is. */
export function occupiedBecause(promised: readonly string[], { lost, controlPlane }: PodsOnNode): string | undefined {
  if (controlPlane !== undefined) return `it runs the control plane: ${controlPlane}`;
  if (lost.length > 0) return `${lost.length} pods are on the node: ${listed(lost)}`;
  return promisedBecause(promised);
}

export const promisedBecause = (promised: readonly string[]): string | undefined =>
  promised.length === 0 ? undefined : `${promised.length} pods are about to be bound to the node: ${listed(promised)}`;

const listed = (pods: readonly string[]): string => `${pods.slice(0, 3).join(", ")}${pods.length > 3 ? ", …" : ""}`;
