// A fake HTTP service for telemetry and control of nodes.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { milliseconds } from "../../../core/units/index.ts";
import { simulatedDelay } from "../../../platform/clock/testing/index.ts";

export interface ServedNode {
  /** Watts of all packages. */
  power?: number | undefined;
  gpuPower?: number | undefined;
  capWatts?: number | undefined;
  throttlePct?: number | undefined;
  capWattsPerGpu?: number | undefined;
}

export interface ReceivedCommand {
  readonly path: string;
  readonly node: string;
  readonly action: string;
  readonly capWatts?: number;
  readonly throttlePct?: number;
  readonly capWattsPerGpu?: number;
  readonly ts: string;
}

export class FakeControlService {
  readonly nodes = new Map<string, ServedNode>();
  readonly commands: ReceivedCommand[] = [];
  readonly requests: string[] = [];
  readonly authorizations = new Set<string | undefined>();
  /** Nodes whose requests never get an answer. */
  readonly silent = new Set<string>();
  /** Fixed responses by action, or by node and action (`node-1 dvfs.set_throttle_pct`); the action is not executed. */
  readonly answers = new Map<
    string,
    { readonly status?: number; readonly body: unknown; readonly location?: string }
  >();
  /** How long commands take. */
  takes = milliseconds(0);
  /** Commands wait here without an answer while it is set, until `carryOutHeld`. */
  isHolding = false;
  /** Whether older commands are rejected after newer ones, as the protocol asks for. */
  isOrdered = false;
  readonly held: ReceivedCommand[] = [];
  readonly #newest = new Map<string, string>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #sockets = new Set<Socket>();
  #url = "";

  async listen(): Promise<void> {
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
    });
    await new Promise<void>((resolve) => {
      this.#server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, resolve);
    });
    this.#url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get origin(): string {
    return this.#url;
  }

  get telemetry(): string {
    return `${this.#url}/telemetry/{node}`;
  }

  get control(): string {
    return `${this.#url}/control/{node}`;
  }

  get prometheus(): string {
    return `${this.#url}/prometheus`;
  }

  node(name: string): ServedNode {
    const node = this.nodes.get(name) ?? {};
    this.nodes.set(name, node);
    return node;
  }

  /** All commands as short texts. */
  get commandTexts(): string[] {
    return this.commands.map(
      ({ node, action, capWatts, throttlePct, capWattsPerGpu }) =>
        `${node} ${action} ${capWatts ?? throttlePct ?? capWattsPerGpu}`,
    );
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const path = request.url ?? "";
    const [, kind, escaped = ""] = path.split("/");
    const name = decodeURIComponent(escaped);
    this.requests.push(path);
    this.authorizations.add(request.headers.authorization);
    if (this.silent.has(name)) return;
    const reply = (body: unknown, status = 200, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(body));
    };
    if (kind === "prometheus") {
      const query = new URLSearchParams(text).get("query") ?? "";
      this.requests.push(query);
      const value = String(this.nodes.get("prometheus")?.power ?? 0);
      reply({ status: "success", data: { resultType: "vector", result: [{ metric: {}, value: [0, value] }] } });
    } else if (kind === "telemetry") {
      const { power, gpuPower, capWatts, throttlePct, capWattsPerGpu } = this.node(name);
      reply({
        packagePowerWatts: power === undefined ? undefined : power + (gpuPower ?? 0),
        cpu: { packagePowerWatts: power, capWatts, throttlePct },
        ...(gpuPower !== undefined && {
          gpu: { present: true, powerWattsTotal: gpuPower, capWattsPerGpuApplied: capWattsPerGpu },
        }),
      });
    } else {
      const command = { path, ...(JSON.parse(text) as Omit<ReceivedCommand, "path">) };
      this.commands.push(command);
      const fixed = this.answers.get(`${name} ${command.action}`) ?? this.answers.get(command.action);
      if (fixed !== undefined) {
        reply(fixed.body, fixed.status, fixed.location === undefined ? {} : { location: fixed.location });
        return;
      }
      if (this.isHolding) {
        this.held.push(command);
        return;
      }
      if (this.takes > 0) await simulatedDelay(this.takes);
      const newest = this.#carryOut(command);
      if (newest === undefined)
        reply({ result: "applied", message: "", state: {}, ...(this.isOrdered && { ordered: true }) });
      else reply({ result: "error", message: "too late", newest }, 409);
    }
  }

  /** Carries out what was held, long after its senders gave up. */
  carryOutHeld(): void {
    for (const command of this.held.splice(0)) this.#carryOut(command);
  }

  /** Returns the time stamp of a newer command that stood in the way. */
  #carryOut({ node: name, action, ts, capWatts, throttlePct, capWattsPerGpu }: ReceivedCommand): string | undefined {
    const key = `${name} ${action}`;
    const newest = this.#newest.get(key) ?? "";
    if (this.isOrdered && ts < newest) return newest;
    this.#newest.set(key, ts);
    Object.assign(this.node(name), {
      ...(capWatts !== undefined && { capWatts }),
      ...(throttlePct !== undefined && { throttlePct }),
      ...(capWattsPerGpu !== undefined && { capWattsPerGpu }),
    });
    return undefined;
  }
}
