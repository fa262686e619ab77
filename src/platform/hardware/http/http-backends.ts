import * as z from "zod";
import type { CapDevice, WriteOutcome } from "../../../core/control/index.ts";
import { formatWatts, isPositive, milliseconds, type Percent, type Watts } from "../../../core/units/index.ts";
import { parsedJson } from "../../http/index.ts";
import type {
  BackendView,
  DeviceKind,
  LimitReading,
  OriginalReading,
  PowerCapBackend,
  ThrottleBackend,
} from "../port.ts";
import type { ControlCommand, HttpControlClient, HttpEndpoint } from "./http-control.ts";

/** What the agent knows about the devices behind a control service. The service itself reports nothing about them. */
export interface HttpDeviceInfo {
  /** Why there is nothing to cap, for example no GPU on this node. */
  readonly absent?: string | undefined;
  /** The cap range of one package or one GPU. */
  readonly device: CapDevice;
  /** The device's maximum, to set when the limit is removed. */
  readonly maxPower?: Watts;
  /** The number of devices that the cap applies to. */
  readonly count: number;
  /** The last telemetry reading. Its cap may be per device or the total. */
  readonly seen?: { readonly cap?: Watts | undefined };
}

export interface HttpCapBackendOptions {
  readonly kind: DeviceKind;
  readonly control: HttpControlClient;
  readonly devices: () => HttpDeviceInfo;
}

/** Watts that no package or GPU draws: the limit to restore if nothing is known about the device. */
const NO_LIMIT: Readonly<Record<DeviceKind, number>> = { cpu: 1000, gpu: 2000 };
const boardIds = { cpu: "packages", gpu: "gpus" } as const;

/** The original in the journal. It names the endpoint, so that restore works after the route changed or the agent was replaced. */
const endpointFields = { endpoint: z.string().min(1), timeoutSeconds: z.number().positive().max(300) };
const capSchema = z.object({ ...endpointFields, watts: z.number().positive() });
const throttleSchema = z.object(endpointFields);

/**
 * Sets caps through an HTTP control service. One board stands for all packages, or all GPUs, of a node. The service has no original
 * limit, so restore sets the device's known maximum, or a limit that no device reaches, or the reported cap if that is higher.
 */
export class HttpCapBackend implements PowerCapBackend {
  readonly name = "http";
  readonly kind: DeviceKind;
  readonly #options: HttpCapBackendOptions;
  /** The last cap that was set, and the telemetry reading from before it. */
  #lastCap: { readonly watts: Watts; readonly seen: HttpDeviceInfo["seen"] } | undefined;

  constructor(options: HttpCapBackendOptions) {
    this.kind = options.kind;
    this.#options = options;
  }

  async discover(): Promise<BackendView> {
    const { absent, device } = this.#options.devices();
    return absent === undefined ? { boards: [{ id: boardIds[this.kind], device }] } : { absent };
  }

  async limit(id: string): Promise<LimitReading> {
    if (!this.#has(id)) return { unreadable: this.#unknown(id) };
    const { seen, count } = this.#options.devices();
    if (seen === undefined || seen === this.#lastCap?.seen) return { unreadable: "no telemetry since the last cap" };
    if (!isPositive(seen.cap)) return { unreadable: "telemetry reports no cap" };
    const { watts } = this.#lastCap ?? {};
    const isTotal = watts !== undefined && Math.abs(seen.cap - watts * count) <= 0.005 * seen.cap;
    return { limit: isTotal ? watts : seen.cap };
  }

  async cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome> {
    if (!this.#has(id)) return { result: "error", message: this.#unknown(id) };
    const { control, devices } = this.#options;
    const { max = Number.MAX_VALUE } = devices().device;
    if (!isPositive(limit) || limit > max)
      return { result: "error", message: `${formatWatts(limit)} is not a valid limit` };
    const outcome = await control.sendLast(commandOf(this.kind, limit), signal);
    if (outcome.result === "applied") this.#lastCap = { watts: limit, seen: devices().seen };
    return outcome;
  }

  async original(id: string): Promise<OriginalReading> {
    if (!this.#has(id)) return { unreadable: this.#unknown(id) };
    const { maxPower, seen } = this.#options.devices();
    // The reported cap may be our own from before the journal was lost, so it is never used alone as the original.
    const most = isPositive(maxPower) ? maxPower : NO_LIMIT[this.kind];
    const cap = isPositive(seen?.cap) ? seen.cap : 0;
    const watts = Math.max(most, cap);
    return { original: JSON.stringify({ ...originalEndpoint(this.#options.control.endpoint), watts }) };
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    if (!this.#has(id)) return { result: "error", message: this.#unknown(id) };
    const parsed = parseHttpOriginal(original, capSchema);
    if (parsed === undefined) return { result: "error", message: INVALID_ORIGINAL };
    return this.#options.control.sendLast(commandOf(this.kind, parsed.watts), signal, httpEndpointOf(parsed));
  }

  #has(id: string): boolean {
    return id === boardIds[this.kind];
  }

  #unknown(id: string): string {
    return `a control service has no board ${JSON.stringify(id)}, only ${boardIds[this.kind]}`;
  }
}

const commandOf = (kind: DeviceKind, watts: number): ControlCommand =>
  kind === "cpu"
    ? { action: "rapl.set_power_cap_watts", capWatts: watts }
    : { action: "gpu.set_power_cap_watts", capWattsPerGpu: watts };

const INVALID_ORIGINAL = "the journal entry for restoring over HTTP is invalid";

const originalEndpoint = ({ endpoint, timeout }: HttpEndpoint) => ({ endpoint, timeoutSeconds: timeout / 1000 });

const httpEndpointOf = (original: { readonly endpoint: string; readonly timeoutSeconds: number }): HttpEndpoint => ({
  endpoint: original.endpoint,
  timeout: milliseconds(original.timeoutSeconds * 1000),
});

const parseHttpOriginal = <Original>(original: string, schema: z.ZodType<Original>): Original | undefined =>
  schema.safeParse(parsedJson(original)).data;

/** Throttles CPUs through an HTTP control service. Restore sets the throttle to 0 %. */
export class HttpThrottleBackend implements ThrottleBackend {
  readonly name = "http";
  readonly #control: HttpControlClient;
  /** Whether the node may be throttled. Until then, a throttle of 0 % needs no command. */
  #throttled = false;

  constructor(control: HttpControlClient) {
    this.#control = control;
  }

  async discover(): Promise<{ absent?: string }> {
    return {};
  }

  async throttle(requested: Percent, signal?: AbortSignal): Promise<WriteOutcome> {
    const throttlePct = Math.min(100, Math.max(0, requested || 0));
    if (throttlePct === 0 && !this.#throttled) return { result: "applied" };
    this.#throttled = true;
    return this.#control.send({ action: "dvfs.set_throttle_pct", throttlePct }, signal);
  }

  adoptOriginals(): void {
    this.#throttled = true;
  }

  async original(): Promise<OriginalReading> {
    return { original: JSON.stringify(originalEndpoint(this.#control.endpoint)) };
  }

  async restore(original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const parsed = parseHttpOriginal(original, throttleSchema);
    if (parsed === undefined) return { result: "error", message: INVALID_ORIGINAL };
    return this.#control.sendLast({ action: "dvfs.set_throttle_pct", throttlePct: 0 }, signal, httpEndpointOf(parsed));
  }
}
