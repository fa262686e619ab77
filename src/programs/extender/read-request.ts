import type { Clock } from "../../platform/clock/index.ts";
import { type ExtenderRequest, KnownNodes, RequestWorker, readRequest, Surprise } from "./wire/index.ts";

/** Reads requests: what the scan over their bytes does not judge goes to a worker, which most programs never need. */
export class RequestReader {
  readonly #clock: Clock;
  /** Whole Nodes come again and again. */
  readonly #known = new KnownNodes();
  #worker: RequestWorker | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async read(body: Buffer): Promise<ExtenderRequest> {
    try {
      return readRequest(body, this.#known);
    } catch (error) {
      if (!(error instanceof Surprise)) throw error;
    }
    this.#worker ??= new RequestWorker(this.#clock);
    return this.#worker.readRequestInWorker(body);
  }

  async close(): Promise<void> {
    await this.#worker?.close();
  }
}
