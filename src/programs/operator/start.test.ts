import { expect, it } from "vitest";
import { crdOf, kinds } from "../../core/api/index.ts";
import { instant } from "../../core/units/index.ts";
import { VirtualClock } from "../../platform/clock/testing/index.ts";
import { parseConfig } from "../../platform/config/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import { createLogger } from "../../platform/log/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { operatorConfig } from "./config.ts";
import { runOperator } from "./start.ts";

it("closes its HTTP server when it fails", async () => {
  const machine = { isTerminal: false, exists: () => false };
  const parsed = parseConfig(operatorConfig, { env: { METRICS_ADDR: "127.0.0.1:0" }, flags: {}, machine });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
  const clock = new VirtualClock(instant(0));
  const api = new EmbeddedApi({ clock, random: seededRandom(1), crds: kinds.map(crdOf) });
  let url: string | undefined;
  const write = (line: string) => {
    ({ url } = JSON.parse(line) as { url?: string });
    if (url !== undefined) throw new Error("the disk is full");
  };
  const log = createLogger({ level: "info", program: "operator", destination: { write } });
  const world = { transport: api.transport(), clock, ioClock: clock, random: seededRandom(2), log };
  const running = runOperator(parsed.value.values, world, new AbortController().signal);
  await expect(running).rejects.toThrow("the disk is full");
  await expect(fetch(`${url}/livez`)).rejects.toThrow("fetch failed");
  await api.close();
});
