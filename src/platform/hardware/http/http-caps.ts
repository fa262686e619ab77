import * as z from "zod";
import type { CapDevice, WriteOutcome } from "../../../core/control/index.ts";
import { formatWatts, isPositive, milliseconds, type Watts } from "../../../core/units/index.ts";
import type { BackendView, DeviceKind, LimitReading, OriginalReading, PowerCapBackend } from "../port.ts";
import type { ControlCommand, HttpControlClient, HttpEndpoint } from "./http-control.ts";

/** What is known of the devices behind a control service; it tells nothing of them itself. */
export interface HttpDeviceInfo {
  /** Why there is nothing to cap: no GPU on this node. */
  readonly absent?: string | undefined;
  /** The range of one package or one GPU. */
  readonly device: CapDevice;
  /** What to set when nothing is to be limited any more: the most that is known of the device. */
  readonly maxPower?: Watts | undefined;
  /** How many devices the cap is for. */
  readonly count: number;
  /** The last that telemetry said: its cap may be of one device or of all of them. */
  readonly seen?: { readonly cap?: Watts | undefined } | undefined;
}

export interface HttpCapBackendOptions {
  readonly kind: DeviceKind;
  readonly control: HttpControlClient;
  readonly devices: () => HttpDeviceInfo;
}

/** What no package, and no GPU, draws: where nothing is known of a device, a limit there limits nothing. */
const NO_LIMIT: Readonly<Record<DeviceKind, number>> = { cpu: 1000, gpu: 2000 };
const boards = { cpu: "packages", gpu: "gpus" } as const;

/** The way back, as the journal keeps it: it must work when the route is another one or this agent was replaced. */
const wayBack = z.object({
  endpoint: z.string().min(1),
  timeoutSeconds: z.number().positive().max(300),
  watts: z.number().positive(),
});

/**
 * Caps by a control service: one board stands for all packages, or all GPUs, of a node. A service has no notion of an original
 * limit, so what it goes back to is the most that is known: of the device, or what limits none, or more where telemetry says so.
 */
export class HttpCapBackend implements PowerCapBackend {
  readonly name = "http";
  readonly kind: DeviceKind;
  readonly #options: HttpCapBackendOptions;
  /** What was set last, and what had been seen by then: that says nothing of it. */
  #last: { readonly watts: Watts; readonly seen: HttpDeviceInfo["seen"] } | undefined;

  constructor(options: HttpCapBackendOptions) {
    this.kind = options.kind;
    this.#options = options;
  }

  async discover(): Promise<BackendView> {
    const { absent, device } = this.#options.devices();
    return absent === undefined ? { boards: [{ id: boards[this.kind], device }] } : { absent };
  }

  async limit(id: string): Promise<LimitReading> {
    if (!this.#has(id)) return { unreadable: this.#unknown(id) };
    const { seen, count } = this.#options.devices();
    if (seen === undefined || seen === this.#last?.seen) return { unreadable: "telemetry has said nothing since" };
    if (!isPositive(seen.cap)) return { unreadable: "telemetry reports no cap" };
    const { watts } = this.#last ?? {};
    const ofAll = watts !== undefined && Math.abs(seen.cap - watts * count) <= 0.005 * seen.cap;
    return { limit: ofAll ? watts : seen.cap };
  }

  async cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome> {
    if (!this.#has(id)) return { result: "error", message: this.#unknown(id) };
    const { control, devices } = this.#options;
    const { max = Number.MAX_VALUE } = devices().device;
    if (!isPositive(limit) || limit > max)
      return { result: "error", message: `${formatWatts(limit)} is no limit to be set` };
    const outcome = await control.send(commandOf(this.kind, limit), signal);
    if (outcome.result === "applied") this.#last = { watts: limit, seen: devices().seen };
    return outcome;
  }

  async original(id: string): Promise<OriginalReading> {
    if (!this.#has(id)) return { unreadable: this.#unknown(id) };
    const { maxPower, seen } = this.#options.devices();
    // What telemetry reports may be a cap of ours from before the journal was lost: alone it is never what to go back to.
    const watts = Math.max(isPositive(maxPower) ? maxPower : NO_LIMIT[this.kind], isPositive(seen?.cap) ? seen.cap : 0);
    return { original: JSON.stringify({ ...originalEndpoint(this.#options.control.endpoint), watts }) };
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    if (!this.#has(id)) return { result: "error", message: this.#unknown(id) };
    const way = parseHttpOriginal(original, wayBack);
    if (way === undefined) return { result: "error", message: INVALID_ORIGINAL };
    return this.#options.control.send(commandOf(this.kind, way.watts), signal, endpointOf(way));
  }

  #has(id: string): boolean {
    return id === boards[this.kind];
  }

  #unknown(id: string): string {
    return `a control service has no board ${JSON.stringify(id)}: ${boards[this.kind]} is all it has`;
  }
}

const commandOf = (kind: DeviceKind, watts: number): ControlCommand =>
  kind === "cpu"
    ? { action: "rapl.set_power_cap_watts", capWatts: watts }
    : { action: "gpu.set_power_cap_watts", capWattsPerGpu: watts };

export const INVALID_ORIGINAL = "the journal's way back over HTTP cannot be read";

export const originalEndpoint = ({ endpoint, timeout }: HttpEndpoint) => ({ endpoint, timeoutSeconds: timeout / 1000 });

export const endpointOf = (way: { readonly endpoint: string; readonly timeoutSeconds: number }): HttpEndpoint => ({
  endpoint: way.endpoint,
  timeout: milliseconds(way.timeoutSeconds * 1000),
});

export function parseHttpOriginal<Way>(original: string, schema: z.ZodType<Way>): Way | undefined {
  try {
    return schema.safeParse(JSON.parse(original)).data;
  } catch {
    return undefined;
  }
}
