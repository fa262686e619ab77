import { expect, it } from "vitest";
import { decodeArrivals } from "../../../core/fit/index.ts";
import { instant, seconds } from "../../../core/units/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import type { ArrivalOptions } from "./arrivals.ts";
import { lastDayArrivals } from "./last-day-arrivals.ts";

const server = { cores: 128 };
const withGpus = { cores: 96, gpus: { resource: "nvidia.com/gpu", count: 8 } };
const fleet = Array.from({ length: 40 }, (_, at) =>
  at % 5 === 0 ? withGpus : server,
) as unknown as ArrivalOptions["fleet"];
const NOW = instant(Date.UTC(2030, 0, 2, 18));

it("stores the jobs of the last day as the operator does, without those that are there at the start", () => {
  const { name, data } = lastDayArrivals({
    fleet,
    load: 0.3,
    random: seededRandom(1),
    now: NOW,
    timeOfDay: seconds(18 * 3600),
  });
  expect(name).toBe("joulie-arrivals");
  const stored = decodeArrivals(data["arrivals.json"] ?? "");
  const slots = stored?.slots.cpu ?? [];
  const minutes = slots.map(([slot]) => slot);
  expect(minutes.length).toBeGreaterThan(300);
  expect(Math.min(...minutes) * 60_000).toBeGreaterThanOrEqual(NOW - 86_400_000);
  expect(Math.max(...minutes) * 60_000).toBeLessThan(NOW);
  const largest = Math.max(...slots.map(([, groups]) => groups.reduce((sum, { count }) => sum + count, 0)));
  expect(largest).toBeLessThan(20);
  expect(stored?.slots.gpu.length).toBeGreaterThan(50);
});
