// An embedded API whose requests and watches can fail, for tests.
import type { Milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { ApiRequest, ApiResponse } from "../../kube/index.ts";
import { errorReply } from "../api/reply.ts";
import { expired, StatusError } from "../api/status.ts";
import { EmbeddedApi } from "../embedded-api.ts";

/** A fault that a test injects into a request. */
export type InjectedFault =
  /** Responds with this status; 429 and 503 may carry Retry-After. */
  | { readonly kind: "status"; readonly code: number; readonly retryAfterSeconds?: number }
  /** Delays the request on the clock before handling it. */
  | { readonly kind: "latency"; readonly length: Milliseconds }
  /** Handles the request, then breaks the connection after this many bytes of the response. */
  | { readonly kind: "torn"; readonly afterBytes: number }
  /** Breaks the connection without a response. */
  | { readonly kind: "refused" };

interface FaultRule {
  readonly fault: InjectedFault;
  /** Selects the affected requests; default: all. */
  readonly when?: (request: ApiRequest) => boolean;
  /** How many requests the fault affects; default: unlimited. */
  readonly times?: number;
}

const reasons: Readonly<Record<number, string>> = {
  401: "Unauthorized",
  403: "Forbidden",
  409: "Conflict",
  410: "Expired",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

function statusFault({ code, retryAfterSeconds }: Extract<InjectedFault, { kind: "status" }>): ApiResponse {
  const details = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  return errorReply(new StatusError(code, reasons[code] ?? "Unknown", `injected fault: ${code}`, details));
}

/** An embedded API that fails on request, both in memory and over HTTP. */
export class FaultyApi extends EmbeddedApi {
  readonly faults: FaultInjector;

  constructor(options: ConstructorParameters<typeof EmbeddedApi>[0]) {
    super(options);
    const { store } = this;
    this.faults = new FaultInjector(options.clock, {
      dropWatches: () => this.endWatches((watch) => watch.end(new Error("injected fault: watch aborted"))),
      expire: () => {
        store.compact();
        const { status } = expired(`too old resource version: everything up to ${store.version} is compacted`);
        this.endWatches((watch) => watch.fail(status));
      },
    });
  }

  override async close(): Promise<void> {
    this.faults.clear();
    await super.close();
  }

  protected override async answer(request: ApiRequest): Promise<ApiResponse> {
    return this.faults.answer(request, async (one) => super.answer(one));
  }
}

class FaultInjector {
  readonly #clock: Clock;
  readonly #hooks: { dropWatches(): void; expire(): void };
  #rules: { readonly rule: FaultRule; left: number }[] = [];
  #gate: { readonly opened: Promise<void>; readonly open: () => void } | undefined;
  /** Number of requests and watches that wait until the API is thawed. */
  frozen = 0;

  constructor(clock: Clock, hooks: { dropWatches(): void; expire(): void }) {
    this.#clock = clock;
    this.#hooks = hooks;
  }

  /** Adds a rule and returns a function that removes it. When several rules match, all latency rules and the first other rule apply. */
  add(rule: FaultRule): () => void {
    const entry = { rule, left: rule.times ?? Infinity };
    this.#rules.push(entry);
    return () => {
      this.#rules = this.#rules.filter((one) => one !== entry);
    };
  }

  /** Removes all rules and unfreezes all connections. */
  clear(): void {
    this.#rules = [];
    this.thaw();
  }

  /** Breaks every open watch, as a lost connection does. */
  dropWatches(): void {
    this.#hooks.dropWatches();
  }

  /** Compacts the history: open watches end with 410, and the server rejects older resourceVersions. */
  expire(): void {
    this.#hooks.expire();
  }

  /** Keeps connections open but sends nothing, like a stopped process. */
  freeze(): void {
    if (this.#gate !== undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = { opened: promise, open: resolve };
  }

  thaw(): void {
    this.#gate?.open();
    this.#gate = undefined;
  }

  /** Applies the matching faults, then calls the handler. */
  async answer(request: ApiRequest, handle: (request: ApiRequest) => Promise<ApiResponse>): Promise<ApiResponse> {
    request.signal.throwIfAborted();
    await this.#pass(request.signal);
    let torn: number | undefined;
    for (const fault of this.#meet(request)) {
      if (fault.kind === "latency") await this.#clock.sleep(fault.length, request.signal);
      if (fault.kind === "refused") throw new Error("injected fault: connection refused");
      if (fault.kind === "status") return statusFault(fault);
      if (fault.kind === "torn") torn = fault.afterBytes;
    }
    const response = await handle(request);
    return { ...response, body: this.#body(response.body, torn, request.signal) };
  }

  #meet(request: ApiRequest): InjectedFault[] {
    const met = this.#rules.filter(({ rule, left }) => left > 0 && (rule.when?.(request) ?? true));
    const harsh = met.find(({ rule }) => rule.fault.kind !== "latency");
    const used = met.filter((entry) => entry === harsh || entry.rule.fault.kind === "latency");
    for (const entry of used) entry.left--;
    this.#rules = this.#rules.filter(({ left }) => left > 0);
    return used
      .map(({ rule }) => rule.fault)
      .toSorted((a, b) => Number(b.kind === "latency") - Number(a.kind === "latency"));
  }

  async #pass(signal: AbortSignal): Promise<void> {
    while (this.#gate !== undefined) {
      const { promise, reject } = Promise.withResolvers<never>();
      const stop = () => reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      this.frozen += 1;
      try {
        await Promise.race([this.#gate.opened, promise]);
      } finally {
        this.frozen -= 1;
        signal.removeEventListener("abort", stop);
      }
    }
  }

  async *#body(
    body: AsyncIterable<Uint8Array>,
    torn: number | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    let left = torn ?? Infinity;
    for await (const chunk of body) {
      await this.#pass(signal);
      signal.throwIfAborted();
      if (chunk.length >= left) {
        yield chunk.subarray(0, left);
        throw new Error("injected fault: connection aborted");
      }
      left -= chunk.length;
      yield chunk;
    }
    if (torn !== undefined) throw new Error("injected fault: connection aborted");
  }
}
