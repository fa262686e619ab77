import { formatDuration, type Milliseconds } from "../../../core/units/index.ts";
import { type Clock, Deadline } from "../../clock/index.ts";
import { Agent, buildConnector, send } from "../../http/index.ts";
import { FileValue } from "../../kube/index.ts";
import { errorMessage, TelemetryError } from "../errors.ts";
import type { EndpointAccess } from "./endpoint-access.ts";

export interface HttpClientOptions {
  readonly clock: Clock;
  /** From sending to the last byte, where a call does not say. */
  readonly timeout: Milliseconds;
  /** Connections to one host at most. Beyond it calls wait for one another, and their time runs. */
  readonly connections?: number;
  /** Bytes of an answer that are held at most. */
  readonly maxBodyBytes?: number;
  /** Where endpoints come from others than who sets the variables: which may be called, and which get the token. */
  readonly access?: EndpointAccess | undefined;
  /** A file with a bearer token, read again as it is replaced. Without `access` it goes to no endpoint. */
  readonly tokenFile?: string | undefined;
  /** A file with the authorities to trust instead of the system's. */
  readonly caFile?: string | undefined;
}

export interface HttpCall {
  readonly url: URL;
  /** The node that the call is about: `{node}` in allowed endpoints stands for it. */
  readonly node?: string;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeout?: Milliseconds;
  /** Ends the call with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/**
 * Calls to sources of readings: bounded in time, in bytes and in connections. It follows no redirect: the token would go
 * along to wherever an endpoint points. It asks for no compression, so that a few bytes cannot become gigabytes. Its errors
 * hold nothing of an answer but the status: they end up in statuses that more people read than may call the endpoint.
 */
export class HttpClient {
  readonly timeout: Milliseconds;
  readonly #clock: Clock;
  readonly #maxBodyBytes: number;
  readonly #access: EndpointAccess | undefined;
  readonly #token: FileValue | undefined;
  readonly #agent: Agent;

  constructor(options: HttpClientOptions) {
    const { clock, timeout, connections = 8, maxBodyBytes = 2 ** 20, access, tokenFile, caFile } = options;
    this.timeout = timeout;
    this.#clock = clock;
    this.#maxBodyBytes = maxBodyBytes;
    this.#access = access;
    this.#token = tokenFile === undefined ? undefined : credential(tokenFile, clock);
    this.#agent = new Agent({
      connections,
      pipelining: 1,
      allowH2: false,
      // The clock we are given times whole calls.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: connector(timeout, caFile === undefined ? undefined : credential(caFile, clock)),
    });
  }

  /** The answer, whatever its status; a redirect is an error. */
  async send(call: HttpCall): Promise<HttpAnswer> {
    const { signal, timeout = this.timeout } = call;
    signal?.throwIfAborted();
    const { refused, token = false } = this.#access?.of(call.url, call.node ?? "") ?? {};
    if (refused !== undefined) throw new TelemetryError("not_allowed", refused);
    const name = nameOf(call);
    const deadline = new Deadline(this.#clock, timeout, { signal });
    try {
      return await this.#exchange(call, token, deadline.signal);
    } catch (cause) {
      if (signal?.aborted === true) throw signal.reason;
      if (deadline.expired)
        throw new TelemetryError("timeout", `${name}: no answer within ${formatDuration(timeout)}`, { cause });
      if (cause instanceof TelemetryError)
        throw new TelemetryError(cause.kind, `${name}: ${cause.message}`, { cause, ...statusOf(cause) });
      // Without its cause: undici's holds the first bytes of an answer that is no HTTP.
      throw new TelemetryError("network", `${name}: no answer: ${errorMessage(cause)}`);
    } finally {
      deadline.release();
    }
  }

  /** The JSON of a successful answer. */
  async json(call: HttpCall): Promise<unknown> {
    const { status, text } = await this.send(call);
    if (status < 200 || status > 299)
      throw new TelemetryError("status", `${nameOf(call)}: answered ${status}`, { status });
    try {
      return JSON.parse(text);
    } catch {
      // Without the parser's error, which quotes the text.
      throw new TelemetryError("garbled", `${nameOf(call)}: the answer is not JSON`);
    }
  }

  /** Ends everything that is under way. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #exchange(
    { url, method = "GET", headers, body }: HttpCall,
    token: boolean,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    const answer = await send(this.#agent, {
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: { accept: "application/json", "user-agent": "joulie", ...this.#authorization(url, token), ...headers },
      body: body ?? null,
      signal,
    });
    const status = answer.statusCode;
    if (status === 401) this.#token?.forget();
    const text = await boundedText(answer.body, this.#maxBodyBytes);
    if (status >= 300 && status < 400)
      throw new TelemetryError("redirect", `answered ${status}; redirects are not followed`, { status });
    return { status, text };
  }

  #authorization({ username, password }: URL, token: boolean): Readonly<Record<string, string>> {
    if (this.#token !== undefined && token) return { authorization: `Bearer ${this.#token.get()}` };
    if (username === "" && password === "") return {};
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
  }
}

const credential = (file: string, clock: Clock): FileValue =>
  new FileValue(file, clock, (message, cause) => new TelemetryError("credentials", message, { cause }));

/** A call as a person reads it: without credentials and parameters, which may be secret or long. */
const nameOf = ({ method = "GET", url }: HttpCall): string => `${method} ${url.origin}${url.pathname}`;

const statusOf = ({ status }: TelemetryError): { status?: number } => (status === undefined ? {} : { status });

async function boundedText(body: AsyncIterable<Uint8Array>, longest: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > longest) throw new TelemetryError("too_large", `the answer is longer than ${longest} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * Each new connection trusts the authorities of its time. The time limit here is for connections nobody waits for any
 * more: an aborted call leaves its half-open one behind.
 */
function connector(timeout: Milliseconds, authorities: FileValue | undefined): buildConnector.connector {
  let built: { ca: string | undefined; connect: buildConnector.connector } | undefined;
  return (options, callback) => {
    try {
      const ca = authorities?.get();
      if (built === undefined || built.ca !== ca) {
        const trusted = ca === undefined ? {} : { ca };
        built = { ca, connect: buildConnector({ ...trusted, timeout, allowH2: false }) };
      }
      built.connect(options, callback);
    } catch (error) {
      callback(error instanceof Error ? error : new Error(String(error)), null);
    }
  };
}
