import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../core/units/index.ts";
import { VirtualClock } from "../../platform/clock/testing/index.ts";
import { RecordingExtender } from "./recording-extender.ts";

describe("RecordingExtender", () => {
  const clock = new VirtualClock(instant(1000));
  const server = createServer((request, response) => {
    request.resume();
    // The response arrives later than the call.
    clock.advance(milliseconds(50));
    response.end(JSON.stringify({ NodeNames: [], FailedNodes: {} }));
  });
  let extender: RecordingExtender;
  beforeEach(async () => {
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const urlPrefix = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    extender = new RecordingExtender({ urlPrefix, filterVerb: "filter", nodeCacheCapable: true }, clock);
  });
  afterEach(() => server.closeAllConnections());
  afterEach(async () => new Promise((resolve) => void server.close(resolve)));

  const ask = async (name: string) => {
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" } };
    return extender.filter(pod, [], new AbortController().signal);
  };

  it("records the time of the last call and returns the response", async () => {
    expect(extender.lastFilteredAt("default/job")).toBeUndefined();
    expect(await ask("job")).toMatchObject({ nodes: [] });
    await ask("other");
    expect(extender.lastFilteredAt("default/job")).toBe(1000);
    await ask("job");
    expect(extender.lastFilteredAt("default/job")).toBe(1100);
    expect(extender.lastFilteredAt("default/other")).toBe(1050);
  });
});
