import type { HardwareView } from "../../../core/inventory/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import {
  HttpCapBackend,
  HttpControlClient,
  type HttpDeviceInfo,
  type HttpReading,
  HttpThrottleBackend,
  type UnansweredCommands,
} from "../../../platform/hardware/index.ts";
import type { JournalEntry } from "../../../platform/journal/index.ts";
import type { HttpClient } from "../../../platform/telemetry/index.ts";
import type { PowerWithoutGpus } from "../telemetry/node-power.ts";
import type { ControlRoute, Route } from "./routing.ts";

interface HttpControlRoute {
  readonly endpoint: string;
  readonly timeout: number;
  readonly caps: HttpCapBackend;
  readonly throttle: HttpThrottleBackend;
}

export class HttpRoutes {
  readonly #node: string;
  readonly #http: HttpClient;
  readonly #clock: Clock;
  readonly #unanswered: UnansweredCommands;
  #cpu: HttpControlRoute | undefined;
  #gpu: HttpControlRoute | undefined;
  #devices: { readonly cpu: HttpDeviceInfo; readonly gpu: HttpDeviceInfo } | undefined;

  constructor(node: string, http: HttpClient, clock: Clock, unanswered: UnansweredCommands) {
    this.#node = node;
    this.#http = http;
    this.#clock = clock;
    this.#unanswered = unanswered;
  }

  get cpu(): HttpControlRoute | undefined {
    return this.#cpu;
  }

  get gpu(): HttpControlRoute | undefined {
    return this.#gpu;
  }

  update({ cpuControl, gpuControl }: Route, view: HardwareView, { cpuService, gpuService }: PowerWithoutGpus): void {
    this.#devices = { cpu: cpusOf(view, cpuService), gpu: gpusOf(view, gpuService) };
    this.#cpu = this.#way("cpu", cpuControl, this.#cpu);
    this.#gpu = this.#way("gpu", gpuControl, this.#gpu);
  }

  isCurrent({ board, endpoint }: JournalEntry): boolean {
    const way = board === "gpus" ? this.#gpu : this.#cpu;
    return way !== undefined && way.endpoint === endpoint;
  }

  #way(kind: "cpu" | "gpu", route: ControlRoute, known: HttpControlRoute | undefined): HttpControlRoute | undefined {
    if (route.type !== "http") return undefined;
    const { endpoint, timeout } = route;
    if (known?.endpoint === endpoint && known.timeout === timeout) return known;
    const control = new HttpControlClient({
      http: this.#http,
      clock: this.#clock,
      node: this.#node,
      endpoint,
      timeout,
      unanswered: this.#unanswered,
    });
    const devices = () => this.#devices?.[kind] ?? { device: {}, count: 1 };
    return {
      endpoint,
      timeout,
      caps: new HttpCapBackend({ kind, control, devices }),
      throttle: new HttpThrottleBackend(control),
    };
  }
}

function cpusOf({ cpu }: HardwareView, service: HttpReading | undefined): HttpDeviceInfo {
  const { maxWattsPerSocket: max, minWattsPerSocket: min, sockets, from } = cpu;
  // A fallback value is no maximum: neither for percentages nor to restore to.
  const known = from.maxWatts !== "fallback";
  const what = known ? { device: { max, min }, maxPower: max } : { device: {} };
  return { ...what, count: sockets, ...seen(service, service?.cpuCap) };
}

function gpusOf({ gpu }: HardwareView, service: HttpReading | undefined): HttpDeviceInfo {
  if (gpu === undefined) return { absent: "no GPU is known on this node", device: {}, count: 0 };
  const { maxWatts: max, minWatts: min, count, from } = gpu;
  const known = from.maxWatts !== "fallback";
  const range = { max, ...(from.minWatts !== "fallback" && { min }) };
  const what = known ? { device: range, maxPower: max } : { device: {} };
  return { ...what, count, ...seen(service, service?.gpuCap) };
}

const seen = (service: HttpReading | undefined, cap: HttpReading["cpuCap"]): Pick<HttpDeviceInfo, "seen"> =>
  service === undefined || service.failed !== undefined ? {} : { seen: { cap } };
