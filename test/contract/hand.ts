import type { ApiRequest, Transport } from "../../src/platform/kube/index.ts";

/** Any API object; the cases check individual fields. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Any = any;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Any;
}

export interface RawWatchEvent {
  readonly type: string;
  readonly object: Any;
}

const patchTypes = {
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

/** Sends plain HTTP requests to an API server, without the product's client. */
export class Hand {
  readonly #transport: Transport;
  #count = 0;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A name that is unique in this run. */
  unique(stem: string): string {
    return `${stem}-${(++this.#count).toString(36)}`;
  }

  async send(
    method: ApiRequest["method"],
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const { signal } = new AbortController();
    const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
    const answer = await this.#transport.request({
      method,
      path,
      headers: { "content-type": "application/json", "user-agent": "contract", ...headers },
      ...(text === undefined ? {} : { body: text }),
      signal,
    });
    const parts: Uint8Array[] = [];
    for await (const part of answer.body) parts.push(part);
    const output = Buffer.concat(parts).toString();
    return {
      status: answer.status,
      headers: answer.headers,
      body: output.startsWith("{") ? JSON.parse(output) : output,
    };
  }

  async get(path: string): Promise<Answer> {
    return this.send("GET", path);
  }

  async create(path: string, object: unknown): Promise<Any> {
    return ok(await this.send("POST", path, object));
  }

  async patch(path: string, patch: unknown, type: keyof typeof patchTypes = "merge"): Promise<Answer> {
    return this.send("PATCH", path, patch, { "content-type": patchTypes[type] });
  }

  async apply(path: string, object: unknown, manager: string, force = false): Promise<Answer> {
    const query = `fieldManager=${encodeURIComponent(manager)}${force ? "&force=true" : ""}`;
    return this.send("PATCH", `${path}?${query}`, object, { "content-type": "application/apply-patch+yaml" });
  }

  /** Opens a watch; the test reads its events one by one. */
  async watch(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Watch> {
    const abort = new AbortController();
    const answer = await this.#transport.request({
      method: "GET",
      path: `${path}${path.includes("?") ? "&" : "?"}watch=1`,
      headers,
      signal: abort.signal,
      longLived: true,
    });
    return new Watch(answer.status, answer.body, abort);
  }
}

export class Watch {
  readonly status: number;
  readonly #abort: AbortController;
  readonly #events: AsyncGenerator<RawWatchEvent, void, undefined>;

  constructor(status: number, body: AsyncIterable<Uint8Array>, abort: AbortController) {
    this.status = status;
    this.#abort = abort;
    this.#events = eventsOf(body);
  }

  /** The next event except bookmarks; undefined at the end. */
  async next(): Promise<RawWatchEvent | undefined> {
    for (;;) {
      const event = await this.any();
      if (event?.type !== "BOOKMARK") return event;
    }
  }

  async any(): Promise<RawWatchEvent | undefined> {
    const { value } = await this.#events.next();
    return value ?? undefined;
  }

  async take(count: number): Promise<RawWatchEvent[]> {
    const taken: RawWatchEvent[] = [];
    while (taken.length < count) {
      const event = await this.next();
      if (event === undefined) break;
      taken.push(event);
    }
    return taken;
  }

  async close(): Promise<void> {
    this.#abort.abort();
    // The pending read fails now, as expected.
    await this.#events.return().catch(() => undefined);
  }
}

async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<RawWatchEvent, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as RawWatchEvent;
  }
}

/** The body of a response that must be successful. */
export function ok(answer: Answer): Any {
  if (answer.status >= 300) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
