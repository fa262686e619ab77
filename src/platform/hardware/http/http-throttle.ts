import * as z from "zod";
import type { WriteOutcome } from "../../../core/control/index.ts";
import type { Percent } from "../../../core/units/index.ts";
import type { OriginalReading, ThrottleBackend } from "../port.ts";
import { httpEndpointOf, INVALID_ORIGINAL, originalEndpoint, parseHttpOriginal } from "./http-caps.ts";
import type { HttpControlClient } from "./http-control.ts";

const originalSchema = z.object({ endpoint: z.string().min(1), timeoutSeconds: z.number().positive().max(300) });

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
    const parsed = parseHttpOriginal(original, originalSchema);
    if (parsed === undefined) return { result: "error", message: INVALID_ORIGINAL };
    return this.#control.lift({ action: "dvfs.set_throttle_pct", throttlePct: 0 }, httpEndpointOf(parsed), signal);
  }
}
