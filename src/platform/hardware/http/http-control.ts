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
import { parsedJson } from "../../http/index.ts";
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
  /** Shared by all clients of the node, whose routes may change. */
  readonly unanswered?: UnansweredCommands;
}

export type ControlCommand =
  | { readonly action: "rapl.set_power_cap_watts"; readonly capWatts: number }
  | { readonly action: "dvfs.set_throttle_pct"; readonly throttlePct: number }
  | { readonly action: "gpu.set_power_cap_watts"; readonly capWattsPerGpu: number };

const answerSchema = z.object({
  result: z.enum(["applied", "blocked", "error"]),
  message: z.string().optional().catch(undefined),
  /** The service carries out no command that is older than one it has carried out. */
  ordered: z.boolean().optional().catch(undefined),
  /** With a rejected command: the time stamp of the newest one that the service has carried out. */
  newest: z.string().optional().catch(undefined),
});

/** After a timeout, commands fail at once for this long: the next command of the same tick would wait for the timeout again. */
const PAUSE_AFTER_TIMEOUT = milliseconds(10_000);
/** A command without an answer may be carried out up to this much later: services and proxies hold requests for minutes. */
const LATE_WITHIN = milliseconds(300_000);

/** The last time stamp with a year of four digits. The service is not trusted, and there must be room for later ones. */
const LAST_STAMP = Date.UTC(9999, 11, 31);

const UNSETTLED =
  "the limit is raised, but an earlier command got no answer and may still lower it; it is raised again at each tick";

/** Commands that got no answer, and so may still be carried out. */
export class UnansweredCommands {
  readonly #clock: Clock;
  /** By action and endpoint: the time of the last one, and how much the strictest one limits. */
  readonly #unanswered = new Map<string, { readonly since: MonotonicInstant; readonly strictness: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(command: ControlCommand, to: HttpEndpoint): void {
    const since = this.#clock.monotonic();
    for (const [key, old] of this.#unanswered)
      if (elapsed(old.since, since) >= LATE_WITHIN) this.#unanswered.delete(key);
    const before = this.#unanswered.get(nameOf(command, to))?.strictness ?? -Infinity;
    this.#unanswered.set(nameOf(command, to), { since, strictness: Math.max(before, strictnessOf(command)) });
  }

  /** Whether one of the same action would limit more than this command. */
  mayUndo(command: ControlCommand, to: HttpEndpoint): boolean {
    const unanswered = this.#unanswered.get(nameOf(command, to));
    if (unanswered === undefined || elapsed(unanswered.since, this.#clock.monotonic()) >= LATE_WITHIN) return false;
    return unanswered.strictness > strictnessOf(command);
  }

  delete(command: ControlCommand, to: HttpEndpoint): void {
    this.#unanswered.delete(nameOf(command, to));
  }
}

/** Sends commands with `POST /control/{node}`. Rejects only with the signal's reason. */
export class HttpControlClient {
  readonly #options: HttpControlClientOptions;
  #unreachable: { readonly since: MonotonicInstant; readonly message: string } | undefined;
  /** The last time stamp. Each command has a later one, even if the clock is set back. */
  #lastStamp = 0;
  readonly #unanswered: UnansweredCommands;

  constructor(options: HttpControlClientOptions) {
    this.#options = options;
    this.#unanswered = options.unanswered ?? new UnansweredCommands(options.clock);
  }

  get endpoint(): HttpEndpoint {
    const { endpoint, timeout } = this.#options;
    return { endpoint, timeout };
  }

  /**
   * Sends a command that counts as an error while an earlier one of the same action, which limits more, got no answer and may still
   * be carried out after this one. A service that says `ordered` never does that.
   */
  async sendLast(
    command: ControlCommand,
    signal?: AbortSignal,
    to: HttpEndpoint = this.endpoint,
  ): Promise<WriteOutcome> {
    const outcome = await this.send(command, signal, to);
    const isUnsettled = outcome.result === "applied" && this.#unanswered.mayUndo(command, to);
    return isUnsettled ? { result: "error", message: UNSETTLED, isUnsettled: true } : outcome;
  }

  async send(command: ControlCommand, signal?: AbortSignal, to: HttpEndpoint = this.endpoint): Promise<WriteOutcome> {
    const { clock } = this.#options;
    const elsewhere = to.endpoint !== this.#options.endpoint;
    const unreachable = elsewhere ? undefined : this.#unreachable;
    if (unreachable !== undefined && elapsed(unreachable.since, clock.monotonic()) < PAUSE_AFTER_TIMEOUT)
      return { result: "error", message: unreachable.message };
    try {
      const { outcome, ordered, isLost, newest } = await this.#post(command, to, signal);
      // Another agent with a clock ahead of this one has sent commands: this command is the newest all the same.
      const answer =
        newest === undefined ? { outcome, ordered, isLost } : await this.#post(command, to, signal, newest);
      if (!elsewhere) this.#unreachable = undefined;
      if (answer.isLost) this.#unanswered.add(command, to);
      if (answer.ordered && answer.outcome.result === "applied") this.#unanswered.delete(command, to);
      return answer.outcome;
    } catch (error) {
      const { kind, message } = error instanceof TelemetryError ? error : { kind: "aborted" as const, message: "" };
      const isUnanswered = kind === "timeout" || kind === "network" || kind === "aborted";
      if (isUnanswered) this.#unanswered.add(command, to);
      if (kind === "aborted") throw error;
      if (!elsewhere && isUnanswered) this.#unreachable = { since: clock.monotonic(), message };
      return { result: kind === "not_allowed" ? "blocked" : "error", message };
    }
  }

  async #post(command: ControlCommand, to: HttpEndpoint, signal: AbortSignal | undefined, after = 0): Promise<Answer> {
    const { http, clock, node } = this.#options;
    this.#lastStamp = Math.max(clock.now(), this.#lastStamp + 1, after + 1);
    const body = JSON.stringify({ node, ts: new Date(this.#lastStamp).toISOString(), ...command });
    const url = fillUrl(to.endpoint, "{node}", node);
    const headers = { "content-type": "application/json" };
    return answerOf(await http.send({ method: "POST", url, node, headers, body, timeout: to.timeout, signal }));
  }
}

const nameOf = ({ action }: ControlCommand, { endpoint }: HttpEndpoint): string => `${action} ${endpoint}`;

/** The higher, the less power a command leaves. Comparable within an action. */
function strictnessOf(command: ControlCommand): number {
  if (command.action === "dvfs.set_throttle_pct") return command.throttlePct;
  return command.action === "rapl.set_power_cap_watts" ? -command.capWatts : -command.capWattsPerGpu;
}

interface Answer {
  readonly outcome: WriteOutcome;
  readonly ordered: boolean;
  /** A gateway has answered instead of the service, which may still carry out the command. */
  readonly isLost: boolean;
  readonly newest?: number;
}

function answerOf(answer: HttpAnswer): Answer {
  const { result, ordered, newest } = answerSchema.safeParse(parsedJson(answer.text)).data ?? {};
  const time = Date.parse(newest ?? "");
  const isOlder = answer.status === 409 && time < LAST_STAMP;
  const isLost = result === undefined && answer.status >= 500;
  return { outcome: outcomeOf(answer), ordered: ordered === true, isLost, ...(isOlder && { newest: time }) };
}

/**
 * The `result` in the body decides: a 200 with `blocked` is blocked, and a 200 without a result is an error. The `message` is passed
 * on, shortened. Nothing else of the response is, because the endpoint is not trusted.
 */
function outcomeOf({ status, text }: HttpAnswer): WriteOutcome {
  const success = status >= 200 && status <= 299;
  const answer = answerSchema.safeParse(parsedJson(text)).data;
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
