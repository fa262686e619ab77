import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Backoff } from "../../backoff/index.ts";
import { type Clock, Deadline } from "../../clock/index.ts";
import type { RandomSource } from "../../random/index.ts";
import { textOfBody } from "../watch/watch-lines.ts";
import type { CallLimit } from "./call-limit.ts";
import { ApiError, describeCall, errorFromNetwork, errorFromResponse, mayRepeat, waitAfterError } from "./errors.ts";
import type { ApiRequest, ApiResponse, Transport } from "./transport.ts";

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Limits both the wait in the client's queue and each attempt up to its last byte. */
  readonly timeout?: Milliseconds;
  /** Maximum number of retries of a call that is safe to repeat. */
  readonly retries?: number;
  /** Bypasses the client's rate limit, for lease renewals. */
  readonly urgent?: boolean;
  /** Called right before each attempt, after any wait. If it throws, the call fails and sends nothing. */
  readonly beforeSending?: () => void | Promise<void>;
  /** Strips `metadata.managedFields` from the response before parsing; they are often half of it. */
  readonly lean?: boolean;
}

export interface CallerOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly limit: CallLimit;
  readonly timeout: Milliseconds;
  readonly retries: number;
  readonly userAgent: string;
  readonly maxBody: number;
}

type Outgoing = Omit<ApiRequest, "signal" | "longLived">;

const BACKOFF: Backoff = { first: milliseconds(200), longest: milliseconds(10_000) };
/** If Retry-After exceeds this, the call fails instead of waiting. */
const MAX_RETRY_AFTER = milliseconds(30_000);

/** Sends calls with rate limit, timeout and safe retries, and converts failures to `ApiError`. */
export class Caller {
  readonly #options: CallerOptions;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /** Returns the JSON body of a successful response. Only `idempotent` calls are retried after an unknown outcome. */
  async call(request: Outgoing, idempotent: boolean, options: CallOptions = {}): Promise<unknown> {
    const { clock, random } = this.#options;
    const retries = options.retries ?? this.#options.retries;
    for (let failures = 0; ; ) {
      try {
        return parse(request, await this.#attempt(request, options));
      } catch (error) {
        failures++;
        const again = mayRepeat(error, idempotent) || (failures === 1 && refusedOnce(error));
        if (!again || failures > retries || (error.retryAfter ?? 0) > MAX_RETRY_AFTER) throw error;
        await clock.sleep(waitAfterError(error, failures, BACKOFF, MAX_RETRY_AFTER, random), options.signal);
      }
    }
  }

  /** Opens a streaming response. The timeout covers only its start; then `signal` ends it. */
  async open(request: Outgoing, signal: AbortSignal, options: Omit<CallOptions, "signal"> = {}): Promise<ApiResponse> {
    await this.#turn(options, signal);
    signal.throwIfAborted();
    const deadline = this.#deadline(options, signal);
    try {
      const response = await this.#timed(request, { ...options, signal }, deadline, async () => {
        const opened = await this.#send(request, deadline.signal, true);
        if (opened.status < 300) return opened;
        throw await this.#refusal(request, opened);
      });
      return { ...response, body: endedWith(response.body, () => deadline.release()) };
    } catch (error) {
      deadline.release();
      throw error;
    }
  }

  async #attempt(request: Outgoing, options: CallOptions): Promise<string> {
    const { signal } = options;
    await this.#turn(options, signal);
    signal?.throwIfAborted();
    const checked = options.beforeSending?.();
    if (checked !== undefined) await checked;
    const deadline = this.#deadline(options, signal);
    try {
      return await this.#timed(request, options, deadline, async () => {
        const response = await this.#send(request, deadline.signal, false);
        if (response.status >= 300) throw await this.#refusal(request, response);
        return textOfBody(response.body, this.#options.maxBody, options.lean);
      });
    } finally {
      deadline.release();
    }
  }

  #deadline({ timeout = this.#options.timeout }: CallOptions, signal: AbortSignal | undefined): Deadline {
    return new Deadline(this.#options.clock, timeout, { signal, message: `no answer within ${timeout} ms` });
  }

  /** Undefined when the call may go at once. */
  #turn(
    { urgent, timeout = this.#options.timeout }: CallOptions,
    signal: AbortSignal | undefined,
  ): Promise<void> | undefined {
    return urgent === true ? undefined : this.#options.limit.take(signal, timeout);
  }

  async #timed<Result>(
    request: Outgoing,
    { timeout = this.#options.timeout, signal }: CallOptions,
    deadline: Deadline,
    work: () => Promise<Result>,
  ): Promise<Result> {
    // Also bounds code that ignores the signal, such as a credential plugin.
    const ended = Promise.withResolvers<never>();
    const end = () => ended.reject(deadline.signal.reason);
    deadline.signal.addEventListener("abort", end, { once: true });
    try {
      return await Promise.race([work(), ended.promise]);
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      if (deadline.expired)
        throw new ApiError("timeout", `${describeCall(request)}: no response within ${timeout} ms`, { cause: error });
      if (error instanceof ApiError) throw named(request, error);
      throw errorFromNetwork(request, error);
    } finally {
      deadline.stopTimer();
      deadline.signal.removeEventListener("abort", end);
    }
  }

  async #send(request: Outgoing, signal: AbortSignal, longLived: boolean): Promise<ApiResponse> {
    const headers = { accept: "application/json", "user-agent": this.#options.userAgent, ...request.headers };
    return this.#options.transport.request({ ...request, headers, signal, ...(longLived && { longLived }) });
  }

  async #refusal(request: Outgoing, response: ApiResponse): Promise<ApiError> {
    // Without a readable body the error carries the status only.
    const text = await textOfBody(response.body, 2 ** 20).catch(() => "");
    return errorFromResponse(request, response, text, this.#options.clock.now());
  }
}

/** Retries once after a 401: the credential may have rotated, and the transport reloads it. */
const refusedOnce = (error: unknown): error is ApiError => error instanceof ApiError && error.kind === "unauthorized";

function parse(request: Outgoing, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError("garbled", `${describeCall(request)}: the response is not JSON: ${text.slice(0, 80)}`, {
      cause,
    });
  }
}

/** Adds the call's name to errors of the body readers. */
function named(request: Outgoing, error: ApiError): ApiError {
  if (error.status !== undefined) return error;
  return new ApiError(error.kind, `${describeCall(request)}: ${error.message}`, {
    notDone: error.notDone,
    cause: error,
  });
}

async function* endedWith(
  body: AsyncIterable<Uint8Array>,
  end: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* body;
  } finally {
    end();
  }
}
