// A program of the command line as a process of its own, which SIGKILL ends right after one of its requests was processed.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { Agent, request } from "undici";
import type { ClusterIdentity } from "../controlplane/identities.ts";

export interface ProcessedRequest {
  readonly method: string;
  readonly path: string;
  /** Undefined if the request has no body. */
  readonly body: unknown;
}

/** A point of a program's work. */
export interface KillPoint {
  readonly name: string;
  /** Whether the program is killed after this request to the API server. */
  readonly after?: (sent: ProcessedRequest) => boolean;
  /** Whether it is killed after its machine has received this action. */
  readonly afterPress?: "on" | "shutdown" | "forceOff";
}

export interface ProgramProcessOptions {
  /** The bundled command line. */
  readonly main: string;
  readonly program: "operator" | "power";
  readonly identity: ClusterIdentity;
  readonly variables: Readonly<Record<string, string>>;
  /** The first of these that is reached ends the process. */
  readonly points: ReadonlySet<KillPoint>;
}

/**
 * The process reaches the API server through a proxy in this process, which kills it when the server has answered and before the
 * process receives the answer.
 */
export class ProgramProcess {
  readonly #options: ProgramProcessOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), "joulie-process-"));
  readonly #server: Server;
  readonly #upstream: Agent;
  readonly #ending = new AbortController();
  readonly #killed = Promise.withResolvers<KillPoint>();
  #child: ChildProcess | undefined;
  #isDead = false;

  private constructor(options: ProgramProcessOptions) {
    this.#options = options;
    this.#upstream = new Agent({ connect: { ca: options.identity.ca }, bodyTimeout: 0 });
    this.#server = createServer((asked, answer) => {
      this.#forward(asked, answer).catch(() => answer.destroy());
    });
    this.#killed.promise.catch(() => undefined);
  }

  static async start(options: ProgramProcessOptions): Promise<ProgramProcess> {
    const program = new ProgramProcess(options);
    await program.#spawn();
    return program;
  }

  /** Resolves with the point at which the process was killed. Rejects if it ends otherwise. */
  get killed(): Promise<KillPoint> {
    return this.#killed.promise;
  }

  /** A machine was switched on behalf of this program. */
  pressed(action: string): void {
    for (const point of this.#options.points) if (point.afterPress === action) this.#kill(point);
  }

  /** As by a user: ends it with SIGTERM. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      child.kill("SIGTERM");
      await once(child, "exit");
    }
    this.#ending.abort();
    this.#server.closeAllConnections();
    this.#server.close();
    await this.#upstream.destroy();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #spawn(): Promise<void> {
    const { main, program, variables } = this.#options;
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const { port } = this.#server.address() as AddressInfo;
    const kubeconfig = join(this.#folder, "kubeconfig");
    const config = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "test",
      contexts: [{ name: "test", context: { cluster: "test" } }],
      clusters: [{ name: "test", cluster: { server: `http://127.0.0.1:${port}` } }],
    };
    writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 });
    // The name of the run, by which an interrupted run ends its processes.
    const { PATH, JOULIE_TEST_RUN } = process.env;
    const child = spawn(process.execPath, [main, program], {
      stdio: ["ignore", "ignore", "inherit"],
      env: {
        PATH,
        JOULIE_TEST_RUN,
        ...variables,
        KUBECONFIG: kubeconfig,
        LOG_LEVEL: "fatal",
        NODE_COMPILE_CACHE: `${main}.cache`,
      },
    });
    this.#child = child;
    child.once("exit", (code, signal) => {
      this.#isDead = true;
      if (signal !== "SIGKILL") this.#killed.reject(new Error(`${program} ended with ${code ?? signal}`));
    });
  }

  /** The process sees nothing more from here on. */
  #kill(point: KillPoint): void {
    const child = this.#child;
    if (this.#isDead || child === undefined) return;
    this.#isDead = true;
    child.kill("SIGKILL");
    child.once("exit", () => this.#killed.resolve(point));
  }

  async #forward(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { identity, points } = this.#options;
    const { method = "GET", url: path = "/", headers } = asked;
    const chunks: Buffer[] = [];
    for await (const chunk of asked) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const gone = new AbortController();
    answer.once("close", () => gone.abort());
    const upstream = await request(`${identity.server}${path}`, {
      dispatcher: this.#upstream,
      method: method as "GET",
      headers: { ...endToEnd(headers), authorization: `Bearer ${identity.token}` },
      body: body.length > 0 ? body : null,
      signal: AbortSignal.any([gone.signal, this.#ending.signal]),
    });
    if (upstream.statusCode < 300 && method !== "GET") {
      const sent = { method, path, body: body.length > 0 ? (JSON.parse(body.toString()) as unknown) : undefined };
      for (const point of points) if (point.after?.(sent) === true) this.#kill(point);
    }
    if (this.#isDead) {
      answer.destroy();
      await upstream.body.dump().catch(() => undefined);
      return;
    }
    answer.writeHead(upstream.statusCode, endToEnd(upstream.headers));
    answer.flushHeaders();
    await pipeline(upstream.body, answer);
  }
}

/** Headers of one connection, which a proxy does not forward. */
const OF_CONNECTION: ReadonlySet<string> = new Set(["host", "connection", "content-length", "transfer-encoding"]);

const endToEnd = (headers: IncomingHttpHeaders): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name)));
