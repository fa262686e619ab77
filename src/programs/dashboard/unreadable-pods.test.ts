import { expect, it } from "vitest";
import { eventuallyPasses } from "../../platform/clock/testing/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { DashboardHarness } from "./testing/dashboard-harness.ts";
import type { HistoryAnswer, NodeAnswer, Snapshot } from "./wire.ts";

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
    const podsIn = ({ columns, totals, syncing, problems }: Snapshot) => ({
      syncing,
      isProblem: problems.some(({ title }) => title.includes("pods: the dashboard may not list them")),
      rows: [columns.pods, columns.performancePods],
      totals: [totals.pods, totals.pendingPods],
    });
    await eventuallyPasses(async () =>
      expect(podsIn(await read<Snapshot>("/api/snapshot"))).toEqual({
        syncing: [],
        isProblem: true,
        rows: [
          [null, null],
          [null, null],
        ],
        totals: [null, null],
      }),
    );
    expect(await read<NodeAnswer>("/api/node/a")).toMatchObject({
      pods: null,
      reason: "waiting for its performance pods, nothing is evicted",
    });
    const score = await harness.get("/api/score?node=a&cpus=4");
    expect([score.status, await score.text()]).toEqual([400, expect.stringContaining("has not read the pods")]);
    isForbidden = false;
    await eventuallyPasses(async () =>
      expect(podsIn(await read<Snapshot>("/api/snapshot"))).toEqual({
        syncing: [],
        isProblem: false,
        rows: [
          [1, 0],
          [1, 0],
        ],
        totals: [1, 0],
      }),
    );
    expect((await read<NodeAnswer>("/api/node/a")).pods).toHaveLength(1);
  } finally {
    await harness.end();
  }
});

it("DSH-01 finds problems, samples power and counts energy also without a kind that is not installed", async () => {
  const harness = await DashboardHarness.begin();
  try {
    await harness.createNode("a", { power: 900, cap: 500 });
    // The same objects from an API server without PowerEndpoints.
    const inner = harness.api.transport();
    const transport: typeof inner = {
      close: async () => inner.close(),
      request: async (request) =>
        inner.request({ ...request, path: request.path.replace("/powerendpoints", "/unknownkinds") }),
    };
    await harness.start({}, { transport });
    await harness.user.create(resources.namespaces, { metadata: { name: "joulie-system" } });
    const { totals } = await harness.until(
      ({ syncing, problems, totals: { counterfactual } }) =>
        syncing.length === 0 &&
        counterfactual !== null &&
        ["900 W are drawn", "does not know powerendpoints.joulie.io"].every((text) =>
          problems.some(({ title }) => title.includes(text)),
        ),
    );
    expect(totals.power).toBe(900);
    const history = (await (await harness.get("/api/history?hours=1")).json()) as HistoryAnswer;
    expect(history.power).toContain(900);
  } finally {
    await harness.end();
  }
});
