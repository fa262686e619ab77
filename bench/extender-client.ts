// Calls an extender as kube-scheduler does: one persistent connection, sequential requests, prepared bodies.
import { once } from "node:events";
import { connect, type Socket } from "node:net";

const HEAD_END = "\r\n\r\n";
const READ_AT_ONCE = 1024 * 1024;

export class ExtenderBenchClient {
  readonly #socket: Socket;
  #take: (chunk: Buffer) => void = () => undefined;

  private constructor(port: number) {
    // One reused buffer: garbage collection in this process would count as the extender's time.
    const buffer = Buffer.alloc(READ_AT_ONCE);
    const callback = (length: number): boolean => {
      this.#take(buffer.subarray(0, length));
      return true;
    };
    this.#socket = connect({ host: "127.0.0.1", port, noDelay: true, onread: { buffer, callback } });
  }

  static async open(port: number): Promise<ExtenderBenchClient> {
    const client = new ExtenderBenchClient(port);
    await once(client.#socket, "connect");
    return client;
  }

  /** Milliseconds from the first byte sent to the last byte received, and the number of bytes. */
  async ask(
    path: string,
    body: Buffer,
  ): Promise<{ readonly ms: number; readonly bytes: number; readonly status: number }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ ms: number; bytes: number; status: number }>();
    let head = Buffer.alloc(0);
    let expected = -1;
    let bytes = 0;
    let status = 0;
    this.#take = (chunk) => {
      let rest = chunk.length;
      if (expected < 0) {
        // Only the header is decoded: the body is long.
        const end = chunk.indexOf(HEAD_END);
        head = Buffer.concat([head, end < 0 ? chunk : chunk.subarray(0, end)]);
        if (end < 0) return;
        const text = head.toString("latin1");
        status = Number(text.slice(9, 12));
        expected = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? Number.NaN);
        if (Number.isNaN(expected)) reject(new Error(`an answer without a length: ${text}`));
        rest = chunk.length - end - HEAD_END.length;
      }
      bytes += rest;
      if (bytes >= expected) resolve({ ms: performance.now() - begun, bytes, status });
    };
    this.#socket.once("error", reject).once("close", () => reject(new Error("the extender closed the connection")));
    const begun = performance.now();
    this.#socket.write(
      `POST ${path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
    );
    this.#socket.write(body);
    const answer = await promise;
    this.#socket.removeAllListeners("error").removeAllListeners("close");
    return answer;
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** The value below which that share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

const MAX_DURATION_MS = 15_000;

/** The times of requests one after the other: at most `count`, bounded in time. */
export async function ask(
  client: ExtenderBenchClient,
  verb: string,
  body: Buffer,
  count: number,
  before: () => void = () => undefined,
): Promise<number[]> {
  const times: number[] = [];
  const deadline = performance.now() + MAX_DURATION_MS;
  while (times.length < count && performance.now() < deadline) {
    before();
    const { ms, status } = await client.ask(`/${verb}`, body);
    if (status !== 200) throw new Error(`/${verb} answered ${status}`);
    times.push(ms);
  }
  return times;
}
