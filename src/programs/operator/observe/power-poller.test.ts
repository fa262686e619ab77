import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { parseConfig } from "../../../platform/config/index.ts";
import { KubeClient } from "../../../platform/kube/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { operatorConfig } from "../config.ts";
import { PowerPoller } from "./power-poller.ts";

const MINUTE = milliseconds(60_000);

/** A meter that reads metrics.k8s.io, as `answer` has it. */
function open(answer: () => Readonly<Record<string, string>>, nodes: () => readonly string[] = () => ["a", "b"]) {
  const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  const parsed = parseConfig(operatorConfig, {
    env: { OPERATOR_NODE_POWER_SOURCE: "utilization" },
    flags: {},
    machine: { isTerminal: false, exists: () => false },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
  const random = seededRandom(1);
  const client = new KubeClient({
    transport: {
      request: async () => {
        const timestamp = new Date(clock.now()).toISOString();
        const items = Object.entries(answer()).map(([name, cpu]) => ({
          metadata: { name },
          timestamp,
          usage: { cpu },
        }));
        return { status: 200, headers: {}, body: bytes(JSON.stringify({ items })) };
      },
      close: async () => undefined,
    },
    clock,
    random,
    fieldManager: "test",
    limit: { perSecond: 1000, burst: 1000, queue: 1000 },
  });
  const problems: [string, string | undefined][] = [];
  const meter = new PowerPoller({
    config: parsed.value.values,
    client,
    clock,
    ioClock: clock,
    random,
    nodes,
    places: () => ({ zones: [], racks: [] }),
    onDropped: () => undefined,
    onProblem: (...problem) => problems.push(problem),
  });
  const stop = new AbortController();
  const reported = { first: 0 };
  const running = meter.run(MINUTE, () => reported.first++, stop.signal);
  const pass = async (minutes: number) => {
    for (let second = 0; second < minutes * 60; second++) await clock.advanceAsync(milliseconds(1000));
  };
  const end = async () => {
    stop.abort();
    await running;
    await meter.close();
  };
  return { meter, problems, told: reported, pass, end };
}

async function* bytes(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text);
}

describe("PowerPoller", () => {
  it("X-31 keeps a missing reading for five minutes, and drops readings of removed nodes", async () => {
    let usage: Record<string, string> = { a: "1", b: "2" };
    let nodes = ["a", "b"];
    const {
      meter,
      told: reported,
      pass,
      end,
    } = open(
      () => usage,
      () => nodes,
    );
    const known = () => [...meter.telemetry.usage].map(([name, { cpuCores }]) => `${name} ${cpuCores}`);
    await pass(0.1);
    expect(known()).toEqual(["a 1", "b 2"]);
    usage = { a: "3" };
    await pass(4);
    expect(known()).toEqual(["a 3", "b 2"]);
    await pass(2);
    expect(known()).toEqual(["a 3"]);
    nodes = ["b"];
    await pass(1);
    expect(known()).toEqual([]);
    expect(reported.first).toBe(1);
    await end();
  });

  it("reports a poll that throws, and polls again", async () => {
    let isBroken = true;
    const {
      meter,
      problems,
      told: reported,
      pass,
      end,
    } = open(
      () => ({ a: "1" }),
      () => {
        if (isBroken) throw new RangeError("no nodes");
        return ["a"];
      },
    );
    await pass(0.5);
    expect(problems).toEqual([["meters", "polling failed and restarts: RangeError: no nodes"]]);
    expect(reported.first).toBe(0);
    isBroken = false;
    await pass(1);
    expect([...meter.telemetry.usage.keys()]).toEqual(["a"]);
    expect(reported.first).toBe(1);
    await end();
  });
});
