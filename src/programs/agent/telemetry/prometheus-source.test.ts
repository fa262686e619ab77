import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { AgentTestHarness } from "../testing/agent-test-harness.ts";
import { FakeControlService } from "../testing/fake-control-service.ts";

let harness: AgentTestHarness;
let service: FakeControlService;
let server: Server;
let status: number;
let asked: number;
beforeEach(async () => {
  harness = new AgentTestHarness();
  service = new FakeControlService();
  await service.listen();
  asked = 0;
  server = createServer((_, response) => {
    asked++;
    const result = [{ metric: {}, value: [harness.clock.now() / 1000, "700"] }];
    response.writeHead(status).end(JSON.stringify({ status: "success", data: { resultType: "vector", result } }));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
});
afterEach(async () => {
  await harness.close();
  await service.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

it("X-64 ignores a Prometheus response with an HTTP error status, even if its body looks valid", async () => {
  status = 503;
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await harness.createNode("n");
  await harness.route("all", {
    target: { scope: "cluster" },
    sources: { cpu: { type: "prometheus", prometheus: { endpoint, query: 'watts{node="{node}"}' } } },
    controls: { cpu: { type: "http", http: { endpoint: service.control } } },
  });
  await harness.target("n", { cpu: { packagePowerCapWatts: 240 } });
  harness.start({ AGENT_MODE: "pool", RECONCILE_INTERVAL: "2s" });
  await harness.until(async () => asked > 1 && (await harness.controlStatus("n"))?.cpu !== undefined);
  expect((await harness.controlStatus("n"))?.cpu?.observedPowerWatts).toBeUndefined();
  status = 200;
  await harness.until(async () => (await harness.controlStatus("n"))?.cpu?.observedPowerWatts === 700);
});
