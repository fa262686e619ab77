// A network that swallows what concerns all pods, and lets everything else through.
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiRequest, ApiResponse, Transport } from "../../src/platform/kube/index.ts";

const AGAIN_AFTER_MS = 50;
/** Every pod there is; questions about the pods of one node are another matter. */
const allPods = /^\/api\/v1\/pods\?(?!.*fieldSelector)/;

export class CutTransport implements Transport {
  /** While it is cut, watches that are open bring nothing, and no question is answered. Nothing is refused either. */
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
    while (this.isCut) await sleep(AGAIN_AFTER_MS, undefined, signal && { signal });
  }
}
