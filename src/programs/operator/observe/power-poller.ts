import type { NodeUsage, Telemetry } from "../../../core/planning/index.ts";
import type { MeterReading } from "../../../core/twin/index.ts";
import {
  type Instant,
  isStale,
  type Milliseconds,
  milliseconds,
  type RandomSource,
} from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { KubeClient } from "../../../platform/kube/index.ts";
import {
  type FacilityFigure,
  FacilityPoller,
  HttpPower,
  MetricsApi,
  type NodePowerSource,
  PrometheusClient,
  PrometheusPower,
} from "../../../platform/telemetry/index.ts";
import { nodePowerPrometheus, type OperatorConfig } from "../config.ts";
import { readingsFreshFor } from "../settings.ts";

export interface PowerPollerOptions {
  readonly config: OperatorConfig;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly random: RandomSource;
  readonly nodes: () => readonly string[];
  readonly places: () => { readonly zones: Iterable<string>; readonly racks: Iterable<string> };
  readonly onDropped: (source: string, dropped: ReadonlyMap<string, number>) => void;
  /** Called after each poll; `problem` is undefined if the poll succeeded. */
  readonly onProblem: (source: string, problem: string | undefined) => void;
}

/** Timeouts for the endpoint of one node and for a whole query. */
const NODE_TIMEOUT = milliseconds(2000);
const QUERY_TIMEOUT = milliseconds(10_000);

/** Polls power and facility meters in the background, so that no pass waits for a meter. A pass uses the last readings. */
export class PowerPoller {
  readonly #options: PowerPollerOptions;
  readonly #external: NodePowerSource | undefined;
  readonly #usage: MetricsApi | undefined;
  readonly #facility: FacilityPoller;
  readonly #facilityPrometheus: PrometheusClient;
  readonly #power = new Map<string, MeterReading>();
  readonly #nodeUsage = new Map<string, NodeUsage>();

  constructor(options: PowerPollerOptions) {
    const { config, client, clock, ioClock, random, places } = options;
    this.#options = options;
    this.#external = externalSource(options);
    const mode = config.OPERATOR_NODE_POWER_SOURCE;
    this.#usage = mode === "auto" || mode === "utilization" ? new MetricsApi({ client, clock, random }) : undefined;
    this.#facilityPrometheus = new PrometheusClient({
      address: config.FACILITY_PROMETHEUS_ADDRESS,
      clock: ioClock,
      timeout: QUERY_TIMEOUT,
    });
    this.#facility = new FacilityPoller({
      enabled: config.ENABLE_FACILITY_METRICS,
      prometheus: this.#facilityPrometheus,
      clock,
      random,
      interval: config.FACILITY_POLL_INTERVAL,
      queries: {
        ambient: config.FACILITY_AMBIENT_TEMP_METRIC,
        it: config.FACILITY_IT_POWER_METRIC,
        cooling: config.FACILITY_COOLING_POWER_METRIC,
        zoneAmbient: config.FACILITY_ZONE_AMBIENT_METRIC_TEMPLATE,
        zoneIt: config.FACILITY_ZONE_IT_POWER_METRIC_TEMPLATE,
        zoneCooling: config.FACILITY_ZONE_COOLING_POWER_METRIC_TEMPLATE,
        rackPower: config.FACILITY_RACK_POWER_METRIC_TEMPLATE,
      },
      places,
      report: ({ figure, dropped, problem }) => this.#facilityPolled(figure, dropped, problem?.message),
    });
  }

  get telemetry(): Telemetry {
    return { power: this.#power, usage: this.#nodeUsage, facility: this.#facility.snapshot() };
  }

  /** Runs until the signal. Calls `onFirst` after every source was polled once. */
  async run(interval: Milliseconds, onFirst: () => void, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const [polled, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    void Promise.all([polled.promise, read.promise]).then(onFirst);
    const poll = async () => {
      for (;;) {
        await this.#read(signal);
        read.resolve();
        await clock.sleep(interval, signal);
      }
    };
    await Promise.all([
      this.#restartOnError("facility", async () => this.#facility.run(signal, polled.resolve), interval, signal),
      this.#restartOnError("meters", poll, interval, signal),
    ]);
  }

  /** Restarts work that throws. Otherwise all readings would become stale. */
  async #restartOnError(
    name: string,
    work: () => Promise<void>,
    pause: Milliseconds,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, onProblem } = this.#options;
    while (!signal.aborted) {
      try {
        await work();
        return;
      } catch (error) {
        if (signal.aborted) return;
        onProblem(name, `polling failed and restarts: ${String(error)}`);
        await clock.sleep(pause, signal).catch(() => undefined);
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#external?.close(), this.#facilityPrometheus.close()]);
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { nodes, onDropped, onProblem, config } = this.#options;
    if (this.#external !== undefined) {
      const { readings, dropped, problem } = await this.#external.read(nodes(), signal);
      this.#store(this.#power, readings);
      const source = config.OPERATOR_NODE_POWER_SOURCE === "http" ? "http" : "prometheus";
      onDropped(source, dropped);
      onProblem(source, problem?.message);
    }
    if (this.#usage !== undefined) {
      const { usage, dropped } = await this.#usage.read(signal);
      this.#store(this.#nodeUsage, usage);
      onDropped("utilization", dropped);
    }
  }

  /** A node without a new reading keeps its last one for a while, so that one lost response does not change its source. */
  #store<Reading extends { readonly at: Instant }>(
    stored: Map<string, Reading>,
    read: ReadonlyMap<string, Reading>,
  ): void {
    const { nodes, clock, config } = this.#options;
    for (const [name, reading] of read) stored.set(name, reading);
    if (stored.size === 0) return;
    const names = new Set(nodes());
    const [now, maxAge] = [clock.now(), readingsFreshFor(config)];
    for (const [name, { at }] of stored) if (!names.has(name) || isStale(at, now, maxAge)) stored.delete(name);
  }

  #facilityPolled(figure: FacilityFigure, dropped: ReadonlyMap<string, number>, problem: string | undefined): void {
    this.#options.onDropped("facility", dropped);
    this.#options.onProblem(`facility ${figure}`, problem);
  }
}

function externalSource({ config, clock, ioClock, random }: PowerPollerOptions): NodePowerSource | undefined {
  const endpoint = config.OPERATOR_NODE_POWER_HTTP_ENDPOINT;
  const address = nodePowerPrometheus(config);
  const mode = config.OPERATOR_NODE_POWER_SOURCE;
  if (mode === "http" && endpoint !== undefined) {
    return new HttpPower({ clock: ioClock, random, endpoint, scope: "node", timeout: NODE_TIMEOUT });
  }
  // In mode auto Kepler answers for nodes without an agent.
  if ((mode === "prometheus" || mode === "auto") && address !== undefined) {
    const prometheus = new PrometheusClient({ address, clock: ioClock, timeout: QUERY_TIMEOUT });
    return new PrometheusPower({ prometheus, clock, query: config.OPERATOR_NODE_POWER_PROMETHEUS_QUERY });
  }
  return undefined;
}
