// The window that remains between the last check and a request that takes power away, without the network.
import { milliseconds } from "../src/core/units/index.ts";
import { systemClock } from "../src/platform/clock/index.ts";
import { WebhookSwitch } from "../src/platform/switch/index.ts";
import { FakeHttpServer } from "../src/platform/switch/testing/fake-http-server.ts";
import type { Scenario } from "./scenario.ts";

const SHUTDOWNS = 200;
const { signal } = new AbortController();
let confirmedAt = 0;
const windows: number[] = [];
const server = new FakeHttpServer(({ method }) => {
  if (method === "GET") return { json: { state: "on" } };
  windows.push(performance.now() - confirmedAt);
  return { status: 202 };
});
const url = await server.listen();

async function shutDown(): Promise<void> {
  const machine = new WebhookSwitch({
    clock: systemClock,
    timeout: milliseconds(5000),
    node: "worker-1",
    endpoint: { url },
    token: undefined,
  });
  await machine.state(signal);
  await machine.shutdown(signal, async () => {
    // As long as an answer of the API server takes.
    await systemClock.sleep(milliseconds(2));
    confirmedAt = performance.now();
  });
  await machine.close();
}

export const scenario: Scenario = {
  about: `The time from the last check to the arrival of the request at a switch on this machine, in ${SHUTDOWNS} shutdowns`,
  repeats: 5,
  measure: async () => {
    windows.length = 0;
    for (let shutdown = 0; shutdown < SHUTDOWNS; shutdown++) await shutDown();
    const sorted = windows.toSorted((a, b) => a - b);
    const at = (share: number) => ({
      unit: "ms",
      value: sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN,
    });
    return { "half of the windows": at(0.5), "99 % of the windows": at(0.99), "longest window": at(1) };
  },
  goals: [
    {
      says: "99 % of the windows, ms",
      of: ({ "99 % of the windows": window = Number.NaN }) => window,
      atMost: 50,
    },
  ],
  close: async () => server.close(),
};
