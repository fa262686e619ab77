import * as z from "zod";
import { abridged, type Instant, inSeconds, instant, parseNumber } from "../../../core/units/index.ts";
import { TelemetryError } from "../errors.ts";
import { type HttpAnswer, HttpClient, type HttpClientOptions } from "../http/http-client.ts";

/** One sample of an instant vector. */
export interface PrometheusSample {
  readonly labels: Readonly<Record<string, string>>;
  /** May be NaN or ±Infinity. NaN also stands for a histogram, which has no single value. */
  readonly value: number;
  /**
   * The server's timestamp: for an instant query the time of evaluation. The query decides how old the underlying scrape may be: the
   * window of a rate, else the server's look-back of five minutes.
   */
  readonly at: Instant;
}

const point = z.tuple([z.number(), z.string()]);
const element = z.object({
  metric: z.record(z.string(), z.string()).catch({}),
  value: point.optional().catch(undefined),
});
/** Prometheus's error types. The `error` text next to them is part of the response and is not passed on. */
const errorTypes = [
  "bad_data",
  "canceled",
  "execution",
  "internal",
  "not_acceptable",
  "not_found",
  "timeout",
  "unavailable",
] as const;
const queryResponse = z.discriminatedUnion("status", [
  z.object({
    status: z.literal("success"),
    data: z.discriminatedUnion("resultType", [
      z.object({ resultType: z.literal("vector"), result: z.array(element) }),
      z.object({ resultType: z.literal("scalar"), result: point }),
    ]),
  }),
  z.object({ status: z.literal("error"), errorType: z.enum(errorTypes).optional().catch(undefined) }),
]);
type QueryResponse = z.output<typeof queryResponse>;

export interface PrometheusClientOptions extends HttpClientOptions {
  /** The base URL. It may contain a path, for servers behind a proxy. */
  readonly address: string;
}

/** Ten thousand nodes with eight GPUs each take about 25 MB. */
const MAX_RESPONSE_BYTES = 64 * 2 ** 20;
const CONNECTIONS = 4;

/** Runs instant queries. */
export class PrometheusClient {
  readonly #http: HttpClient;
  readonly #url: URL;

  constructor({ address, ...options }: PrometheusClientOptions) {
    this.#http = new HttpClient({ maxBodyBytes: MAX_RESPONSE_BYTES, connections: CONNECTIONS, ...options });
    this.#url = new URL("api/v1/query", address.replace(/[?#].*$/s, "").replace(/\/*$/, "/"));
  }

  /** Sends the query as a form: a query for hundreds of racks is too long for a URL. */
  async query(expression: string, signal?: AbortSignal, node = ""): Promise<readonly PrometheusSample[]> {
    // The server gets the timeout, too, so that it does not continue after the client gave up.
    const timeout = String(inSeconds(this.#http.timeout));
    const reply = await this.#http.send({
      method: "POST",
      url: this.#url,
      node,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ query: expression, timeout }).toString(),
      signal,
    });
    const read = readAnswer(reply);
    // A proxy may return 502 with an HTML page; Prometheus returns 422 with the error type in JSON.
    if (reply.status < 200 || reply.status > 299 || read?.status === "error")
      throw this.#refusal(expression, reply, read);
    if (read === undefined) throw this.#error("garbled", "the response is not an instant vector", expression, reply);
    return samplesOf(read);
  }

  #refusal(expression: string, reply: HttpAnswer, read: QueryResponse | undefined): TelemetryError {
    const type = read?.status === "error" ? read.errorType : undefined;
    return this.#error("status", `status ${reply.status}${type === undefined ? "" : ` ${type}`}`, expression, reply);
  }

  #error(kind: "status" | "garbled", what: string, expression: string, { status }: HttpAnswer): TelemetryError {
    const where = `${this.#url.origin}${this.#url.pathname}`;
    return new TelemetryError(kind, `query ${abridged(expression)} to ${where}: ${what}`, { status });
  }

  async close(): Promise<void> {
    await this.#http.close();
  }
}

function readAnswer({ text }: HttpAnswer): QueryResponse | undefined {
  try {
    return queryResponse.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function samplesOf(read: QueryResponse): PrometheusSample[] {
  if (read.status === "error") return [];
  const { data } = read;
  if (data.resultType === "scalar") return [sampleOf({}, data.result)];
  return data.result.map(({ metric, value }) => sampleOf(metric, value));
}

const sampleOf = (
  labels: PrometheusSample["labels"],
  [at, text]: readonly [number, string] = [Number.NaN, ""],
): PrometheusSample => ({
  labels,
  value: valueOf(text),
  at: instant(at * 1000),
});

const INFINITIES: Readonly<Record<string, number>> = {
  "+Inf": Number.POSITIVE_INFINITY,
  Inf: Number.POSITIVE_INFINITY,
  "-Inf": Number.NEGATIVE_INFINITY,
};

function valueOf(text: string): number {
  const number = parseNumber(text);
  return number.ok ? number.value : (INFINITIES[text] ?? Number.NaN);
}
