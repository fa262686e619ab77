import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DashboardHarness } from "./testing/dashboard-harness.ts";

const NODES = 5000;
const READERS = 200;
const MIB = 2 ** 20;
const nameOf = (index: number): string => `node-${String(index).padStart(4, "0")}`;

let harness: DashboardHarness;
const sockets: Socket[] = [];

beforeAll(async () => {
  harness = await DashboardHarness.begin();
  for (let from = 0; from < NODES; from += 100)
    await Promise.all(
      Array.from({ length: 100 }, async (_, at) => harness.createNode(nameOf(from + at), { power: 300 })),
    );
  await harness.start({}, { clients: 512 });
  await harness.until(({ syncing, totals }) => syncing.length === 0 && totals.nodes === NODES);
}, 300_000);
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await harness.end();
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
function usedMemory(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** A client that sends a request and reads nothing but the first bytes; false if it was refused. */
async function slowReader(path: string): Promise<boolean> {
  const { port } = new URL(harness.url);
  const socket = connect({ port: Number(port), host: "127.0.0.1" });
  socket.on("error", () => undefined);
  sockets.push(socket);
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost:${port}\r\n\r\n`);
  await Promise.race([once(socket, "readable"), once(socket, "close")]);
  return !socket.destroyed;
}

it("DSH-03 serves a fast reader of 5,000 nodes while 200 others do not read, and keeps little for them", async () => {
  const size = (await (await harness.get("/api/snapshot")).text()).length;
  const before = usedMemory();
  let held = 0;
  for (let index = 0; index < READERS; index++)
    if (await slowReader(index % 2 === 0 ? "/api/snapshot" : "/api/events")) held++;
  for (let round = 0; round < 5; round++)
    await Promise.all(
      Array.from({ length: 500 }, async (_, at) => harness.setTwin(nameOf(at), { power: 310 + round })),
    );
  const { totals } = await harness.until(
    (snapshot) => snapshot.totals.power !== null && snapshot.totals.power >= 300 * NODES + 14 * 500,
  );
  const grown = usedMemory() - before;
  expect(totals.nodes).toBe(NODES);
  expect(held).toBe(READERS);
  // One copy of the page for each that asked for it, and deltas for the others.
  expect(grown).toBeLessThan((READERS / 2) * size + 16 * MIB);
});
