import { expect, it } from "vitest";
import { apiHarness } from "../testing/api-harness.ts";

it("an event of events.k8s.io has the times that clients of the core group sort by", async () => {
  const { send } = apiHarness();
  const events = "/apis/events.k8s.io/v1/namespaces/default/events";
  const core = "/api/v1/namespaces/default/events/e";
  await send("POST", events, { metadata: { name: "e" }, eventTime: "2030-01-31T12:00:00.654321Z", reason: "R" });
  expect((await send("GET", core)).body).toMatchObject({
    firstTimestamp: "2030-01-31T12:00:00Z",
    lastTimestamp: "2030-01-31T12:00:00Z",
  });
  const series = { series: { count: 2, lastObservedTime: "2030-01-31T12:05:00.000000Z" } };
  await send("PATCH", `${events}/e`, series, { "content-type": "application/merge-patch+json" });
  expect((await send("GET", core)).body).toMatchObject({
    firstTimestamp: "2030-01-31T12:00:00Z",
    lastTimestamp: "2030-01-31T12:05:00Z",
  });
  expect((await send("GET", `${events}/e`)).body).not.toHaveProperty("deprecatedLastTimestamp");
});
