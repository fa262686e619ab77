import type { PowerReading } from "../../../core/twin/index.ts";
import type { Milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { DropCounter, STALE_AFTER } from "../dropped-samples.ts";
import { TelemetryError } from "../errors.ts";
import type { NodePowerSource, NodeReadings } from "../node-power-source.ts";
import { NodeMatcher } from "./node-matcher.ts";
import { powerQueries, sourceOfQuery } from "./power-queries.ts";
import type { PrometheusClient, PrometheusSample } from "./prometheus-client.ts";
import { sumPower } from "./sum-power.ts";

export interface PrometheusPowerOptions {
  readonly prometheus: PrometheusClient;
  readonly clock: Clock;
  /** A query that returns the watts of every node. Default: Kepler's series. */
  readonly query?: string | undefined;
  readonly staleAfter?: Milliseconds;
}

/** Reads the power of all nodes with one query. */
export class PrometheusPower implements NodePowerSource {
  readonly #options: PrometheusPowerOptions;
  readonly #query: string;

  constructor(options: PrometheusPowerOptions) {
    this.#options = options;
    this.#query = options.query ?? powerQueries.kepler;
  }

  async read(nodes: readonly string[], signal?: AbortSignal): Promise<NodeReadings> {
    if (nodes.length === 0) return { readings: new Map(), dropped: new Map() };
    try {
      return this.#assign(nodes, await this.#options.prometheus.query(this.#query, signal));
    } catch (problem) {
      if (!(problem instanceof TelemetryError)) throw problem;
      return { readings: new Map(), dropped: new Map([[problem.kind, nodes.length]]), problem };
    }
  }

  async close(): Promise<void> {
    await this.#options.prometheus.close();
  }

  #assign(nodes: readonly string[], samples: readonly PrometheusSample[]): NodeReadings {
    const { clock, staleAfter = STALE_AFTER } = this.#options;
    const drops = new DropCounter();
    const matcher = new NodeMatcher(nodes);
    const byNode = new Map<string, PrometheusSample[]>();
    for (const sample of samples) {
      const match = matcher.match(sample.labels);
      if (typeof match === "string") {
        drops.add(match);
        continue;
      }
      const ofNode = byNode.get(match.node);
      if (ofNode === undefined) byNode.set(match.node, [sample]);
      else ofNode.push(sample);
    }
    const now = clock.now();
    const source = sourceOfQuery(this.#query);
    const readings = new Map<string, PowerReading>();
    for (const [node, ofNode] of byNode) {
      const sum = sumPower(ofNode, { now, staleAfter, drops });
      if (sum !== undefined) readings.set(node, { ...sum, source });
    }
    drops.add("missing", new Set(nodes).size - byNode.size);
    return { readings, dropped: drops.counts };
  }
}
