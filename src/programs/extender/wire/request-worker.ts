import { Worker } from "node:worker_threads";
import { labels } from "../../../core/api/index.ts";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { firstDifference, type ParsedCandidates, parseCandidates } from "./parse-candidates.ts";
import { type ExtenderRequest, scanRequest } from "./request.ts";
import { RequestError } from "./request-error.ts";
import { type LabelKeys, labelBytes } from "./scan.ts";

/**
 * A document can be written so that JSON.parse needs thirty times its size. A heap limit for the worker does not help: V8 ends the
 * whole process when a thread reaches it inside JSON.parse. So the size is what is limited; kube-scheduler's own requests never
 * come here, and a person's are small.
 */
const MAX_BYTES = 4 * 1024 * 1024;

export interface WorkerLimits {
  readonly timeout?: Milliseconds;
  /** How many requests may wait for the worker, the one it reads included. */
  readonly waiting?: number;
}

export interface WorkerOptions extends WorkerLimits {
  readonly labels?: LabelKeys;
}

type Answer = { readonly parsed: ParsedCandidates } | { readonly fault: string };

/** CommonJS, as a worker made from text is. */
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
 * Reads what surprised the fast reader: a key that comes twice, a key written with escapes. The bytes are walked by JSON.parse's
 * rules, JSON.parse itself reads them in a thread of its own, and only what both say alike is answered.
 */
export class RequestWorker {
  readonly #clock: Clock;
  readonly #labels: LabelKeys;
  readonly #timeout: Milliseconds;
  readonly #places: number;
  #worker: Worker | undefined;
  /** The request that is with the worker. */
  #asked: PromiseWithResolvers<Answer> | undefined;
  #waiting = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** `clock` is real time: it bounds what a thread does. */
  constructor(clock: Clock, { timeout = milliseconds(2000), waiting = 8, labels: keys = labels }: WorkerOptions = {}) {
    this.#clock = clock;
    this.#labels = keys;
    this.#timeout = timeout;
    this.#places = waiting;
  }

  /** Rejects with a RequestError, never with a AmbiguousKeyError. */
  async readRequestInWorker(body: Buffer): Promise<ExtenderRequest> {
    if (body.length > MAX_BYTES) {
      throw new RequestError(
        `a body of ${body.length} bytes has a key twice or with escapes; that is read up to ${MAX_BYTES} bytes`,
        413,
      );
    }
    if (this.#waiting >= this.#places) throw new RequestError("too many unusual requests wait to be read", 503);
    const request = scanRequest(body, "last", { labels: labelBytes(this.#labels) });
    this.#waiting++;
    try {
      const turn = this.#turn.then(async () => this.#ask(body));
      this.#turn = turn.catch(() => {});
      const place = firstDifference(request.candidates, await turn);
      if (place >= 0) {
        throw new RequestError(`candidate ${place} reads in two ways: send each key once, and without escapes`, 500);
      }
      return request;
    } finally {
      this.#waiting--;
    }
  }

  /** What waits is refused. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker?.terminate();
  }

  async #ask(body: Buffer): Promise<ParsedCandidates> {
    if (this.#closed) throw new RequestError("the extender stops", 503);
    this.#worker ??= this.#start();
    const asked = Promise.withResolvers<Answer>();
    this.#asked = asked;
    const timer = this.#clock.after(
      this.#timeout,
      () => this.#giveUp(`JSON.parse took more than ${this.#timeout} ms`),
      { background: true },
    );
    try {
      // A copy goes: the Nodes of the answer are slices of the body, which therefore stays.
      const copy = new Uint8Array(body);
      this.#worker.postMessage(copy, [copy.buffer]);
      const answer = await asked.promise;
      if ("fault" in answer) throw new RequestError(`the body is not JSON: ${answer.fault}`);
      return answer.parsed;
    } finally {
      timer.cancel();
    }
  }

  #start(): Worker {
    const worker = new Worker(sourceFor(this.#labels), { eval: true, name: "joulie-requests" });
    // What a thread says that was given up concerns nobody.
    const whileOurs = (act: () => void) => {
      if (this.#worker === worker) act();
    };
    worker.on("message", (answer: Answer) => whileOurs(() => this.#asked?.resolve(answer)));
    worker.on("error", (error) => whileOurs(() => this.#giveUp(String(error))));
    worker.on("exit", () => whileOurs(() => this.#giveUp("its thread ended")));
    worker.unref();
    return worker;
  }

  /** The request that is being read fails; the next one gets a new thread. */
  #giveUp(why: string): void {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#asked?.reject(new RequestError(`an unusual request could not be read: ${why}`, 503));
    void worker?.terminate();
  }
}
