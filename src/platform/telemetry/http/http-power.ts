import type { MeterReading } from "../../../core/twin/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { RandomSource } from "../../random/index.ts";
import { DropCounter, type DropReason, isStaleSample } from "../dropped-samples.ts";
import { TelemetryError } from "../errors.ts";
import type { NodePowerSource, NodeReadings } from "../node-power-source.ts";
import { fillUrl } from "../template.ts";
import { EndpointPoller, type EndpointPollerOptions } from "./endpoint-poller.ts";
import { HttpClient, type HttpClientOptions } from "./http-client.ts";
import { type PowerScope, powerInPayload } from "./telemetry-payload.ts";

/** `timeout` applies to one node: a second or two. */
export interface HttpPowerOptions extends Omit<HttpClientOptions, "connections"> {
  readonly clock: Clock;
  readonly random: RandomSource;
  /** A URL in which `{node}` is replaced by the node's name. */
  readonly endpoint: string;
  readonly scope: PowerScope;
  readonly poller?: Partial<Omit<EndpointPollerOptions, "clock" | "random">>;
}

/** With these values, 500 unresponsive endpoints cost the first poll about three seconds and later polls nothing. */
const POLLER_DEFAULTS = { parallel: 32, patience: milliseconds(200), maxOpen: 512, budget: milliseconds(10_000) };

export class HttpPower implements NodePowerSource {
  readonly #options: HttpPowerOptions;
  readonly #http: HttpClient;
  readonly #poller: EndpointPoller;

  constructor(options: HttpPowerOptions) {
    const { clock, random } = options;
    const poller = { ...POLLER_DEFAULTS, ...options.poller };
    this.#options = options;
    this.#poller = new EndpointPoller({ ...poller, clock, random });
    // One host may serve all nodes. Even then, a call that hangs must not hold a connection that another call needs.
    this.#http = new HttpClient({ ...options, connections: poller.maxOpen });
  }

  async read(nodes: readonly string[], signal?: AbortSignal): Promise<NodeReadings> {
    const readings = new Map<string, MeterReading>();
    const drops = new DropCounter();
    const ask = async (node: string): Promise<boolean> => {
      const reading = await this.#readNode(node, signal);
      if (typeof reading !== "string") readings.set(node, reading);
      else drops.add(reading);
      return typeof reading !== "string";
    };
    const outcomes = await this.#poller.run(nodes, ask, signal);
    for (const outcome of outcomes.values()) if (outcome === "waiting" || outcome === "deferred") drops.add(outcome);
    return { readings, dropped: drops.counts };
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #readNode(node: string, signal: AbortSignal | undefined): Promise<MeterReading | DropReason> {
    const { clock, endpoint, scope } = this.#options;
    try {
      const payload = await this.#http.json({ url: fillUrl(endpoint, "{node}", node), signal });
      const reading = powerInPayload(payload, scope);
      if (typeof reading === "string") return reading;
      const now = clock.now();
      const { at = now } = reading;
      return isStaleSample(at, now) ? "stale" : { ...reading, at, source: "http" };
    } catch (error) {
      if (error instanceof TelemetryError) return error.kind;
      throw error;
    }
  }
}
