// A server that responds to PromQL queries and GET requests with a test's data.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { realWork } from "../../src/platform/clock/testing/index.ts";

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** `queries` returns the samples of a query, `pages` the body of a path; both may count their calls. */
export async function servePrometheus(
  now: () => number,
  queries: (query: string) => readonly Sample[],
  pages: (path: string) => unknown = () => undefined,
) {
  const requests = { open: 0 };
  const server = createServer((request, response) => {
    requests.open++;
    response.on("close", () => requests.open--);
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      if (request.method === "GET") {
        const page = pages(request.url ?? "");
        response.writeHead(page === undefined ? 404 : 200).end(JSON.stringify(page ?? {}));
        return;
      }
      const samples = queries(new URLSearchParams(body).get("query") ?? "");
      const result = samples.map(([metric, value]) => ({ metric, value: [now() / 1000, String(value)] }));
      response.end(JSON.stringify({ status: "success", data: { resultType: "vector", result } }));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Waits until all pending requests have a response: virtual time does not wait for sockets. */
    idle: async (): Promise<void> => {
      do await realWork();
      while (requests.open > 0);
    },
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
