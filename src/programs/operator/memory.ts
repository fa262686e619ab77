import type { NodeHardware } from "../../core/api/index.ts";
import { boundWattsOn, type MarginalWatts } from "../../core/demand/index.ts";
import { type Density, densityOf, type HardwareView, hardwareView } from "../../core/inventory/index.ts";
import type { ProfileCaps } from "../../core/policy/index.ts";
import { noTrend, type PowerReading, powerTrend, type TrendWindow, withSample } from "../../core/twin/index.ts";
import type { Instant, WattsPerMinute } from "../../core/units/index.ts";
import type { ClusterNode, ClusterView } from "./cluster-view.ts";
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

/** The share of its request's power a pod is expected to draw: what the extender reckons with unless told otherwise. */
const COEFFICIENTS = { cpu: 0.7, gpuStandard: 0.65, gpuPerformance: 0.85 };

/** What is worth keeping from pass to pass. Nothing is decided by it: without it a pass is slower, and trends start anew. */
export class Memory {
  readonly #shapes = new Map<string, KnownShape>();
  readonly #podWatts = new Map<
    string,
    { readonly version: number; readonly shape: NodeShape; readonly sum: MarginalWatts }
  >();
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

  /** What the pods on a node add, worked out anew when one of them changed. */
  podWattsOn(node: ClusterNode, shape: NodeShape, view: Pick<ClusterView, "podsOn" | "podsVersion">): MarginalWatts {
    const { name, labels } = node.metadata;
    const version = view.podsVersion(name);
    const known = this.#podWatts.get(name);
    if (known !== undefined && known.version === version && known.shape === shape) return known.sum;
    const sum = boundWattsOn(view.podsOn(name), { hardware: shape.view, labels }, COEFFICIENTS);
    this.#podWatts.set(name, { version, shape, sum });
    return sum;
  }

  /** The node's trend with this pass's reading in it; a missing reading makes no jump. */
  trendWith(name: string, reading: PowerReading | undefined, now: Instant): WattsPerMinute {
    const before = this.#trends.get(name) ?? noTrend;
    const window = reading === undefined ? before : withSample(before, reading, now);
    this.#trends.set(name, window);
    return powerTrend(window, now);
  }

  keepOnly(names: ReadonlyMap<string, unknown>): void {
    for (const known of [this.#shapes, this.#podWatts, this.#trends]) {
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    }
  }
}
