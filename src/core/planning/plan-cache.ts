import type { DemandView, MarginalWatts } from "../demand/index.ts";
import type { AssignedProfiles, ManagedNode, NodePlan, NodeShape, NodeTarget } from "./node-plan.ts";

/** The last result of a computation. It is computed again when an input is another object or another value. */
class Memo<Value> {
  #inputs: readonly unknown[] | undefined;
  #value: Value | undefined;

  get(inputs: readonly unknown[], compute: () => Value): Value {
    if (this.#inputs === undefined || !isSame(this.#inputs, inputs)) {
      this.#value = compute();
      this.#inputs = inputs;
    }
    return this.#value as Value;
  }
}

/** A plain loop, because every pass calls it several times per node. */
function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false;
  return true;
}

/** One memo per node. */
class NodeMemo<Value> {
  readonly #memos = new Map<string, Memo<Value>>();

  get(node: string, inputs: readonly unknown[], compute: () => Value): Value {
    let memo = this.#memos.get(node);
    if (memo === undefined) this.#memos.set(node, (memo = new Memo()));
    return memo.get(inputs, compute);
  }

  keepOnly(nodes: ReadonlySet<string>): void {
    if (this.#memos.size <= nodes.size) return;
    for (const name of this.#memos.keys()) if (!nodes.has(name)) this.#memos.delete(name);
  }
}

/** The results of each planning stage in the last pass. It decides nothing and computes nothing itself. */
export class PlanCache {
  readonly shapes = new NodeMemo<NodeShape>();
  readonly managed = new NodeMemo<ManagedNode | undefined>();
  readonly demand = new Memo<DemandView>();
  readonly profiles = new Memo<AssignedProfiles>();
  readonly targets = new NodeMemo<NodeTarget>();
  readonly podWatts = new NodeMemo<MarginalWatts>();
  readonly plans = new NodeMemo<NodePlan>();

  /** Bounds the size: drops results of other nodes when there are more results than nodes. */
  keepOnly(nodes: ReadonlySet<string>): void {
    for (const memo of [this.shapes, this.managed, this.targets, this.podWatts, this.plans]) memo.keepOnly(nodes);
  }
}
