import { afterEach, beforeEach, expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import { calmTwinStatus, ExtenderHarness, podOfClass } from "./testing/extender-harness.ts";

let harness: ExtenderHarness;
beforeEach(() => {
  harness = new ExtenderHarness();
});
afterEach(async () => harness.end());

it("counts and times requests by class", async () => {
  const extender = await harness.start();
  await extender.filter(podOfClass("performance"), []);
  await extender.filter(podOfClass(undefined), []);
  await extender.scores(podOfClass("standard"), []);
  expect(await extender.series("requests_total")).toEqual([
    'joulie_scheduler_filter_requests_total{workload_class="performance"} 1',
    'joulie_scheduler_filter_requests_total{workload_class="standard"} 1',
    'joulie_scheduler_prioritize_requests_total{workload_class="standard"} 1',
  ]);
  expect(await extender.series("duration_seconds_count")).toEqual([
    'joulie_scheduler_filter_duration_seconds_count{workload_class="performance"} 1',
    'joulie_scheduler_filter_duration_seconds_count{workload_class="standard"} 1',
    'joulie_scheduler_prioritize_duration_seconds_count{workload_class="standard"} 1',
  ]);
});

it("exports each node's last score, its headroom and whether its twin is stale", async () => {
  for (const name of ["a", "b"]) await harness.createNode(name);
  await harness.twin("a", { ...calmTwinStatus, schedulableClass: "eco" });
  const extender = await harness.start();
  const about = async (metric: string) => extender.series(`joulie_scheduler_${metric}{`);
  expect(await about("stale_twin_data")).toEqual([
    'joulie_scheduler_stale_twin_data{node="a"} 0',
    'joulie_scheduler_stale_twin_data{node="b"} 1',
  ]);
  expect(await about("node_headroom_score")).toEqual(['joulie_scheduler_node_headroom_score{node="a"} 50']);
  expect(await about("final_node_score")).toEqual([]);
  await extender.scores(podOfClass("standard"), ["a", "b", "absent"]);
  await extender.scores(podOfClass("performance"), ["b"]);
  expect(await about("final_node_score")).toEqual([
    'joulie_scheduler_final_node_score{node="b",workload_class="performance"} 50',
    'joulie_scheduler_final_node_score{node="a",workload_class="standard"} 57',
    'joulie_scheduler_final_node_score{node="b",workload_class="standard"} 50',
  ]);
  await harness.advance(301);
  expect(await extender.series("stale_twin_data", '"a"')).toEqual(['joulie_scheduler_stale_twin_data{node="a"} 1']);
});

it("removes the series of a deleted node, and starts a node in the same slot without scores", async () => {
  for (const name of ["a", "b"]) await harness.createNode(name);
  const extender = await harness.start();
  await extender.scores(podOfClass("standard"), ["a", "b"]);
  expect(await extender.series('node="a"')).toHaveLength(2);
  await harness.client.delete(resources.nodes, { name: "a" });
  await harness.until(async () => (await extender.series('node="a"')).length === 0);
  await harness.createNode("heir");
  await harness.until(async () => (await extender.series('node="heir"')).length === 1);
  expect(await extender.series('node="b"')).toHaveLength(2);
});

it("exports the event-loop delay", async () => {
  const extender = await harness.start();
  await harness.until(async () => (await extender.series("nodejs_eventloop_lag_max_seconds")).length === 1);
  expect(await extender.series("nodejs_eventloop_lag")).toHaveLength(3);
});
