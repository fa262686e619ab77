// A reflector on a real API server whose resourceVersion always advances, because leases are renewed all the time.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { simulatedDelay } from "../../src/platform/clock/testing/index.ts";
import { type ApiRequest, KubeClient, Reflector, resources, type Transport } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { reach } from "../contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";

const LIMIT = milliseconds(4000);
let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
  await plane.createNodes(["node-1"]);
});
afterAll(async () => plane?.stop());

/** A transport whose watches can go silent, like a connection that is dead without an error. */
class Deafening implements Transport {
  readonly paths: string[] = [];
  readonly #below: Transport;
  #generation = 0;

  constructor(below: Transport) {
    this.#below = below;
  }

  /** Silences the watches that are open now; watches opened later work. */
  deafen(): void {
    this.#generation++;
  }

  async request(request: ApiRequest) {
    this.paths.push(request.path);
    const response = await this.#below.request(request);
    const opened = this.#generation;
    const hears = () => this.#generation === opened;
    async function* body() {
      for await (const chunk of response.body) if (request.longLived !== true || hears()) yield chunk;
    }
    return { ...response, body: body() };
  }

  async close(): Promise<void> {
    await this.#below.close();
  }
}

describe("Reflector on a server whose resourceVersion always changes", () => {
  it("reopens a silent watch from the same resourceVersion, without another list", async () => {
    const transport = new Deafening(reach(plane.server, plane.admin.token, plane.admin.ca));
    const parts = { clock: systemClock, random: systemRandom };
    const client = new KubeClient({ transport, ...parts, fieldManager: "test" });
    const reflector = new Reflector({
      client,
      ...parts,
      log: createLogger({ level: "silent", program: "test" }),
      resource: resources.nodes,
      project: ({ metadata }) => metadata.labels?.mark ?? "none",
      idleLimit: LIMIT,
    });
    const renewed = new AbortController();
    const churn = (async () => {
      for (let time = 0; !renewed.signal.aborted; time++) {
        const spec = { holderIdentity: `holder-${time}` };
        await client.apply(resources.leases, { namespace: "default", name: "busy" }, { spec });
        await simulatedDelay(100);
      }
    })();
    const count = (part: string) => transport.paths.filter((path) => path.startsWith(`/api/v1/nodes?${part}`)).length;
    const mark = async (label: string) => {
      await plane.api.mergePatch("/api/v1/nodes/node-1", { metadata: { labels: { mark: label } } });
      await expect.poll(() => reflector.store.getByKey("node-1")).toBe(label);
    };
    try {
      reflector.start();
      await reflector.synced();
      await mark("first");
      await expect.poll(() => count("limit=1")).toBeGreaterThan(3);
      expect(count("limit=500")).toBe(1);
      // The newest watch is open.
      await mark("before");
      const watches = count("watch=1");
      transport.deafen();
      await mark("second");
      expect(count("limit=500")).toBe(1);
      expect(count("watch=1")).toBeGreaterThan(watches);
    } finally {
      renewed.abort();
      await churn;
      await reflector.stop();
      await transport.close();
    }
  });
});
