import * as z from "zod";
import type { WriteOutcome } from "../../../core/control/index.ts";
import {
  abridged,
  elapsed,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
} from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { withoutControlCharacters } from "../../log/index.ts";
import { fillUrl, type HttpAnswer, type HttpClient, TelemetryError } from "../../telemetry/index.ts";

/** The address of a node's control or telemetry service. */
export interface HttpEndpoint {
  /** A URL in which `{node}` is replaced by the node's name. */
  readonly endpoint: string;
  readonly timeout: Milliseconds;
}

export interface HttpControlClientOptions extends HttpEndpoint {
  readonly http: Pick<HttpClient, "send">;
  readonly clock: Clock;
  readonly node: string;
}

/** The commands of a control service. */
export type ControlCommand =
  | { readonly action: "rapl.set_power_cap_watts"; readonly capWatts: number }
  | { readonly action: "dvfs.set_throttle_pct"; readonly throttlePct: number }
  | { readonly action: "gpu.set_power_cap_watts"; readonly capWattsPerGpu: number };

const answerSchema = z.object({
  result: z.enum(["applied", "blocked", "error"]),
  message: z.string().optional().catch(undefined),
});

/** After a timeout, commands fail at once for this long: the next command of the same tick would wait for the timeout again. */
const PAUSE_AFTER_TIMEOUT = milliseconds(10_000);

/** Sends commands with `POST /control/{node}`. Rejects only with the signal's reason. */
export class HttpControlClient {
  readonly #options: HttpControlClientOptions;
  #unreachable: { readonly since: MonotonicInstant; readonly message: string } | undefined;

  constructor(options: HttpControlClientOptions) {
    this.#options = options;
  }

  get node(): string {
    return this.#options.node;
  }

  get endpoint(): HttpEndpoint {
    const { endpoint, timeout } = this.#options;
    return { endpoint, timeout };
  }

  async send(command: ControlCommand, signal?: AbortSignal, to: HttpEndpoint = this.endpoint): Promise<WriteOutcome> {
    const { http, clock, node } = this.#options;
    const elsewhere = to.endpoint !== this.#options.endpoint;
    const unreachable = elsewhere ? undefined : this.#unreachable;
    if (unreachable !== undefined && elapsed(unreachable.since, clock.monotonic()) < PAUSE_AFTER_TIMEOUT)
      return { result: "error", message: unreachable.message };
    const body = JSON.stringify({ node, ts: new Date(clock.now()).toISOString(), ...command });
    try {
      const url = fillUrl(to.endpoint, "{node}", node);
      const headers = { "content-type": "application/json" };
      const answer = await http.send({ method: "POST", url, node, headers, body, timeout: to.timeout, signal });
      if (!elsewhere) this.#unreachable = undefined;
      return outcomeOf(answer);
    } catch (error) {
      if (!(error instanceof TelemetryError)) throw error;
      const { kind, message } = error;
      if (!elsewhere && (kind === "timeout" || kind === "network"))
        this.#unreachable = { since: clock.monotonic(), message };
      return { result: kind === "not_allowed" ? "blocked" : "error", message };
    }
  }
}

/**
 * The `result` in the body decides: a 200 with `blocked` is blocked, and a 200 without a result is an error. The `message` is passed
 * on, shortened. Nothing else of the response is, because the endpoint is not trusted.
 */
function outcomeOf({ status, text }: HttpAnswer): WriteOutcome {
  const success = status >= 200 && status <= 299;
  const answer = answerSchema.safeParse(parsed(text)).data;
  if (answer === undefined)
    return { result: "error", message: `the control service returned ${status} without a result` };
  const message = abridged(withoutControlCharacters(answer.message ?? "")) || undefined;
  if (answer.result === "applied" && !success)
    return { result: "error", message: `the control service returned ${status} with the result applied` };
  const fallback =
    answer.result === "applied" ? undefined : `the control service returned ${answer.result} without a reason`;
  const explained = message ?? fallback;
  return { result: answer.result, ...(explained !== undefined && { message: explained }) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
