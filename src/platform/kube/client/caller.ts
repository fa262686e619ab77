import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { RandomSource } from "../../random/index.ts";
import { textOfBody } from "../watch/watch-lines.ts";
import type { CallLimit } from "./call-limit.ts";
import { ApiError, describeCall, errorFromNetwork, errorFromResponse } from "./errors.ts";
import { type Backoff, mayRepeat, waitAfterError } from "./retry.ts";
import type { ApiRequest, ApiResponse, Transport } from "./transport.ts";

/** What any call may be told. */
export interface CallOptions {
  /** Ends the call with the signal's own reason. */
  readonly signal?: AbortSignal;
  /** The longest one attempt may wait for its turn, and the longest it may then take to the last byte. */
  readonly timeout?: Milliseconds;
  /** How often a failed call is repeated where that is safe. */
  readonly retries?: number;
  /** Goes past the client's own limit: for a lease, whose renewal must not stand in a queue. */
  readonly urgent?: boolean;
  /** Called right before each attempt is sent, after any wait: what it throws ends the call with nothing sent. */
  readonly beforeSending?: () => void;
  /** Leaves `metadata.managedFields` empty in what comes back, which is cheaper by what they are of it: often half. */
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
  readonly longestBody: number;
}

type Outgoing = Omit<ApiRequest, "signal" | "longLived">;

const BACKOFF: Backoff = { first: milliseconds(200), longest: milliseconds(10_000) };
/** Sent away for longer than this, a call fails: its caller knows better what to do with the time. */
const LONGEST_RETRY_AFTER = milliseconds(30_000);

/** Carries calls over: limits them, times them, repeats them where that is safe, and turns failures into `ApiError`. */
export class Caller {
  readonly #options: CallerOptions;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /** The body of a successful answer as JSON. `idempotent`: doing it twice is the same as doing it once. */
  async call(request: Outgoing, idempotent: boolean, options: CallOptions = {}): Promise<unknown> {
    const { clock, random } = this.#options;
    const retries = options.retries ?? this.#options.retries;
    for (let failures = 0; ; ) {
      try {
        return parse(request, await this.#attempt(request, options));
      } catch (error) {
        failures++;
        const again = mayRepeat(error, idempotent) || (failures === 1 && refusedOnce(error));
        if (!again || failures > retries || (error.retryAfter ?? 0) > LONGEST_RETRY_AFTER) throw error;
        await clock.sleep(waitAfterError(error, failures, BACKOFF, LONGEST_RETRY_AFTER, random), options.signal);
      }
    }
  }

  /** Opens an answer without end: the time limit covers only its beginning; after that `signal` ends it. */
  async open(request: Outgoing, signal: AbortSignal, options: Omit<CallOptions, "signal"> = {}): Promise<ApiResponse> {
    await this.#turn(options, signal);
    signal.throwIfAborted();
    const abort = new AbortController();
    const stop = () => abort.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      const response = await this.#timed(request, { ...options, signal }, abort, async () => {
        const opened = await this.#send(request, abort.signal, true);
        if (opened.status < 300) return opened;
        throw await this.#refusal(request, opened);
      });
      return { ...response, body: endedWith(response.body, () => signal.removeEventListener("abort", stop)) };
    } catch (error) {
      signal.removeEventListener("abort", stop);
      throw error;
    }
  }

  async #attempt(request: Outgoing, options: CallOptions): Promise<string> {
    const { signal } = options;
    await this.#turn(options, signal);
    signal?.throwIfAborted();
    options.beforeSending?.();
    const abort = new AbortController();
    const stop = () => abort.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await this.#timed(request, options, abort, async () => {
        const response = await this.#send(request, abort.signal, false);
        if (response.status >= 300) throw await this.#refusal(request, response);
        return textOfBody(response.body, this.#options.longestBody, options.lean);
      });
    } finally {
      signal?.removeEventListener("abort", stop);
    }
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
    abort: AbortController,
    work: () => Promise<Result>,
  ): Promise<Result> {
    let late = false;
    const timer = this.#options.clock.after(timeout, () => {
      late = true;
      abort.abort(new Error(`no answer within ${timeout} ms`));
    });
    // Nor may anything below that does not look at the signal, such as a credential plugin, outlast it.
    const ended = Promise.withResolvers<never>();
    const end = () => ended.reject(abort.signal.reason);
    abort.signal.addEventListener("abort", end, { once: true });
    try {
      return await Promise.race([work(), ended.promise]);
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      if (late)
        throw new ApiError("timeout", `${describeCall(request)}: no answer within ${timeout} ms`, { cause: error });
      if (error instanceof ApiError) throw named(request, error);
      throw errorFromNetwork(request, error);
    } finally {
      timer.cancel();
      abort.signal.removeEventListener("abort", end);
    }
  }

  async #send(request: Outgoing, signal: AbortSignal, longLived: boolean): Promise<ApiResponse> {
    const headers = { accept: "application/json", "user-agent": this.#options.userAgent, ...request.headers };
    return this.#options.transport.request({ ...request, headers, signal, ...(longLived && { longLived }) });
  }

  async #refusal(request: Outgoing, response: ApiResponse): Promise<ApiError> {
    // What cannot be read is explained no further: the status alone already says what to do.
    const text = await textOfBody(response.body, 2 ** 20).catch(() => "");
    return errorFromResponse(request, response, text, this.#options.clock.now());
  }
}

/** A credential may have been replaced just now; the transport asks for a fresh one after a 401. */
const refusedOnce = (error: unknown): error is ApiError => error instanceof ApiError && error.kind === "unauthorized";

function parse(request: Outgoing, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError("garbled", `${describeCall(request)}: the answer is not JSON: ${text.slice(0, 80)}`, { cause });
  }
}

/** Readers of bodies do not know whose body it is. */
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
