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

/** Where a node's control service is, as a route names it. */
export interface HttpEndpoint {
  /** `{node}` in it becomes the node's name. */
  readonly endpoint: string;
  readonly timeout: Milliseconds;
}

export interface HttpControlClientOptions extends HttpEndpoint {
  readonly http: Pick<HttpClient, "send">;
  readonly clock: Clock;
  readonly node: string;
}

/** What can be asked of a control service. */
export type ControlCommand =
  | { readonly action: "rapl.set_power_cap_watts"; readonly capWatts: number }
  | { readonly action: "dvfs.set_throttle_pct"; readonly throttlePct: number }
  | { readonly action: "gpu.set_power_cap_watts"; readonly capWattsPerGpu: number };

const answerSchema = z.object({
  result: z.enum(["applied", "blocked", "error"]),
  message: z.string().optional().catch(undefined),
});

/** An endpoint that did not answer is not asked again for so long: the next command of the same tick would wait as long as this one. */
const LEFT_ALONE = milliseconds(10_000);

/** `POST /control/{node}`: one command, and what came of it. Never rejects, but with the signal's own reason. */
export class HttpControlClient {
  readonly #options: HttpControlClientOptions;
  #silent: { readonly since: MonotonicInstant; readonly message: string } | undefined;

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
    const silent = elsewhere ? undefined : this.#silent;
    if (silent !== undefined && elapsed(silent.since, clock.monotonic()) < LEFT_ALONE)
      return { result: "error", message: silent.message };
    const body = JSON.stringify({ node, ts: new Date(clock.now()).toISOString(), ...command });
    try {
      const url = fillUrl(to.endpoint, "{node}", node);
      const headers = { "content-type": "application/json" };
      const answer = await http.send({ method: "POST", url, node, headers, body, timeout: to.timeout, signal });
      if (!elsewhere) this.#silent = undefined;
      return outcomeOf(answer);
    } catch (error) {
      if (!(error instanceof TelemetryError)) throw error;
      const { kind, message } = error;
      if (!elsewhere && (kind === "timeout" || kind === "network"))
        this.#silent = { since: clock.monotonic(), message };
      return { result: kind === "not_allowed" ? "blocked" : "error", message };
    }
  }
}

/**
 * What it says of itself counts: a 200 with `blocked` in it is blocked, and without a result it is no success. Its `message` is
 * made for people and passed on, in few words; nothing else of the answer is, whatever stands behind the endpoint.
 */
function outcomeOf({ status, text }: HttpAnswer): WriteOutcome {
  const success = status >= 200 && status <= 299;
  const answer = answerSchema.safeParse(parsed(text)).data;
  if (answer === undefined)
    return { result: "error", message: `the control service answered ${status} without a result` };
  const message = abridged(withoutControlCharacters(answer.message ?? "")) || undefined;
  if (answer.result === "applied" && !success)
    return { result: "error", message: `the control service answered ${status} although it says applied` };
  const silent = answer.result === "applied" ? undefined : `the control service says ${answer.result} and not why`;
  const words = message ?? silent;
  return { result: answer.result, ...(words !== undefined && { message: words }) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
