import type { Clock } from "../../../platform/clock/index.ts";
import {
  AmbiguousKeyError,
  createCandidateTables,
  type ExtenderRequest,
  KnownNodes,
  type LabelKeys,
  labelBytes,
  RequestWorker,
  readRequest,
} from "./index.ts";

/** Reads requests: what the scan over their bytes does not judge goes to a worker, which most programs never need. */
export class RequestReader {
  readonly #clock: Clock;
  readonly #labels: LabelKeys;
  /** Whole Nodes come again and again, and so do names. */
  readonly #aids;
  #worker: RequestWorker | undefined;

  /** `labels` are those of whole Nodes that are read. */
  constructor(clock: Clock, labels: LabelKeys) {
    this.#clock = clock;
    this.#labels = labels;
    this.#aids = { known: new KnownNodes(), room: createCandidateTables(), labels: labelBytes(labels) };
  }

  /** Most are read at once, and must be decided at once: the next one is read into the same memory. */
  read(body: Buffer): ExtenderRequest | Promise<ExtenderRequest> {
    try {
      return readRequest(body, this.#aids);
    } catch (error) {
      if (!(error instanceof AmbiguousKeyError)) throw error;
    }
    this.#worker ??= new RequestWorker(this.#clock, { labels: this.#labels });
    return this.#worker.readRequestInWorker(body);
  }

  async close(): Promise<void> {
    await this.#worker?.close();
  }
}
