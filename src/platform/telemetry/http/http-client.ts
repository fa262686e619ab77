import { formatDuration, type Milliseconds } from "../../../core/units/index.ts";
import { type Clock, Deadline } from "../../clock/index.ts";
import { Agent, boundedText, buildConnector, send } from "../../http/index.ts";
import { FileValue } from "../../kube/index.ts";
import { errorMessage, TelemetryError } from "../errors.ts";
import type { EndpointAccess } from "./endpoint-access.ts";

export interface HttpClientOptions {
  readonly clock: Clock;
  /** The default time limit of a call, from sending to the last byte. */
  readonly timeout: Milliseconds;
  /** The maximum number of connections per host. Further calls wait, and their time limit runs meanwhile. */
  readonly connections?: number;
  /** The maximum size of a response body. */
  readonly maxBodyBytes?: number;
  /** Decides which endpoints may be called and get the token, if users other than the administrator choose endpoints. */
  readonly access?: EndpointAccess;
  /** A file with a bearer token, read again when it is replaced. Without `access` the token is never sent. */
  readonly tokenFile?: string | undefined;
  /** A file with the CA certificates to trust instead of the system's. */
  readonly caFile?: string | undefined;
}

export interface HttpCall {
  readonly url: URL;
  /** The node that the call is about. It replaces `{node}` in allowed endpoints. */
  readonly node?: string;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeout?: Milliseconds;
  readonly signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/**
 * HTTP client for telemetry sources, limited in time, size and connections. It follows no redirects, because the token would be sent
 * along. It requests no compression, so that a small response cannot expand to gigabytes. Its errors contain only the status of a
 * response: they appear in Kubernetes statuses, which more people can read than may call the endpoint.
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
      // The injected clock limits whole calls instead.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: connector(timeout, caFile === undefined ? undefined : credential(caFile, clock)),
    });
  }

  /** Returns the response, whatever its status. A redirect is an error. */
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
        throw new TelemetryError("timeout", `${name}: no response within ${formatDuration(timeout)}`, { cause });
      if (cause instanceof TelemetryError)
        throw new TelemetryError(cause.kind, `${name}: ${cause.message}`, { cause, ...statusOf(cause) });
      // No cause attached: undici's error contains the first bytes of a response that is not HTTP.
      throw new TelemetryError("network", `${name}: no response: ${errorMessage(cause)}`);
    } finally {
      deadline.release();
    }
  }

  /** Returns the parsed JSON of a successful response. */
  async json(call: HttpCall): Promise<unknown> {
    const { status, text } = await this.send(call);
    if (status < 200 || status > 299)
      throw new TelemetryError("status", `${nameOf(call)}: status ${status}`, { status });
    try {
      return JSON.parse(text);
    } catch {
      // No cause attached: the parser's error quotes the text.
      throw new TelemetryError("garbled", `${nameOf(call)}: the response is not JSON`);
    }
  }

  /** Aborts all calls. */
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
    if (text === undefined)
      throw new TelemetryError("too_large", `the response is larger than ${this.#maxBodyBytes} bytes`);
    if (status >= 300 && status < 400)
      throw new TelemetryError("redirect", `status ${status}; redirects are not followed`, { status });
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

/** Names a call for messages, without credentials and parameters, which may be secret or long. */
const nameOf = ({ method = "GET", url }: HttpCall): string => `${method} ${url.origin}${url.pathname}`;

const statusOf = ({ status }: TelemetryError): { status?: number } => (status === undefined ? {} : { status });

/** With the CA file's current content. The time limit closes half-open connections of aborted calls. */
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
