import { z } from "zod";
import type { WriteOutcome } from "../../core/control/index.ts";
import { endpointOf, UNREADABLE, wayBackOf, wayTo } from "./http-caps.ts";
import type { HttpControl } from "./http-control.ts";
import type { OriginalReading, ThrottleBackend } from "./port.ts";

const wayBack = z.object({ endpoint: z.string().min(1), timeoutSeconds: z.number().positive().max(300) });

/** Throttling by a control service. What it goes back to is no throttle at all. */
export class HttpThrottle implements ThrottleBackend {
  readonly name = "http";
  readonly #control: HttpControl;

  constructor(control: HttpControl) {
    this.#control = control;
  }

  async look(): Promise<{ absent?: string }> {
    return {};
  }

  async throttle(throttlePct: number, signal?: AbortSignal): Promise<WriteOutcome> {
    return this.#control.send({ action: "dvfs.set_throttle_pct", throttlePct }, signal);
  }

  async original(): Promise<OriginalReading> {
    return { original: JSON.stringify(wayTo(this.#control.endpoint)) };
  }

  async restore(original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const way = wayBackOf(original, wayBack);
    if (way === undefined) return { result: "error", message: UNREADABLE };
    return this.#control.send({ action: "dvfs.set_throttle_pct", throttlePct: 0 }, signal, endpointOf(way));
  }
}
