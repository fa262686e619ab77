// A transport that drops lists and watches of all pods, and forwards all other requests.

import { simulatedDelay } from "../../src/platform/clock/testing/index.ts";
import type { ApiRequest, ApiResponse, Transport } from "../../src/platform/kube/index.ts";

const AGAIN_AFTER_MS = 50;
/** Matches requests for all pods, but not for the pods of one node. */
const allPods = /^\/api\/v1\/pods\?(?!.*fieldSelector)/;

export class CutTransport implements Transport {
  /** While cut, open watches deliver no events, and requests neither complete nor fail. */
  isCut = false;
  readonly #inner: Transport;

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    if (!allPods.test(request.path)) return this.#inner.request(request);
    await this.#mended(request.signal);
    const response = await this.#inner.request(request);
    return { ...response, body: this.#body(response.body, request.signal) };
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  async *#body(body: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      await this.#mended(signal);
      yield chunk;
    }
  }

  async #mended(signal: AbortSignal | undefined): Promise<void> {
    while (this.isCut) await simulatedDelay(AGAIN_AFTER_MS, signal);
  }
}
