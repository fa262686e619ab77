import { expect, it } from "vitest";
import { EnergyAccount, type NodeEnergySample } from "../../core/report/index.ts";
import { instant, watts } from "../../core/units/index.ts";
import { systemClock } from "../../platform/clock/index.ts";
import { ProgramMetrics } from "../../platform/metrics/index.ts";
import { countEnergy } from "./metrics.ts";

const node = (more: Partial<NodeEnergySample> = {}): NodeEnergySample => ({
  node: "a",
  drawn: watts(300),
  modelled: watts(0),
  idle: watts(100),
  shares: { performance: 0.25, standard: 0.75 },
  savedByCaps: { estimate: watts(20), low: watts(-50), high: watts(60) },
  savedInChips: watts(20),
  asleep: false,
  ...more,
});

it("SAV-07 counts energy and its counterfactual for Prometheus, from zero, although the account continues", async () => {
  const metrics = new ProgramMetrics(systemClock);
  const count = countEnergy(metrics);
  const earlier = {
    version: 2,
    from: 0,
    to: 0,
    covered: 9,
    time: 9,
    nodes: { a: [9e6, 0, 0, 9e6, 0, 0, 0, 0] },
  } as const;
  const account = new EnergyAccount(earlier);
  const sleeper = node({ node: "b", drawn: watts(0), asleep: true, idle: watts(40) });
  for (const at of [1000, 11_000, 21_000]) {
    account.add({ at: instant(at), nodes: [node(), sleeper] });
    count(account.totals);
  }
  let text = "";
  for await (const piece of metrics.text()) text += piece;
  const valueOf = (series: string) =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(`${series} `))
        ?.split(" ")[1],
    );
  const used = (name: string) => valueOf(`joulie_dashboard_energy_joules_total{class="${name}"}`);
  expect([used("performance"), used("standard"), used("idle")]).toEqual([1000, 3000, 2000]);
  expect(valueOf("joulie_dashboard_used_energy_joules_total")).toBe(6000);
  const modelled = (bound: string) => valueOf(`joulie_dashboard_counterfactual_energy_joules_total{bound="${bound}"}`);
  // 6000 J used; caps 20, -50 to 60 W and the sleeping node's 40 W, each for 20 s.
  expect([modelled("estimate"), modelled("low"), modelled("high")]).toEqual([7200, 5800, 8000]);
  expect(valueOf("joulie_dashboard_asleep_energy_joules_total")).toBe(800);
});
