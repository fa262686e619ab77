import * as z from "zod";
import { abridged, type Instant, inSeconds, instant, parseNumber } from "../../../core/units/index.ts";
import { TelemetryError } from "../errors.ts";
import { type HttpAnswer, HttpClient, type HttpClientOptions } from "../http/http-client.ts";

/** One element of an instant vector. */
export interface PrometheusSample {
  readonly labels: Readonly<Record<string, string>>;
  /** NaN and ±Infinity come as they are, and NaN stands for a histogram, which is no figure. */
  readonly value: number;
  /**
   * What the server puts beside the value. For a query in the present that is when it was evaluated: how old the scrape is
   * that it rests on, the query decides (the window of a rate, else the server's look-back of five minutes).
   */
  readonly at: Instant;
}

const point = z.tuple([z.number(), z.string()]);
const element = z.object({
  metric: z.record(z.string(), z.string()).catch({}),
  value: point.optional().catch(undefined),
});
/** Prometheus's own words. What its `error` says beside them is part of an answer, and is not passed on. */
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
const answer = z.discriminatedUnion("status", [
  z.object({
    status: z.literal("success"),
    data: z.discriminatedUnion("resultType", [
      z.object({ resultType: z.literal("vector"), result: z.array(element) }),
      z.object({ resultType: z.literal("scalar"), result: point }),
    ]),
  }),
  z.object({ status: z.literal("error"), errorType: z.enum(errorTypes).optional().catch(undefined) }),
]);
type Answer = z.output<typeof answer>;

export interface PrometheusClientOptions extends HttpClientOptions {
  /** It may carry a path, as behind a proxy. */
  readonly address: string;
}

/** Ten thousand nodes with eight GPUs each, labels and all, are some 25 MB. */
const LONGEST_ANSWER = 64 * 2 ** 20;
const CONNECTIONS = 4;

/** Queries in the present. */
export class PrometheusClient {
  readonly #http: HttpClient;
  readonly #url: URL;

  constructor({ address, ...options }: PrometheusClientOptions) {
    this.#http = new HttpClient({ maxBodyBytes: LONGEST_ANSWER, connections: CONNECTIONS, ...options });
    this.#url = new URL("api/v1/query", address.replace(/[?#].*$/s, "").replace(/\/*$/, "/"));
  }

  /** Sent as a form: a query for hundreds of racks is longer than servers take in a URL. */
  async query(expression: string, signal?: AbortSignal, node = ""): Promise<readonly PrometheusSample[]> {
    // Told to the server too, or it goes on with what nobody waits for.
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
    // A proxy may answer 502 with a page of its own, and Prometheus answers 422 with its reason in JSON.
    if (reply.status < 200 || reply.status > 299 || read?.status === "error")
      throw this.#refusal(expression, reply, read);
    if (read === undefined) throw this.#error("garbled", "the answer is no instant vector", expression, reply);
    return samplesOf(read);
  }

  #refusal(expression: string, reply: HttpAnswer, read: Answer | undefined): TelemetryError {
    const type = read?.status === "error" ? read.errorType : undefined;
    return this.#error("status", `answered ${reply.status}${type === undefined ? "" : ` ${type}`}`, expression, reply);
  }

  #error(kind: "status" | "garbled", what: string, expression: string, { status }: HttpAnswer): TelemetryError {
    const where = `${this.#url.origin}${this.#url.pathname}`;
    return new TelemetryError(kind, `query ${abridged(expression)} to ${where}: ${what}`, { status });
  }

  async close(): Promise<void> {
    await this.#http.close();
  }
}

function readAnswer({ text }: HttpAnswer): Answer | undefined {
  try {
    return answer.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function samplesOf(read: Answer): PrometheusSample[] {
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
