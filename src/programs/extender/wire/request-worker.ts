import { Worker } from "node:worker_threads";
import { labels } from "../../../core/api/index.ts";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { firstDifference, type ParsedCandidates, parseCandidates } from "./parse-candidates.ts";
import { type ExtenderRequest, scanRequest } from "./request.ts";
import { RequestError } from "./request-error.ts";
import { type LabelKeys, labelBytes } from "./scan.ts";

/**
 * A document can make JSON.parse use thirty times its size. A heap limit for the worker does not help: V8 ends the whole process
 * when a thread reaches the limit inside JSON.parse. So the size of the body is limited. kube-scheduler's own requests never need
 * the worker, and requests written by hand are small.
 */
const MAX_BYTES = 4 * 1024 * 1024;

export interface WorkerLimits {
  readonly timeout?: Milliseconds;
  /** How many requests may wait for the worker, including the one it reads. */
  readonly waiting?: number;
}

export interface WorkerOptions extends WorkerLimits {
  readonly labels?: LabelKeys;
}

type Answer = { readonly parsed: ParsedCandidates } | { readonly fault: string };

/** A worker started from source text is CommonJS. */
const sourceFor = ({ powerProfile, draining }: LabelKeys) => `
const { parentPort } = require("node:worker_threads");
const readParsed = ${parseCandidates.toString()};
parentPort.on("message", (bytes) => {
  let answer;
  try {
    const text = Buffer.from(bytes).toString("utf8");
    answer = { parsed: readParsed(text, ${JSON.stringify(powerProfile)}, ${JSON.stringify(draining)}) };
  } catch (error) {
    answer = { fault: String(error) };
  }
  parentPort.postMessage(answer);
});`;

/**
 * Reads requests with a repeated key or a key with escapes. The byte scan reads the body by JSON.parse's rules, JSON.parse reads
 * it in a worker thread, and the request is accepted only if both agree.
 */
export class RequestWorker {
  readonly #clock: Clock;
  readonly #labels: LabelKeys;
  readonly #timeout: Milliseconds;
  readonly #maxWaiting: number;
  #worker: Worker | undefined;
  /** The request that the worker reads now. */
  #current: PromiseWithResolvers<Answer> | undefined;
  #waiting = 0;
  #lastInQueue: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** `clock` is real time: it limits how long the thread works. */
  constructor(clock: Clock, { timeout = milliseconds(2000), waiting = 8, labels: keys = labels }: WorkerOptions = {}) {
    this.#clock = clock;
    this.#labels = keys;
    this.#timeout = timeout;
    this.#maxWaiting = waiting;
  }

  /** Rejects with a RequestError, never with an AmbiguousKeyError. */
  async readRequestInWorker(body: Buffer): Promise<ExtenderRequest> {
    if (body.length > MAX_BYTES) {
      throw new RequestError(
        `the body of ${body.length} bytes has a repeated or escaped key; the limit for such bodies is ${MAX_BYTES} bytes`,
        413,
      );
    }
    if (this.#waiting >= this.#maxWaiting)
      throw new RequestError("too many requests with repeated or escaped keys are waiting", 503);
    const request = scanRequest(body, "last", { labels: labelBytes(this.#labels) });
    this.#waiting++;
    try {
      const turn = this.#lastInQueue.then(async () => this.#ask(body));
      this.#lastInQueue = turn.catch(() => {});
      const place = firstDifference(request.candidates, await turn);
      if (place >= 0) {
        throw new RequestError(`candidate ${place} is ambiguous: send each key once and without escapes`, 500);
      }
      return request;
    } finally {
      this.#waiting--;
    }
  }

  /** Rejects waiting requests. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker?.terminate();
  }

  async #ask(body: Buffer): Promise<ParsedCandidates> {
    if (this.#closed) throw new RequestError("the extender is shutting down", 503);
    this.#worker ??= this.#start();
    const current = Promise.withResolvers<Answer>();
    this.#current = current;
    const timer = this.#clock.after(
      this.#timeout,
      () => this.#abandon(`JSON.parse took more than ${this.#timeout} ms`),
      { background: true },
    );
    try {
      // Transfer a copy: the reply contains slices of the body.
      const copy = new Uint8Array(body);
      this.#worker.postMessage(copy, [copy.buffer]);
      const answer = await current.promise;
      if ("fault" in answer) throw new RequestError(`the body is not JSON: ${answer.fault}`);
      return answer.parsed;
    } finally {
      timer.cancel();
    }
  }

  #start(): Worker {
    const worker = new Worker(sourceFor(this.#labels), { eval: true, name: "joulie-requests" });
    // Ignore events of a worker that was replaced.
    const whileCurrent = (act: () => void) => {
      if (this.#worker === worker) act();
    };
    worker.on("message", (answer: Answer) => whileCurrent(() => this.#current?.resolve(answer)));
    worker.on("error", (error) => whileCurrent(() => this.#abandon(String(error))));
    worker.on("exit", () => whileCurrent(() => this.#abandon("the thread exited")));
    worker.unref();
    return worker;
  }

  /** Fails the current request; the next one starts a new thread. */
  #abandon(reason: string): void {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#current?.reject(new RequestError(`the worker could not read the request: ${reason}`, 503));
    void worker?.terminate();
  }
}
