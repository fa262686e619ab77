import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  EARLIER_NODES,
  EnergyAccount,
  energyAccountAnswer,
  REMOVED_NODES,
  savingsReport,
} from "../../../core/report/index.ts";
import { instant, milliseconds, watts } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { EmbeddedApi } from "../../../platform/embedded/index.ts";
import { KubeClient } from "../../../platform/kube/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { programs } from "../../index.ts";
import type { ConsoleContext } from "../context.ts";
import { counters, savingsFromDashboard, savingsFromPrometheus } from "./past-savings.ts";
import { explanationsOf, savingsCsv, savingsText } from "./savings.ts";

const NOW = Date.UTC(2030, 0, 2);
const HOUR = 3_600_000;
const day = milliseconds(24 * HOUR);
const screen = { columns: 100, colour: false };
const oneLine = (text: string) => text.replaceAll("\n", " ");

function accountSince(hours: number): EnergyAccount {
  const account = new EnergyAccount();
  for (let at = NOW - hours * HOUR; at <= NOW; at += 300_000)
    account.add({
      at: instant(at),
      nodes: [
        {
          node: "a",
          drawn: watts(300),
          modelled: watts(0),
          idle: watts(100),
          shares: { performance: 1, standard: 0 },
          savedByCaps: { estimate: watts(30), low: watts(10), high: watts(60) },
          savedInChips: watts(30),
          asleep: false,
        },
      ],
    });
  return account;
}

describe("savings of the past, from the dashboard", () => {
  let server: Server;
  let context: ConsoleContext;
  let asked: string[];
  let answer: unknown;
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  beforeEach(async () => {
    asked = [];
    server = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.end(JSON.stringify(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const clock = new VirtualClock(instant(NOW));
    const transport = new EmbeddedApi({ clock, random: seededRandom(1) }).transport();
    const client = new KubeClient({ transport, clock, random: seededRandom(2), fieldManager: "test" });
    context = { client, transport, clock, screen, out: () => undefined, urls: { dashboard: url() } };
  });
  afterEach(async () => new Promise((resolve) => server.close(resolve)));

  it("SAV-07 shows what the dashboard counted since a time, with its source, and prints CSV", async () => {
    answer = energyAccountAnswer(accountSince(24).totals, {});
    const savings = await savingsFromDashboard(context, "ns", day, { pricePerKilowattHour: 0.5 });
    expect(asked).toEqual(["/api/energy-account?hours=24"]);
    const text = savingsText(savings, screen).text(false);
    expect(text).toContain("24h from 2030-01-01T00:00:00.000Z, 100 % of the time with readings");
    expect(text).toMatch(/all nodes +7\.20 kWh +720 Wh +240 Wh to 1\.44 kWh/);
    expect(text).toContain("cost: 3.60 EUR used, 0.3600 not (0.1200 to 0.7200)");
    expect(text).toContain(`Source: the account of the dashboard at ${url()}.`);
    expect(text).not.toContain("after the asked time");
    expect(text).toContain("at the wall, read by meters of whole servers");
    expect(explanationsOf(savings)[0]).toBe(`Source: the account of the dashboard at ${url()}.`);
    expect(savings.notes).toEqual([]);
  });

  it("X-155 takes price, carbon and PUE from the dashboard where the user names none", async () => {
    const factors = { pricePerKilowattHour: 0.5, currency: "CHF", gramsCo2PerKilowattHour: 100, pue: 2 };
    answer = energyAccountAnswer(accountSince(24).totals, factors);
    const { report } = await savingsFromDashboard(context, "ns", day, {});
    expect(report.cost).toMatchObject({ used: expect.closeTo(7.2), currency: "CHF" });
    expect(report.carbonKg?.used).toBeCloseTo(1.44);
    const own = await savingsFromDashboard(context, "ns", day, { pricePerKilowattHour: 1, pue: 1 });
    expect(own.report.cost).toMatchObject({ used: expect.closeTo(7.2), currency: "EUR" });
    expect(own.report.carbonKg?.used).toBeCloseTo(0.72);
  });

  it("X-155 prints kilowatt-hours, money and carbon as CSV without comments", async () => {
    answer = energyAccountAnswer(accountSince(24).totals, {});
    const factors = { pricePerKilowattHour: 0.5, gramsCo2PerKilowattHour: 100, pue: 2 };
    const [head, ...lines] = savingsCsv(await savingsFromDashboard(context, "ns", day, factors)).split("\n");
    expect(head).toBe(
      "kind,name,from,to,used_kwh,not_used_kwh,not_used_low_kwh,not_used_high_kwh,currency,used_cost,not_used_cost,used_co2_kg,not_used_co2_kg",
    );
    const time = "2030-01-01T00:00:00.000Z,2030-01-02T00:00:00.000Z";
    expect(lines).toEqual([
      `total,all,${time},7.2,0.72,0.24,1.44,EUR,7.2,0.72,1.44,0.144`,
      `class,performance,${time},4.8,,,,EUR,4.8,,0.96,`,
      `class,standard,${time},0,,,,EUR,0,,0,`,
      `class,idle,${time},2.4,,,,EUR,2.4,,0.48,`,
      `cause,caps,${time},,0.72,,,EUR,,0.72,,0.144`,
      `cause,sleep,${time},,0,,,EUR,,0,,0`,
      `node,a,${time},7.2,0.72,0.24,1.44,EUR,7.2,0.72,1.44,0.144`,
      "",
    ]);
  });

  it("SAV-07 says which part of the time has no history", async () => {
    answer = energyAccountAnswer(accountSince(6).totals, {});
    const savings = await savingsFromDashboard(context, "ns", day, {});
    expect(oneLine(savingsText(savings, screen).text(false))).toContain(
      "The account begins 18h after the asked time; what was before is unknown and not counted.",
    );
    const all = await savingsFromDashboard(context, "ns", undefined, {});
    expect([asked.at(-1), all.notes]).toEqual(["/api/energy-account", []]);
  });

  it("SAV-07 refuses more than the dashboard keeps, an empty account, and other answers", async () => {
    await expect(savingsFromDashboard(context, "ns", milliseconds(25 * HOUR), {})).rejects.toThrow(
      /keeps the last 24 hours, and --since is 25h; --prometheus URL/,
    );
    answer = energyAccountAnswer(new EnergyAccount().totals, {});
    await expect(savingsFromDashboard(context, "ns", day, {})).rejects.toThrow("has not counted anything yet");
    answer = { hello: "world" };
    await expect(savingsFromDashboard(context, "ns", day, {})).rejects.toThrow("is not a dashboard of this version");
    await expect(savingsFromDashboard({ ...context, urls: {} }, "ns", day, {})).rejects.toThrow(
      "the dashboard cannot be asked: no pod of the dashboard is ready in ns",
    );
  });
});

describe("savings without covered time", () => {
  it("SAV-05 are unknown in every format, never 0", () => {
    const account = new EnergyAccount();
    account.add({ at: instant(NOW), nodes: [] });
    const factors = { pricePerKilowattHour: 0.3, gramsCo2PerKilowattHour: 300 };
    const savings = { report: savingsReport(account.totals, factors), source: "a test", notes: [] };
    const printable = savingsText(savings, screen);
    const text = printable.text(false);
    expect(text).toMatch(/\nall nodes +- +- +-\n/);
    expect(text).toContain("energy, cost, carbon: unknown, because no time is covered\n");
    expect(text).not.toMatch(/0\.00 |cost: 0|carbon: 0/);
    expect(JSON.parse(JSON.stringify(printable.value()))).not.toMatchObject({ cost: expect.anything() });
    expect(printable.value()).toMatchObject({ cost: undefined, carbonKg: undefined, kilowattHours: undefined });
    expect(savingsCsv(savings)).toContain(
      "\ntotal,all,2030-01-02T00:00:00.000Z,2030-01-02T00:00:00.000Z,,,,,EUR,,,,\n",
    );
  });
});

describe("rows of several nodes", () => {
  it("SAV-07 are no names of nodes", () => {
    const { totals } = accountSince(1);
    const rows = ["a", REMOVED_NODES, EARLIER_NODES].map((node) => ({ ...totals.byNode[0], node }));
    const report = savingsReport({ ...totals, byNode: rows as typeof totals.byNode });
    const printable = savingsText({ report, source: "a test", notes: [] }, screen);
    expect(printable.names()).toEqual(["node/a"]);
    expect(printable.text(false)).toContain(REMOVED_NODES);
  });
});

describe("savings of the past, from Prometheus", () => {
  const since = milliseconds(48 * HOUR);
  const sample = (value: number, labels: Record<string, string> = {}) => ({ labels, value, at: instant(NOW) });
  const answers = (hours = 48) => ({
    asked: [] as string[],
    async query(expression: string) {
      this.asked.push(expression);
      if (expression.includes(counters.used)) return [sample(10_000)];
      if (expression.includes(counters.classes))
        return [
          sample(6000, { class: "standard" }),
          sample(4000, { class: "idle" }),
          sample(Number.NaN, { class: "x" }),
        ];
      if (expression.includes(counters.counterfactual))
        return [
          sample(11_000, { bound: "estimate" }),
          sample(9500, { bound: "low" }),
          sample(12_000, { bound: "high" }),
        ];
      if (expression.includes(counters.asleep)) return [sample(400)];
      return [sample(7000, { node: "b" }), sample(3000, { node: "a" })];
    },
    async queryRange(_: string, { to, step }: { to: number; step: number }) {
      const count = Math.floor((hours * HOUR) / step) + 1;
      return Array.from({ length: count }, (__, index) => ({ at: instant(to - (count - 1 - index) * step), value: 3 }));
    },
  });

  it("SAV-07 adds counters up by increase: by class, bound and node, and names the source", async () => {
    const client = answers();
    const savings = await savingsFromPrometheus(client, { url: "http://p:9090", since, now: NOW }, {});
    const { totals } = savings.report;
    expect(client.asked[0]).toBe(`sum by (class) (increase(${counters.classes}[172800s]))`);
    expect(totals).toMatchObject({
      used: 10_000,
      byClass: { performance: 0, standard: 6000, idle: 4000 },
      notUsed: { estimate: 1000, low: -500, high: 2000 },
      byCause: { caps: 600, sleep: 400 },
      coverage: 1,
    });
    expect(totals.byNode.map(({ node, used }) => [node, used])).toEqual([
      ["a", 3000],
      ["b", 7000],
    ]);
    const text = savingsText(savings, screen).text(true);
    expect(oneLine(text)).toContain("Source: Prometheus at http://p:9090, by increase over 48h");
    expect(text).toMatch(/\na +0\.83 Wh +- +-\n/);
    expect(text).toContain("at the wall; the source does not tell how much of it is modelled");
    expect(savingsCsv(savings)).toMatch(/\nnode,a,[^,]+,[^,]+,0.000833,,,,,,,,\n/);
  });

  it("SAV-07 names Prometheus without its password in every format", async () => {
    const url = "http://user:hunter2@p:9090/prom?key=hunter2";
    const savings = await savingsFromPrometheus(answers(), { url, since, now: NOW }, {});
    const printed = [savingsText(savings, screen).text(false), JSON.stringify(savingsText(savings, screen).value())];
    for (const text of [...printed, explanationsOf(savings).join()]) {
      expect(text).toContain("Prometheus at http://p:9090/prom, by");
      expect(text).not.toContain("hunter2");
    }
  });

  it("SAV-07 says how much of the window it has, and what is missing if it has nothing", async () => {
    const savings = await savingsFromPrometheus(answers(12), { url: "http://p", since, now: NOW }, {});
    expect(savings.report.totals.coverage).toBeCloseTo(0.25, 1);
    expect(savings.notes[0]).toContain("The account begins 36h after the asked time");
    expect(savings.notes.join()).not.toContain("account ends");
    const stopped = answers(12);
    const past = {
      ...stopped,
      queryRange: async (expression: string, range: { to: number; step: number }) =>
        stopped.queryRange(expression, { ...range, to: range.to - 6 * HOUR }),
    };
    const { notes } = await savingsFromPrometheus(past, { url: "http://p", since, now: NOW }, {});
    expect(notes[0]).toContain("The account begins 30h after the asked time");
    expect(notes[1]).toContain("The account ends 6h ago");
    const empty = { query: async () => [], queryRange: async () => [] };
    await expect(savingsFromPrometheus(empty, { url: "http://p", since, now: NOW }, {})).rejects.toThrow(
      /^Prometheus has no joulie_dashboard_used_energy_joules_total in the last 48h; the dashboard counts it: install it/,
    );
  });

  it("SAV-07 asks for counters that the programs serve", async () => {
    const definitions = await Promise.all(programs.map(async (program) => program.metrics?.()));
    const served = definitions.flatMap((all = {}) => Object.values(all)).map(({ name }) => name);
    for (const name of Object.values(counters)) expect(served).toContain(name);
  });
});
