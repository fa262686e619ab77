import * as z from "zod";
import {
  abridged,
  type Instant,
  inSeconds,
  instant,
  type Milliseconds,
  parseNumber,
} from "../../../core/units/index.ts";
import { parsedJson } from "../../http/index.ts";
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
const rangeResponse = z.object({
  data: z.object({ resultType: z.literal("matrix"), result: z.array(z.object({ values: z.array(point) })) }),
});

/** The times of a range query, in the server's time. */
export interface QueryRange {
  readonly from: Instant;
  readonly to: Instant;
  readonly step: Milliseconds;
}

/** One value of a series over time. */
export interface PrometheusPoint {
  readonly at: Instant;
  /** May be NaN or ±Infinity. */
  readonly value: number;
}

export interface PrometheusClientOptions extends HttpClientOptions {
  /** The base URL. It may contain a path, for servers behind a proxy. */
  readonly address: string;
}

/** Ten thousand nodes with eight GPUs each take about 25 MB. */
const MAX_RESPONSE_BYTES = 64 * 2 ** 20;
const CONNECTIONS = 4;

/** Runs instant queries and range queries. */
export class PrometheusClient {
  readonly #http: HttpClient;
  readonly #url: URL;
  readonly #rangeUrl: URL;

  constructor({ address, ...options }: PrometheusClientOptions) {
    this.#http = new HttpClient({ maxBodyBytes: MAX_RESPONSE_BYTES, connections: CONNECTIONS, ...options });
    const base = address.replace(/[?#].*$/s, "").replace(/\/*$/, "/");
    this.#url = new URL("api/v1/query", base);
    this.#rangeUrl = new URL("api/v1/query_range", base);
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

  /** The first series of the result; empty if there is none. For expressions that return one series, such as a sum. */
  async queryRange(expression: string, { from, to, step }: QueryRange): Promise<readonly PrometheusPoint[]> {
    const times = { start: String(from / 1000), end: String(to / 1000), step: String(inSeconds(step)) };
    const reply = await this.#http.send({
      method: "POST",
      url: this.#rangeUrl,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        query: expression,
        ...times,
        timeout: String(inSeconds(this.#http.timeout)),
      }).toString(),
    });
    if (reply.status < 200 || reply.status > 299) throw this.#refusal(expression, reply, readAnswer(reply));
    const read = rangeResponse.safeParse(parsedJson(reply.text));
    if (!read.success) throw this.#error("garbled", "the response is not a matrix", expression, reply);
    const [series] = read.data.data.result;
    return (series?.values ?? []).map(([at, text]) => ({ at: instant(at * 1000), value: valueOf(text) }));
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

const readAnswer = ({ text }: HttpAnswer): QueryResponse | undefined => queryResponse.safeParse(parsedJson(text)).data;

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
  "+Inf": Infinity,
  Inf: Infinity,
  "-Inf": -Infinity,
};

function valueOf(text: string): number {
  const number = parseNumber(text);
  return number.ok ? number.value : (INFINITIES[text] ?? Number.NaN);
}
