import { type EnergyCounterSample, powerBetween, totalPower } from "../../../core/control/index.ts";
import {
  isNonNegative,
  type Milliseconds,
  type MonotonicInstant,
  monotonicInstant,
  type Watts,
  watts,
} from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import {
  type EnergyMeter,
  type EnergyZoneSample,
  type HttpReading,
  readTelemetry,
} from "../../../platform/hardware/index.ts";
import {
  type EndpointAccess,
  fillPromql,
  fillUrl,
  type HttpClient,
  PrometheusClient,
  TelemetryError,
} from "../../../platform/telemetry/index.ts";
import type { BackendSelection } from "../host/host.ts";
import type { Route, SourceRoute } from "../routing/routing.ts";

export interface NodePowerReadings {
  readonly cpu: DevicePowerReading;
  readonly gpu: DevicePowerReading;
  readonly cpuService?: HttpReading | undefined;
  readonly gpuService?: HttpReading | undefined;
  readonly zones: readonly ZonePower[];
}

/** Readings that are known before the GPU driver has answered. */
export type PowerWithoutGpus = Omit<NodePowerReadings, "gpu">;

export interface ZonePower extends EnergyZoneSample {
  readonly power?: Watts | undefined;
  readonly from?: MonotonicInstant | undefined;
}

export interface DevicePowerReading {
  readonly total?: Watts | undefined;
  /** Power per board, if each one is read separately. */
  readonly boards: ReadonlyMap<string, Watts>;
  readonly since: MonotonicInstant;
  readonly missing?: string | undefined;
}

export interface NodePowerMeterOptions {
  readonly node: string;
  readonly energy: EnergyMeter | undefined;
  readonly http: HttpClient;
  readonly prometheus: PrometheusClients;
  readonly clock: Clock;
}

export class NodePowerMeter {
  readonly #options: NodePowerMeterOptions;
  readonly #before = new Map<string, EnergyCounterSample>();
  #lastRead: MonotonicInstant | undefined;

  constructor(options: NodePowerMeterOptions) {
    this.#options = options;
  }

  /** GPU power is returned as a promise, because the GPU driver may take much longer than the rest. */
  async read(
    { cpuSource, gpuSource }: Route,
    gpus: Promise<BackendSelection>,
    signal: AbortSignal,
  ): Promise<PowerWithoutGpus & { readonly gpu: Promise<DevicePowerReading> }> {
    const { clock } = this.#options;
    const since = this.#lastRead ?? clock.monotonic();
    const asked = new Map<string, Promise<HttpReading>>();
    const service = async (source: SourceRoute): Promise<HttpReading | undefined> => {
      if (source.type !== "http") return undefined;
      const known = asked.get(source.endpoint) ?? this.#telemetry(source, signal);
      asked.set(source.endpoint, known);
      return known;
    };
    const [cpuService, gpuService] = await Promise.all([service(cpuSource), service(gpuSource)]);
    const { zones, missing } = this.#zones();
    const gpu = this.#gpu(gpuSource, gpuService, gpus, since, signal);
    gpu.catch(() => undefined);
    const cpu = await this.#cpu(cpuSource, cpuService, { zones, missing }, since, signal);
    this.#lastRead = clock.monotonic();
    return { cpu, gpu, cpuService, gpuService, zones };
  }

  async #cpu(
    source: SourceRoute,
    service: HttpReading | undefined,
    counters: { readonly zones: readonly ZonePower[]; readonly missing?: string | undefined },
    since: MonotonicInstant,
    signal: AbortSignal,
  ): Promise<DevicePowerReading> {
    if (source.type === "http")
      return { total: service?.cpuPower, boards: NONE, since, missing: service?.failed ?? service?.missing };
    if (source.type === "prometheus") return this.#query(source, since, signal);
    if (source.type !== "host") return { boards: NONE, since, missing: whyNone(source, "CPU") };
    const { zones } = counters;
    const total = totalPower(zones.map(({ power }) => power));
    const missing =
      zones.length === 0
        ? (counters.missing ?? "no energy counter on this node")
        : "not all packages have a reading yet";
    // The counter's previous sample is the most precise start of the period.
    return { total, boards: byBoard(zones), since: sinceOf(zones, since), ...(total === undefined && { missing }) };
  }

  async #gpu(
    source: SourceRoute,
    service: HttpReading | undefined,
    gpus: Promise<BackendSelection>,
    since: MonotonicInstant,
    signal: AbortSignal,
  ): Promise<DevicePowerReading> {
    if (source.type === "http") return { total: service?.gpuPower, boards: NONE, since, missing: service?.failed };
    if (source.type === "prometheus") return this.#query(source, since, signal);
    if (source.type !== "host") return { boards: NONE, since, missing: whyNone(source, "GPU") };
    const { backend } = await gpus;
    const powers = (await backend?.power?.(signal)) ?? [];
    const boards = new Map(powers.flatMap(({ id, power }) => (isNonNegative(power) ? [[id, power] as const] : [])));
    const { clock } = this.#options;
    const missing = powers.find(({ power }) => !isNonNegative(power))?.missing ?? "no GPU reports its power";
    const total = totalPower(powers.map(({ power }) => power));
    // GPU boards report the mean of about one second.
    const momentAgo = monotonicInstant(clock.monotonic() - 1000);
    return { total, boards, since: momentAgo, ...(total === undefined && { missing }) };
  }

  async #telemetry(source: Extract<SourceRoute, { type: "http" }>, signal: AbortSignal): Promise<HttpReading> {
    const { http, node, clock } = this.#options;
    return readTelemetry(http, node, source, () => clock.now(), signal);
  }

  async #query(
    { endpoint, query, timeout }: Extract<SourceRoute, { type: "prometheus" }>,
    since: MonotonicInstant,
    signal: AbortSignal,
  ): Promise<DevicePowerReading> {
    const { node, prometheus } = this.#options;
    try {
      const client = prometheus.at(fillUrl(endpoint, "{node}", node).href, timeout);
      const samples = await client.query(fillPromql(query, "{node}", node), signal, node);
      const [sample] = samples;
      if (samples.length !== 1 || sample === undefined)
        return { boards: NONE, since, missing: `the query returned ${samples.length} samples instead of one` };
      const total = watts(sample.value);
      // Without the value, which differs at every tick: each new status message is a write to the API server.
      const missing = "the query returned a value that is no power: it is negative or not finite";
      return isNonNegative(total) ? { total, boards: NONE, since } : { boards: NONE, since, missing };
    } catch (error) {
      if (!(error instanceof TelemetryError)) throw error;
      return { boards: NONE, since, missing: error.message };
    }
  }

  /** Reads the counters for every type of source, because the metrics show them. */
  #zones(): { readonly zones: readonly ZonePower[]; readonly missing?: string | undefined } {
    const { zones, missing } = this.#options.energy?.sample() ?? { zones: [] };
    const seen = new Set(zones.map(({ zone }) => zone));
    for (const zone of this.#before.keys()) if (!seen.has(zone)) this.#before.delete(zone);
    const powers = zones.map((one) => {
      const before = this.#before.get(one.zone);
      this.#before.set(one.zone, one.sample);
      const power = before === undefined ? undefined : powerBetween(before, one.sample, one.counter).power;
      return { ...one, power, from: before?.at };
    });
    return { zones: powers, missing };
  }
}

const NONE: ReadonlyMap<string, Watts> = new Map();

const whyNone = (source: SourceRoute, device: string): string =>
  source.type === "unusable" ? source.why : `readings of ${device} power are off`;

/** Sums the dies of a package. If one die has no reading, the package has none. */
const byBoard = (zones: readonly ZonePower[]): ReadonlyMap<string, Watts> =>
  new Map(
    [...Map.groupBy(zones, ({ zone, board = zone }) => board)].flatMap(([board, members]) => {
      const power = totalPower(members.map((member) => member.power));
      return power === undefined ? [] : [[board, power] as const];
    }),
  );

function sinceOf(zones: readonly ZonePower[], fallback: MonotonicInstant) {
  const starts = zones.flatMap(({ from }) => from ?? []);
  return starts.length === 0 ? fallback : monotonicInstant(Math.min(...starts));
}

export interface PrometheusClientsOptions {
  readonly clock: Clock;
  readonly access?: EndpointAccess;
  readonly tokenFile?: string | undefined;
  readonly caFile?: string | undefined;
}

/** Usually there is one server; an endpoint with {node} may need one client per node. */
const MAX_CLIENTS = 64;

/** One client per Prometheus endpoint, shared by all nodes. */
export class PrometheusClients {
  readonly #options: PrometheusClientsOptions;
  readonly #byAddress = new Map<string, PrometheusClient>();

  constructor(options: PrometheusClientsOptions) {
    this.#options = options;
  }

  at(address: string, timeout: Milliseconds): PrometheusClient {
    const key = `${timeout} ${address}`;
    const client = this.#byAddress.get(key) ?? new PrometheusClient({ ...this.#options, address, timeout });
    // Insertion order is the order of use: the first one is evicted.
    this.#byAddress.delete(key);
    this.#byAddress.set(key, client);
    if (this.#byAddress.size > MAX_CLIENTS) this.#evict();
    return client;
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#byAddress.values(), async (client) => client.close()));
    this.#byAddress.clear();
  }

  #evict(): void {
    for (const [key, client] of this.#byAddress) {
      this.#byAddress.delete(key);
      void client.close();
      return;
    }
  }
}
