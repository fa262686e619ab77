import type { NodeHardware } from "../../core/api/index.ts";
import { type Density, densityOf, type HardwareView, hardwareView } from "../../core/inventory/index.ts";
import type { ProfileCaps } from "../../core/policy/index.ts";
import { noTrend, type PowerReading, powerTrend, type TrendWindow, withSample } from "../../core/twin/index.ts";
import type { Instant, WattsPerMinute } from "../../core/units/index.ts";
import type { ClusterNode } from "./cluster-view.ts";
import type { OperatorSettings } from "./settings.ts";

/** What follows from a node's hardware alone. */
export interface NodeShape {
  readonly view: HardwareView;
  readonly density: Density;
  readonly caps: ProfileCaps;
}

interface KnownShape {
  readonly node: ClusterNode;
  readonly hardware: NodeHardware | undefined;
  readonly shape: NodeShape;
}

/** What is worth keeping from pass to pass. Nothing is decided by it: without it a pass is slower, and trends start anew. */
export class Memory {
  readonly #shapes = new Map<string, KnownShape>();
  readonly #trends = new Map<string, TrendWindow>();

  /** Worked out once for each version of the node and its hardware. */
  shapeOf(node: ClusterNode, hardware: NodeHardware | undefined, settings: OperatorSettings): NodeShape {
    const { name } = node.metadata;
    const known = this.#shapes.get(name);
    if (known !== undefined && known.node === node && known.hardware === hardware) return known.shape;
    const view = hardwareView(node, hardware?.status, { productLabelKeys: settings.gpuProductLabels });
    const shape = { view, density: densityOf(view), caps: settings.capsOf(view) };
    this.#shapes.set(name, { node, hardware, shape });
    return shape;
  }

  /** The node's trend with this pass's reading in it; a missing reading makes no jump. */
  trendWith(name: string, reading: PowerReading | undefined, now: Instant): WattsPerMinute {
    const before = this.#trends.get(name) ?? noTrend;
    const window = reading === undefined ? before : withSample(before, reading, now);
    this.#trends.set(name, window);
    return powerTrend(window, now);
  }

  keepOnly(names: ReadonlyMap<string, unknown>): void {
    for (const known of [this.#shapes, this.#trends]) {
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    }
  }
}
