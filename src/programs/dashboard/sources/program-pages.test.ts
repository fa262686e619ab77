import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { systemClock } from "../../../platform/clock/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { FileValue } from "../../../platform/kube/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { HttpClient } from "../../../platform/telemetry/index.ts";
import { ProgramPages, planReasons } from "./program-pages.ts";

const http = new HttpClient({ clock: systemClock, timeout: milliseconds(2000) });
const log = createLogger({ level: "silent", program: "test" });
let servers: Server[] = [];
let port = 0;
let asked: (string | undefined)[] = [];

/** A replica on its own loopback address and the port of the others; undefined answers 404. */
async function replica(address: string, answer: object | undefined): Promise<void> {
  const server = createServer((request, response) => {
    asked.push(request.headers.authorization);
    response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  ({ port } = server.address() as AddressInfo);
  servers.push(server);
}
beforeEach(() => {
  [servers, port, asked] = [[], 0, []];
});
afterEach(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});
const pagesAt = (addresses: readonly string[], token?: FileValue) =>
  new ProgramPages({
    url: `http://operator.test:${port}`,
    http,
    clock: systemClock,
    token,
    addressesOf: async () => addresses,
  });

describe("debug pages of replicas", () => {
  it("DSH-08 come from the replica that has them: only one operator leads", async () => {
    await replica("127.0.0.1", undefined);
    await replica("127.0.0.2", { reason: "it leads" });
    const pages = pagesAt(["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
    expect(await pages.read("debug/plan")).toEqual([{ reason: "it leads" }]);
    expect(await planReasons(pages, log)("a")).toBe("it leads");
  });

  it("reject if no replica answers, and a plan without the node has no reason", async () => {
    await replica("127.0.0.1", undefined);
    const pages = pagesAt(["127.0.0.1"]);
    await expect(pages.read("debug/plan")).rejects.toThrow("status 404");
    expect(await planReasons(pages, log)("a")).toBeUndefined();
  });

  it("reject if the name has no address in time", async () => {
    const clock = new VirtualClock();
    const addressesOf = async () => new Promise<never>(() => undefined);
    const pages = new ProgramPages({ url: "http://operator.test", http, clock, token: undefined, addressesOf });
    const failure = pages.read("debug/plan").catch(String);
    clock.advance(milliseconds(2000));
    expect(await failure).toContain("no address of operator.test within 2000 ms");
  });

  it("are read with the token of the file", async () => {
    const folder = await mkdtemp(join(tmpdir(), "joulie-token-"));
    try {
      await writeFile(join(folder, "token"), "s3cret\n");
      await replica("127.0.0.1", {});
      await pagesAt(["127.0.0.1"], new FileValue(join(folder, "token"), systemClock)).read("debug/plan");
      await pagesAt(["127.0.0.1"]).read("debug/plan");
      expect(asked).toEqual(["Bearer s3cret", undefined]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
