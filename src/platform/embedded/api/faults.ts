import type { Milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { ApiRequest, ApiResponse } from "../../kube/index.ts";
import { errorReply } from "./reply.ts";
import { StatusError } from "./status.ts";

/** What goes wrong with a request. */
export type InjectedFault =
  /** Answers with this status instead; 429 and 503 may name a time to wait. */
  | { readonly kind: "status"; readonly code: number; readonly retryAfterSeconds?: number }
  /** Waits on the clock before the request is handled. */
  | { readonly kind: "latency"; readonly length: Milliseconds }
  /** The request is carried out, and the connection breaks after so many bytes of the answer. */
  | { readonly kind: "torn"; readonly afterBytes: number }
  /** No answer at all: the connection breaks at once. */
  | { readonly kind: "refused" };

export interface FaultRule {
  readonly fault: InjectedFault;
  /** Which requests it meets; all of them where left out. */
  readonly when?: (request: ApiRequest) => boolean;
  /** How many requests it meets before it is over; without end where left out. */
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

/** The ways the API can be made to misbehave, for tests: the same over memory and over HTTP. */
export class FaultInjector {
  readonly #clock: Clock;
  readonly #hooks: { dropWatches(): void; expire(): void };
  #rules: { readonly rule: FaultRule; left: number }[] = [];
  #gate: { readonly opened: Promise<void>; readonly open: () => void } | undefined;

  constructor(clock: Clock, hooks: { dropWatches(): void; expire(): void }) {
    this.#clock = clock;
    this.#hooks = hooks;
  }

  /** From now on; the function returned takes it back. Of several rules that fit a request, all that only delay and the first other count. */
  add(rule: FaultRule): () => void {
    const entry = { rule, left: rule.times ?? Number.POSITIVE_INFINITY };
    this.#rules.push(entry);
    return () => {
      this.#rules = this.#rules.filter((one) => one !== entry);
    };
  }

  /** No more rules, and nothing frozen. */
  clear(): void {
    this.#rules = [];
    this.thaw();
  }

  /** Every open watch breaks off as a lost connection does. */
  dropWatches(): void {
    this.#hooks.dropWatches();
  }

  /** Everything older is compacted: open watches end with 410, and old resourceVersions and pages are refused. */
  expire(): void {
    this.#hooks.expire();
  }

  /** Connections stay open and nothing moves on them, as with a stopped process. */
  freeze(): void {
    if (this.#gate !== undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = { opened: promise, open: resolve };
  }

  thaw(): void {
    this.#gate?.open();
    this.#gate = undefined;
  }

  /** The handler with every fault in its way. */
  async answer(request: ApiRequest, handle: (request: ApiRequest) => ApiResponse): Promise<ApiResponse> {
    request.signal.throwIfAborted();
    await this.#pass(request.signal);
    let torn: number | undefined;
    for (const fault of this.#meet(request)) {
      if (fault.kind === "latency") await this.#clock.sleep(fault.length, request.signal);
      if (fault.kind === "refused") throw new Error("injected fault: the connection was refused");
      if (fault.kind === "status") return statusFault(fault);
      if (fault.kind === "torn") torn = fault.afterBytes;
    }
    const response = handle(request);
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
      try {
        await Promise.race([this.#gate.opened, promise]);
      } finally {
        signal.removeEventListener("abort", stop);
      }
    }
  }

  async *#body(
    body: AsyncIterable<Uint8Array>,
    torn: number | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    let left = torn ?? Number.POSITIVE_INFINITY;
    for await (const chunk of body) {
      await this.#pass(signal);
      signal.throwIfAborted();
      if (chunk.length >= left) {
        yield chunk.subarray(0, left);
        throw new Error("injected fault: the connection broke");
      }
      left -= chunk.length;
      yield chunk;
    }
    if (torn !== undefined) throw new Error("injected fault: the connection broke");
  }
}
