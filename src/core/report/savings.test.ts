import { describe, expect, it } from "vitest";
import { hardwareView } from "../inventory/index.ts";
import { nodePowerModelOf, powerStateModelOf, restOfServerOf, wallPower } from "../power/index.ts";
import { instant, type RandomSource, watts } from "../units/index.ts";
import { defaultReportSettings } from "./cluster-objects.ts";
import { savedByCaps } from "./counterfactual.ts";
import { EnergyAccount, type NodeEnergySample, REMOVED_NODES } from "./energy-account.ts";
import { energySampleOf } from "./energy-sample.ts";
import { ESTIMATOR_BIAS, savingsReport } from "./savings.ts";
import { clusterOf, nodeObject, REPORT_TIME, twinObject } from "./testing/objects.ts";
import { savingsTruth } from "./testing/savings-truth.ts";

const model = nodePowerModelOf(
  hardwareView(
    nodeObject("a", { labels: { "joulie.io/hw.cpu-model": "EPYC 9654", "joulie.io/hw.cpu-sockets": "2" } }),
    undefined,
  ),
);
const full = model.packages * model.cpu.full;
const cap = watts(0.6 * full);

const sample = (more: Partial<NodeEnergySample> = {}): NodeEnergySample => ({
  node: "a",
  drawn: watts(300),
  modelled: watts(0),
  idle: watts(100),
  shares: { performance: 0.25, standard: 0.75 },
  savedByCaps: { estimate: watts(20), low: watts(-5), high: watts(60) },
  savedInChips: watts(20),
  asleep: false,
  ...more,
});
const accountOf = (...nodes: NodeEnergySample[]) => {
  const account = new EnergyAccount();
  account.add({ at: instant(0), nodes });
  account.add({ at: instant(100_000), nodes });
  return account;
};

describe("a sample of the cluster", () => {
  const sampleWith = (status: Parameters<typeof twinObject>[1]) =>
    energySampleOf(clusterOf([nodeObject("a")], [twinObject("a", status)]), defaultReportSettings).nodes[0];
  const plainModel = nodePowerModelOf(hardwareView(nodeObject("a"), undefined));
  const rest = restOfServerOf(plainModel);

  it("SAV-02 takes the power of a stale twin as missing, not as a reading that goes on", () => {
    expect(sampleWith({})?.drawn).toBeGreaterThan(200);
    expect(sampleWith({ lastUpdated: new Date(REPORT_TIME - 6 * 60_000).toISOString() })?.drawn).toBeUndefined();
  });

  it("X-153 adds the model of the rest of the server to packages and boards, and says how much it is", () => {
    const { drawn, modelled, idle } = sampleWith({}) ?? {};
    expect(drawn).toBe(wallPower(watts(200), plainModel.idle, rest));
    expect(modelled).toBeCloseTo((drawn ?? 0) - 200, 9);
    expect(idle).toBe(plainModel.idle + rest.idle);
  });

  it("X-153 takes the reading of a meter of the whole server instead of the model", () => {
    const powerMeasurement = { measuredNodePowerW: watts(200), serverPowerW: watts(310) };
    expect(sampleWith({ powerMeasurement })).toMatchObject({ drawn: 310, modelled: 0 });
  });

  it("SAV-02 an agent that has fallen silent no longer tells what the CPUs draw", () => {
    const ofCpus = watts(0.6 * plainModel.packages * plainModel.cpu.full);
    const savedWith = (updatedAt: number) => {
      const cpu = { observedPowerWatts: ofCpus, updatedAt: new Date(updatedAt).toISOString() };
      const drawn = watts(ofCpus / 2);
      const powerMeasurement = { source: "kepler", measuredNodePowerW: drawn, cpuCappedPowerW: ofCpus } as const;
      return sampleWith({ controlStatus: { cpu }, powerMeasurement })?.savedByCaps.high;
    };
    expect(savedWith(REPORT_TIME - 60_000)).toBeGreaterThan(0);
    expect(savedWith(REPORT_TIME - 6 * 60_000)).toBe(0);
  });

  it("X-153 a node that is off draws its standby power and saves the rest of its idle power at the wall", () => {
    const off = sampleWith({ power: { state: "off" } });
    expect(off).toMatchObject({ drawn: powerStateModelOf(plainModel).off, asleep: true });
    const account = accountOf(off as NodeEnergySample).totals;
    expect(account.used).toBeCloseTo(100 * powerStateModelOf(plainModel).off, 6);
    expect(account.byCause.sleep + account.used).toBeCloseTo(100 * (plainModel.idle + rest.idle), 6);
    expect(off?.savedInChips).toBe(plainModel.idle);
  });
});

describe("watts that caps save", () => {
  it("SAV-01 a cap that does not bind saves nothing", () => {
    const none = { estimate: 0, low: 0, high: 0 };
    expect(
      savedByCaps(model, { cpu: { drawn: watts(cap * 0.9), cap, expectedLoad: 0.5, busyShare: 1, sharesLoad: true } }),
    ).toEqual(none);
    expect(
      savedByCaps(model, {
        cpu: { drawn: watts(full), cap: watts(full), expectedLoad: 1, busyShare: 1, sharesLoad: true },
      }),
    ).toEqual(none);
    expect(
      savedByCaps(model, {
        cpu: { drawn: watts(full), cap: undefined, expectedLoad: 1, busyShare: 1, sharesLoad: true },
      }),
    ).toEqual(none);
  });

  it("SAV-01 under a cap that binds the estimate lies in an interval up to the whole difference", () => {
    const { estimate, low, high } = savedByCaps(model, {
      cpu: { drawn: cap, cap, expectedLoad: 0.9, busyShare: 1, sharesLoad: true },
    });
    expect(high).toBeCloseTo(full - cap, 0);
    expect(low).toBeLessThan(estimate);
    expect(estimate).toBeLessThan(high);
    expect(estimate).toBeGreaterThan(0);
  });
});

describe("watts that caps of boards save", () => {
  const gpuModel = nodePowerModelOf(
    hardwareView(
      nodeObject("g", {
        labels: {
          "joulie.io/hw.cpu-model": "EPYC 9654",
          "joulie.io/hw.gpu-model": "H100 SXM",
          "joulie.io/hw.gpu-count": "8",
        },
      }),
      undefined,
    ),
  );
  const board = gpuModel.gpu ?? model.cpu;
  const each = 0.6 * board.full;
  const ofBoards = (drawn: number, busy: number) =>
    savedByCaps(gpuModel, {
      cpu: { drawn: watts(100), cap: undefined, expectedLoad: 0, busyShare: 1, sharesLoad: true },
      gpu: {
        drawn: watts(drawn),
        cap: watts(8 * each),
        expectedLoad: 0.7 * busy,
        busyShare: busy,
        sharesLoad: false,
      },
    });

  it("SAV-01 counts only boards that run work, and some of them if the mean is below the cap", () => {
    const half = ofBoards(4 * each + 4 * board.idle, 0.5);
    const all = ofBoards(8 * each, 1);
    expect(half.estimate).toBeCloseTo(all.estimate / 2);
    const some = ofBoards(8 * 0.9 * each, 1);
    expect(some.estimate).toBeGreaterThan(0);
    expect(some.estimate).toBeLessThan(all.estimate);
    expect(some.low).toBeLessThanOrEqual(0);
    expect(ofBoards(8 * board.idle, 0)).toEqual({ estimate: 0, low: 0, high: 0 });
  });
});

describe("the energy account", () => {
  it("SAV-02 adds watts up to joules, by class and cause", () => {
    const { used, byClass, notUsed, byCause, coverage } = accountOf(
      sample(),
      sample({ node: "off", drawn: watts(0), asleep: true }),
    ).totals;
    expect(used).toBe(30_000);
    expect(byClass).toEqual({ performance: 5000, standard: 15_000, idle: 10_000 });
    expect(notUsed).toEqual({ estimate: 12_000, low: 9500, high: 16_000 });
    expect(byCause).toEqual({ caps: 2000, sleep: 10_000 });
    expect(coverage).toBe(1);
  });

  it("X-153 says how much of the energy no meter has read", () => {
    expect(accountOf(sample({ modelled: watts(70) })).totals.modelled).toBe(7000);
  });

  it("SAV-02 time without a reading is not covered, and never counts as 0 W", () => {
    const { used, byNode, coverage } = accountOf(sample(), sample({ node: "mute", drawn: undefined })).totals;
    expect([used, coverage]).toEqual([30_000, 0.5]);
    expect(byNode.map(({ node }) => node)).toEqual(["a"]);
  });

  it("SAV-02 does not bridge a long gap and ignores an old sample", () => {
    const account = new EnergyAccount();
    account.add({ at: instant(0), nodes: [sample()] });
    account.add({ at: instant(3_600_000), nodes: [sample()] });
    account.add({ at: instant(1_000_000), nodes: [sample()] });
    expect(account.totals).toMatchObject({ used: 0, coverage: 0 });
  });

  it("SAV-02 goes on where the clock was set back, and counts nothing twice", () => {
    const account = new EnergyAccount();
    const minute = (count: number) => instant(Date.UTC(2030, 0, 1) + count * 60_000);
    for (const at of [600, 601, 300, 301]) account.add({ at: minute(at), nodes: [sample({ drawn: watts(100) })] });
    expect(account.totals).toMatchObject({ from: minute(300), to: minute(301), used: 2 * 6000, coverage: 1 });
  });

  it("SAV-02 adds up the rows of removed nodes once there are too many", () => {
    const account = new EnergyAccount();
    for (let round = 0; round <= 12; round++) {
      const nodes = Array.from({ length: 1000 }, (_, index) => sample({ node: `n${round}-${index}` }));
      account.add({ at: instant(round * 1000), nodes });
    }
    const { byNode, used } = account.totals;
    expect(byNode.length).toBeLessThanOrEqual(10_000);
    expect(used).toBe(12 * 1000 * 300);
    expect(byNode.find(({ node }) => node === REMOVED_NODES)?.used).toBeGreaterThan(0);
    expect(byNode.reduce((sum, node) => sum + node.used, 0)).toBe(used);
  });

  it("SAV-02 continues from its stored state", () => {
    const account = accountOf(sample());
    const stored: unknown = JSON.parse(JSON.stringify(account.stored));
    const restored = new EnergyAccount(stored as never);
    expect(restored.totals).toEqual(account.totals);
    restored.add({ at: instant(200_000), nodes: [sample()] });
    // Nothing is known of the time in between.
    expect(restored.totals).toMatchObject({ used: 30_000, coverage: 0.5 });
    restored.add({ at: instant(300_000), nodes: [sample()] });
    expect(restored.totals).toMatchObject({ used: 60_000, coverage: 2 / 3 });
  });
});

describe("the savings report", () => {
  it("SAV-03 always names the method and the bias, and has money and carbon only with factors", () => {
    const plain = savingsReport(accountOf(sample()).totals);
    expect(plain.method).toMatch(/model: the same pods on the same nodes without caps/);
    expect(plain.bias).toBe(ESTIMATOR_BIAS);
    expect([plain.cost, plain.carbonKg]).toEqual([undefined, undefined]);
    expect(plain.notUsedPct?.estimate).toBeCloseTo((100 * 2000) / 32_000);
    expect(plain.counterfactual).toEqual({ estimate: 32_000, low: 29_500, high: 36_000 });
    const priced = savingsReport(accountOf(sample()).totals, {
      pricePerKilowattHour: 0.36,
      gramsCo2PerKilowattHour: 400,
      pue: 1.5,
    });
    expect(priced.cost).toMatchObject({ used: expect.closeTo(0.0045), currency: "EUR" });
    expect(priced.cost?.notUsed.estimate).toBeCloseTo(0.0003);
    expect(priced.carbonKg?.used).toBeCloseTo(0.005);
  });

  it("SAV-04 X-153 the estimator stays within its stated bias of the simulator's truth, and its interval contains the truth", () => {
    for (const load of [0.3, 0.9]) {
      const { estimated, saved, counterfactual, used, accounted } = savingsTruth(lcg(7), load, 4);
      // The account is at the wall, as is the truth: between two samples it holds the last one.
      expect(Math.abs(accounted - used) / used).toBeLessThan(0.002);
      const bias = (100 * (estimated.estimate - saved)) / counterfactual;
      // Four nodes vary more than the twelve of the benchmark.
      expect(bias).toBeGreaterThan(ESTIMATOR_BIAS.lowestPct - 2);
      expect(bias).toBeLessThan(ESTIMATOR_BIAS.highestPct + 2);
      expect(saved).toBeGreaterThan(0);
      expect(saved).toBeGreaterThan(estimated.low);
      expect(saved).toBeLessThan(estimated.high);
    }
  });
});

/** A small generator: core has none. */
function lcg(seed: number): RandomSource {
  let state = seed;
  return {
    next: () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 2 ** 32;
    },
  };
}
