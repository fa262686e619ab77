import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { milliseconds } from "../../../core/units/index.ts";
import { systemClock } from "../../clock/index.ts";
import { createLogger } from "../../log/index.ts";
import { ProgramMetrics } from "../../metrics/index.ts";
import { type Served, type ServeOptions, serve } from "../server.ts";

/** Starts servers on free ports of the loopback interface, and closes them after the test. */
export class TestServers {
  readonly #running: Served[] = [];
  /** The log output of all servers. */
  log = "";

  async start(options: Partial<ServeOptions> = {}): Promise<Served> {
    const served = await serve({
      address: { host: "127.0.0.1", port: 0 },
      metrics: new ProgramMetrics(systemClock),
      log: createLogger({
        level: "info",
        program: "test",
        destination: {
          write: (line) => {
            this.log += line;
          },
        },
      }),
      clock: systemClock,
      ...options,
      limits: { close: milliseconds(50), ...options.limits },
    });
    this.#running.push(served);
    return served;
  }

  async end(): Promise<void> {
    this.log = "";
    await Promise.all(this.#running.splice(0).map(async (served) => served.close()));
  }
}

export interface TestResponse {
  readonly status: number | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export async function ask(served: Served, path: string, method = "GET", body?: string): Promise<TestResponse> {
  const asked = request({ host: "127.0.0.1", port: served.address.port, path, method, agent: false });
  asked.end(body);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  let text = "";
  for await (const piece of answer.setEncoding("utf8") as AsyncIterable<string>) text += piece;
  return { status: answer.statusCode, headers: answer.headers, body: text };
}

/** Sends raw bytes and returns everything until the server closes the connection. */
export async function raw(served: Served, bytes: string): Promise<string> {
  const socket = connect(served.address.port, "127.0.0.1");
  let text = "";
  socket.on("data", (data) => {
    text += data.toString();
  });
  socket.on("error", () => undefined);
  socket.write(bytes);
  await once(socket, "close");
  return text;
}
