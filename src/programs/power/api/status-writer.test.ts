import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PowerEndpointStatus } from "../../../core/api/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import { isApiError } from "../../../platform/kube/index.ts";
import type { NodeCase } from "../steps/node-case.ts";
import { PowerTestHarness } from "../testing/power-test-harness.ts";
import { NodeApi } from "./node-api.ts";
import { StatusWriter } from "./status-writer.ts";

describe("the status of a PowerEndpoint", () => {
  const { signal } = new AbortController();
  let harness: PowerTestHarness;
  let writer: StatusWriter;
  beforeEach(async () => {
    harness = await PowerTestHarness.begin();
    await harness.createNode("a");
    writer = new StatusWriter(new NodeApi({ client: harness.user, mayWrite: () => true, namespace: "joulie-system" }));
  });
  afterEach(async () => harness.end());

  const caseNow = async (): Promise<NodeCase> => {
    const endpoint = await harness.endpoint("a");
    const { status = {} } = endpoint;
    const wanted = { state: "on", test: false, explicit: false, reason: "" } as const;
    const now = harness.clock.now();
    const view = writer.withOwnWrites({
      name: "a",
      endpoint: { ...endpoint, status },
      node: undefined,
      twin: undefined,
    });
    return {
      ...view,
      endpoint: { ...endpoint, ...view.endpoint, status: view.endpoint?.status ?? status },
      wanted,
      signal,
      now,
      sinceStep: milliseconds(0),
    };
  };
  const failed: PowerEndpointStatus["lastSleep"] = { at: "2030-01-01T00:00:00.000Z", result: "failed" };

  it("SLP-28 does not undo the step of another replica that the watch does not show yet", async () => {
    const stale = await caseNow();
    const operation = { type: "sleep", step: "shutdown" };
    await harness.endpointStatus("a", { operation });
    const error = await writer.write(stale, { lastSleep: failed }).catch((caught: unknown) => caught);
    expect(isApiError(error, "conflict")).toBe(true);
    expect((await harness.endpoint("a")).status).toMatchObject({ operation });
    // The next attempt knows the step, although the watch is as late as before.
    const next = writer.withOwnWrites(stale);
    expect(next.endpoint?.status).toMatchObject({ operation });
  });

  it("SLP-28 writes twice in a row before the watch shows the first write", async () => {
    const one = await caseNow();
    const second = await writer.write(one, { lastSleep: failed });
    await writer.write(second, { cyclesToday: 3 });
    expect((await harness.endpoint("a")).status).toMatchObject({ lastSleep: failed, cyclesToday: 3 });
  });
});
