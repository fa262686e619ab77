// Records the requests and responses of an operator in order: which state it had received when it wrote.
import type { ApiRequest, ApiResponse, Transport } from "../../src/platform/kube/index.ts";

/** A write of a NodeTwin's spec. */
export interface SpecWrite {
  readonly node: string;
  readonly cap: number | undefined;
  /** The newest resourceVersion of this node's pods that the writer had processed when it sent this. */
  readonly podsSeen: number;
  /** The resulting resourceVersion; undefined until the response arrives. */
  version?: number;
}

const twinPath = /^\/apis\/[^/]+\/[^/]+\/nodetwins\/([^/?]+)\?/;
const nodeSelector = /[?&]fieldSelector=(?:[^&]*,)?spec\.nodeName=([^&,]+)/;
/** Excludes lists with limit=1: the operator reads only their resourceVersion, not their pods. */
const podPath = /^\/api\/v1\/pods\?(?!(.*&)?limit=1(&|$))/;

export class TappedTransport implements Transport {
  readonly writes: SpecWrite[] = [];
  readonly #inner: Transport;
  #podsSeen = 0;
  /** By node: a list of one node's pods does not cover other nodes. */
  readonly #podsSeenOn = new Map<string, number>();

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const { method, path, body = "" } = request;
    if (method === "GET" && podPath.test(path)) {
      const response = await this.#inner.request(request);
      if (response.status !== 200) return response;
      const one = nodeSelector.exec(decodeURIComponent(path))?.[1];
      return {
        ...response,
        body: request.longLived === true ? this.#watch(response.body) : this.#list(response.body, one),
      };
    }
    const node = method === "PATCH" ? twinPath.exec(path)?.[1] : undefined;
    if (node === undefined) return this.#inner.request(request);
    const { spec } = JSON.parse(body) as { spec: { cpu?: { packagePowerCapPctOfMax?: number } } };
    const write: SpecWrite = { node, cap: spec.cpu?.packagePowerCapPctOfMax, podsSeen: this.#seenOf(node) };
    this.writes.push(write);
    const response = await this.#inner.request(request);
    return { ...response, body: this.#answer(response, write) };
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  /** A reader that requests the next chunk has processed the previous one. */
  async *#watch(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of body) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield chunk;
      for (const line of lines) this.#saw((JSON.parse(line) as { object: Versioned }).object);
    }
  }

  #seenOf(node: string): number {
    return Math.max(this.#podsSeen, this.#podsSeenOn.get(node) ?? 0);
  }

  async *#list(body: AsyncIterable<Uint8Array>, node: string | undefined): AsyncGenerator<Uint8Array> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) {
      chunks.push(chunk);
      yield chunk;
    }
    const list = JSON.parse(Buffer.concat(chunks).toString()) as Versioned;
    // A test has few pods, so the list has one page.
    if (node === undefined) this.#saw(list);
    else this.#podsSeenOn.set(node, Number(list.metadata?.resourceVersion ?? 0));
  }

  #saw({ metadata }: Versioned): void {
    this.#podsSeen = Math.max(this.#podsSeen, Number(metadata?.resourceVersion ?? 0));
  }

  async *#answer({ status, body }: ApiResponse, write: SpecWrite): AsyncGenerator<Uint8Array> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) {
      chunks.push(chunk);
      yield chunk;
    }
    if (status < 300)
      write.version = Number((JSON.parse(Buffer.concat(chunks).toString()) as Versioned).metadata?.resourceVersion);
    else this.writes.splice(this.writes.indexOf(write), 1);
  }
}

interface Versioned {
  readonly metadata?: { readonly resourceVersion?: string };
}
