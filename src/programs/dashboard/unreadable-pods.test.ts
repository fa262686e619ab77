import { expect, it, vi } from "vitest";
import { DashboardHarness } from "./testing/dashboard-harness.ts";
import type { NodeAnswer, Snapshot } from "./wire.ts";

it("DSH-01 shows pods that it may not read as unknown, never as 0, and counts them once it may", async () => {
  const harness = await DashboardHarness.begin();
  try {
    await harness.createNode("a", { class: "draining" });
    await harness.createNode("b");
    await harness.createPod("web", "a", "performance");
    const inner = harness.api.transport();
    let isForbidden = true;
    const body = { kind: "Status", code: 403, reason: "Forbidden", message: "pods is forbidden" };
    const transport: typeof inner = {
      close: async () => inner.close(),
      request: async (request) =>
        isForbidden && request.path.startsWith("/api/v1/pods")
          ? {
              status: 403,
              headers: { "content-type": "application/json" },
              body: ReadableStream.from([Buffer.from(JSON.stringify(body))]),
            }
          : inner.request(request),
    };
    await harness.start({}, { transport });
    const read = async <Answer>(path: string) => (await (await harness.get(path)).json()) as Answer;
    const podsIn = ({ columns, totals, syncing }: Snapshot) => ({
      syncing,
      rows: [columns.pods, columns.performancePods],
      totals: [totals.pods, totals.pendingPods],
    });
    await vi.waitFor(
      async () =>
        expect(podsIn(await read<Snapshot>("/api/snapshot"))).toEqual({
          syncing: ["pods"],
          rows: [
            [null, null],
            [null, null],
          ],
          totals: [null, null],
        }),
      { timeout: 10_000 },
    );
    expect(await read<NodeAnswer>("/api/node/a")).toMatchObject({
      pods: null,
      reason: "waiting for its performance pods, nothing is evicted",
    });
    const score = await harness.get("/api/score?node=a&cpus=4");
    expect([score.status, await score.text()]).toEqual([400, expect.stringContaining("has not read the pods")]);
    isForbidden = false;
    await vi.waitFor(
      async () =>
        expect(podsIn(await read<Snapshot>("/api/snapshot"))).toEqual({
          syncing: [],
          rows: [
            [1, 0],
            [1, 0],
          ],
          totals: [1, 0],
        }),
      { timeout: 60_000, interval: 200 },
    );
    expect((await read<NodeAnswer>("/api/node/a")).pods).toHaveLength(1);
  } finally {
    await harness.end();
  }
}, 90_000);
