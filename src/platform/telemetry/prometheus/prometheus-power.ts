import type { MeterReading } from "../../../core/twin/index.ts";
import { instant, watts } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { DropCounter } from "../dropped-samples.ts";
import { TelemetryError } from "../errors.ts";
import type { NodePowerSource, NodeReadings } from "../node-power-source.ts";
import { NodeMatcher } from "./node-matcher.ts";
import { COVERS_LABEL, type Coverage, keplerQuery, sourceOfQuery } from "./power-queries.ts";
import type { PrometheusClient, PrometheusSample } from "./prometheus-client.ts";
import { sumPower } from "./sum-power.ts";

export interface PrometheusPowerOptions {
  readonly prometheus: PrometheusClient;
  readonly clock: Clock;
  /** A query that returns the watts of every node; the label joulie_covers says of what. Default: Kepler's series. */
  readonly query?: string | undefined;
}

/** Reads the power of all nodes with one query. */
export class PrometheusPower implements NodePowerSource {
  readonly #options: PrometheusPowerOptions;
  readonly #query: string;

  constructor(options: PrometheusPowerOptions) {
    this.#options = options;
    this.#query = options.query ?? keplerQuery;
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
    const now = this.#options.clock.now();
    const source = sourceOfQuery(this.#query);
    const readings = new Map<string, MeterReading>();
    for (const [node, ofNode] of byNode) {
      const reading = readingOf(ofNode, (part) => sumPower(part, { now, drops }), drops);
      if (reading !== undefined) readings.set(node, { ...reading, source });
    }
    drops.add("missing", new Set(nodes).size - byNode.size);
    return { readings, dropped: drops.counts };
  }
}

type Sum = ReturnType<typeof sumPower>;

/** Packages and boards, and the whole server, from the samples that cover them. Undefined without both. */
function readingOf(
  samples: readonly PrometheusSample[],
  sumOf: (part: readonly PrometheusSample[]) => Sum,
  drops: DropCounter,
): Omit<MeterReading, "source"> | undefined {
  const covering = (coverage: Coverage | "") =>
    samples.filter(({ labels }) => (labels[COVERS_LABEL] ?? "") === coverage);
  const sumOver = (part: readonly PrometheusSample[]) => (part.length === 0 ? undefined : sumOf(part));
  const whole = covering("");
  const boards = covering("gpu");
  const devices =
    whole.length > 0
      ? sumOf(whole)
      : devicesOf(sumOver(inZones(covering("cpu"), drops)), boards.length === 0 ? "unread" : sumOf(boards));
  const server = sumOver(covering("server"));
  const at = instant(Math.min(devices?.at ?? Infinity, server?.at ?? Infinity));
  return Number.isFinite(at) ? { ...devices, ...(server && { server: server.power }), at } : undefined;
}

/** Zones make the sample without a zone a second one of the same packages, of an old Kepler beside a new one. */
function inZones(packages: readonly PrometheusSample[], drops: DropCounter): readonly PrometheusSample[] {
  const zones = packages.filter(({ labels }) => (labels.zone ?? "") !== "");
  if (zones.length === 0) return packages;
  drops.add("overlapping", packages.length - zones.length);
  return zones;
}

/** Packages with their boards. Boards that no series covers are missing; those whose samples are invalid make the sum unknown. */
function devicesOf(cpus: Sum, boards: Sum | "unread"): (Sum & { readonly onlyCpus?: boolean }) | undefined {
  if (cpus === undefined || boards === undefined) return undefined;
  if (boards === "unread") return { ...cpus, onlyCpus: true };
  return { power: watts(cpus.power + boards.power), at: instant(Math.min(cpus.at, boards.at)) };
}
