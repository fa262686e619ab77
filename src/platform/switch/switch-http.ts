import { formatDuration, type Milliseconds } from "../../core/units/index.ts";
import { type Clock, Deadline } from "../clock/index.ts";
import { Agent, boundedText, buildConnector, headerTexts, parsedJson, send } from "../http/index.ts";
import { type ConfirmSwitching, PowerSwitchError } from "./power-switch.ts";

export interface SwitchHttpOptions {
  readonly clock: Clock;
  /** The time limit of one call, from sending to the last byte. */
  readonly timeout: Milliseconds;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | undefined;
  readonly insecureSkipVerify?: boolean;
}

export interface SwitchRequest {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal: AbortSignal;
  /** Of a request that changes power. */
  readonly confirm?: ConfirmSwitching;
}

export interface SwitchAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON of the body; undefined if there is none or it is no JSON. */
  readonly json: unknown;
}

/** A ComputerSystem has some kilobytes; a megabyte is no answer of a BMC. */
const MAX_BODY_BYTES = 2 ** 20;

/**
 * HTTP for power switches, limited in time and size. It follows no redirects, because the password would go along, and
 * requests no compression. Its errors name the origin, the path and the status, never a body.
 */
export class SwitchHttp {
  readonly #options: SwitchHttpOptions;
  readonly #agent: Agent;
  /** Of the call in progress, called again if it needs a new connection: a slow switch may take seconds to accept one. */
  #confirmConnected: ConfirmSwitching | undefined;

  constructor(options: SwitchHttpOptions) {
    const { timeout, ca, insecureSkipVerify = false } = options;
    this.#options = options;
    const trust = { ...(ca !== undefined && { ca }), ...(insecureSkipVerify && { rejectUnauthorized: false }) };
    const connect = buildConnector({ ...trust, timeout, allowH2: false });
    this.#agent = new Agent({
      connections: 1,
      pipelining: 1,
      allowH2: false,
      // The injected clock limits whole calls instead.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (options, connected) =>
        connect(options, (...result) => {
          const [error, socket] = result;
          const confirmed = error === null ? this.#confirmConnected?.() : undefined;
          if (confirmed === undefined) return connected(...result);
          confirmed.then(
            () => connected(...result),
            (refusal: Error) => {
              socket?.destroy();
              connected(refusal, null);
            },
          );
        }),
    });
  }

  /** Returns the answer, whatever its status, except a redirect. */
  async call(url: URL, call: SwitchRequest): Promise<SwitchAnswer> {
    const { clock, timeout } = this.#options;
    const { method = "GET", signal, confirm } = call;
    const name = `${method} ${url.origin}${url.pathname}`;
    await confirm?.();
    let refusal: { readonly error: unknown } | undefined;
    this.#confirmConnected =
      confirm &&
      (async () =>
        confirm().catch((error: unknown) => {
          refusal = { error };
          throw error;
        }));
    const deadline = new Deadline(clock, timeout, { signal });
    try {
      return await this.#exchange(url, call, deadline.signal);
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      if (refusal !== undefined) throw refusal.error;
      if (deadline.expired)
        throw new PowerSwitchError("timeout", `${name}: no response within ${formatDuration(timeout)}`);
      if (cause instanceof PowerSwitchError)
        throw new PowerSwitchError(cause.kind, `${name}: ${cause.message}`, cause.status);
      // No cause attached: undici's error contains the first bytes of a response that is not HTTP.
      throw new PowerSwitchError("network", `${name}: no response (${reasonOf(cause)})`);
    } finally {
      this.#confirmConnected = undefined;
      deadline.release();
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #exchange(url: URL, call: SwitchRequest, signal: AbortSignal): Promise<SwitchAnswer> {
    const { method = "GET", headers, body } = call;
    const answer = await send(this.#agent, {
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: {
        accept: "application/json",
        "user-agent": "joulie",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
    });
    const { statusCode: status } = answer;
    const text = await boundedText(answer.body, MAX_BODY_BYTES);
    if (text === undefined)
      throw new PowerSwitchError("too_large", `the response is larger than ${MAX_BODY_BYTES} bytes`);
    if (status >= 300 && status < 400)
      throw new PowerSwitchError("redirect", `status ${status}; redirects are not followed`, status);
    return { status, headers: headerTexts(answer.headers), json: parsedJson(text) };
  }
}

/** The code of a system error, such as ECONNREFUSED. Its message may quote what the peer sent. */
function reasonOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "connection failed";
}
