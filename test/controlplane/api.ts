import { Pool } from "undici";

export type ObjectOf<Rest = Record<string, unknown>> = Rest & {
  readonly metadata: { readonly name: string; readonly uid: string; readonly [field: string]: unknown };
};

/** An error response of the API server. */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure";
  readonly status: number;
  constructor(call: string, status: number, message: string) {
    super(`${call}: ${status} ${message}`);
    this.status = status;
  }
}

/** Distinguishes the harness from the programs under test in the audit log. */
export const harnessAgent = "joulie-test-harness";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

const patchType = "application/merge-patch+json";
const answerLimitMs = 60_000;

/** The harness's own API client: independent of the product's client, which the tests check against it. */
export class Api {
  readonly #pool: Pool;
  readonly #token: string;

  constructor(server: string, ca: string, token: string) {
    this.#token = token;
    this.#pool = new Pool(server, {
      allowH2: false,
      connections: 64,
      connect: { ca },
      headersTimeout: answerLimitMs,
      bodyTimeout: answerLimitMs,
    });
  }

  async get<T = ObjectOf>(path: string): Promise<T> {
    return JSON.parse(await this.text("GET", path)) as T;
  }

  async create<T = ObjectOf>(path: string, object: unknown): Promise<T> {
    return JSON.parse(await this.text("POST", path, object)) as T;
  }

  async mergePatch<T = ObjectOf>(path: string, patch: unknown): Promise<T> {
    return JSON.parse(await this.text("PATCH", path, patch, patchType)) as T;
  }

  async remove(path: string): Promise<void> {
    await this.text("DELETE", path);
  }

  async text(method: Method, path: string, body?: unknown, type?: string): Promise<string> {
    const { status, text } = await this.#send(method, path, body, type);
    if (status < 300) return text;
    throw new ApiFailure(`${method} ${path}`, status, messageIn(text));
  }

  /** The HTTP status of the answer. */
  async status(method: Method, path: string, body?: unknown, type?: string): Promise<number> {
    return (await this.#send(method, path, body, type)).status;
  }

  async #send(method: Method, path: string, body: unknown, type: string | undefined) {
    const answer = await this.#pool.request({
      method,
      path,
      headers: {
        authorization: `Bearer ${this.#token}`,
        "user-agent": harnessAgent,
        "content-type": type ?? "application/json",
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

function messageIn(text: string): string {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? text;
  } catch {
    return text;
  }
}
