import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Trial } from "../testing/agent-test-harness.ts";
import { ControlService } from "../testing/fake-control-service.ts";

let trial: Trial;
let service: ControlService;
let server: Server;
let status: number;
let asked: number;
beforeEach(async () => {
  trial = new Trial();
  service = new ControlService();
  await service.listen();
  asked = 0;
  server = createServer((_, response) => {
    asked++;
    const result = [{ metric: {}, value: [trial.clock.now() / 1000, "700"] }];
    response.writeHead(status).end(JSON.stringify({ status: "success", data: { resultType: "vector", result } }));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
});
afterEach(async () => {
  await trial.end();
  await service.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

it("X-64 believes no answer of Prometheus with an HTTP status of failure, whatever its body says", async () => {
  status = 503;
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await trial.createNode("n");
  await trial.route("all", {
    target: { scope: "cluster" },
    sources: { cpu: { type: "prometheus", prometheus: { endpoint, query: 'watts{node="{node}"}' } } },
    controls: { cpu: { type: "http", http: { endpoint: service.control } } },
  });
  await trial.target("n", { cpu: { packagePowerCapWatts: 240 } });
  trial.start({ AGENT_MODE: "pool", RECONCILE_INTERVAL: "2s" });
  await trial.until(async () => asked > 1 && (await trial.told("n"))?.cpu !== undefined);
  expect((await trial.told("n"))?.cpu?.observedPowerWatts).toBeUndefined();
  status = 200;
  await trial.until(async () => (await trial.told("n"))?.cpu?.observedPowerWatts === 700);
});
