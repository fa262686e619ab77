import { describe, expect, it } from "vitest";
import { defaultFacility, inletAt, outsideAt } from "../../../core/physics/index.ts";
import {
  type Instant,
  instant,
  milliseconds,
  monotonicInstant,
  percent,
  type Seconds,
  seconds,
  watts,
} from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { readFacilityMeters } from "../pages/fleet-metrics.ts";
import type { PodJob } from "../pods/pod-job.ts";
import { Datacenter } from "./datacenter.ts";
import { generateMachines } from "./machine-specs.ts";
import type { SimulatedMachine } from "./simulated-machine.ts";

function begin(nodes = 20, hour = 10, timeOfDay?: Seconds) {
  const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1, hour)));
  const finished: { readonly key: string; readonly at: Instant }[] = [];
  const datacenter = new Datacenter({
    fleet: generateMachines(nodes, "sim", seededRandom(1)),
    clock,
    timeOfDay,
    level: { cpuPct: percent(100), gpuPct: percent(100) },
    onFinished: ({ key }, at) => finished.push({ key, at }),
  });
  datacenter.start();
  const pass = (length: number) => clock.advance(milliseconds(1000 * length));
  const machine = (name = "sim-000"): SimulatedMachine => {
    const found = datacenter.machine(name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found;
  };
  const run = (job: Partial<PodJob>, on = machine()) => {
    const whole: PodJob = {
      id: "uid",
      key: "default/job",
      performance: false,
      cores: 32,
      cpuUtil: 0.95,
      cpuShare: 0.9,
      gpus: 0,
      work: seconds(100),
      ...job,
    };
    datacenter.change(on, () => on.start(whole));
    return whole;
  };
  const cap = (share: number, on = machine()) =>
    datacenter.change(on, () => on.cap({ cpuWattsPerPackage: watts(share * on.spec.hardware.cpu.maxWattsPerSocket) }));
  return { clock, datacenter, finished, pass, machine, run, cap };
}

it("X-161 starts at the time of day of its site, whatever the clock shows", () => {
  const { datacenter, pass } = begin(1, 10, seconds(18 * 3600));
  pass(7 * 3600);
  expect(datacenter.timeOfDay).toBe(3600);
});

describe("the always-on model", () => {
  it("uses the energy of the run itself while no node is capped", () => {
    const { datacenter, pass, machine, run } = begin(5);
    run({ cores: 60, work: seconds(300) });
    run({ id: "stopped", cores: 20, work: seconds(3000) }, machine("sim-001"));
    pass(200);
    const on = machine("sim-001");
    datacenter.change(on, () => on.stop({ ...[...on.physics.jobs()][0] } as PodJob));
    pass(1000);
    const { wall, alwaysOn } = datacenter.totals;
    expect(alwaysOn.joules / wall.joules).toBeCloseTo(1, 12);
    expect(alwaysOn.watts).toBe(wall.watts);
    expect(on.alwaysOn.jobCount).toBe(0);
  });

  it("runs the jobs of a capped node at full speed: more power for a shorter time", () => {
    const { datacenter, pass, machine, run, cap } = begin(2);
    cap(0.5);
    run({ cores: machine().spec.cores, work: seconds(600) });
    pass(60);
    expect(machine().alwaysOn.wallWatts).toBeGreaterThan(1.2 * machine().physics.wallWatts);
    pass(560);
    expect([machine().physics.jobCount, machine().alwaysOn.jobCount]).toEqual([1, 0]);
    expect(datacenter.totals.alwaysOn.watts).toBeLessThan(datacenter.totals.wall.watts);
  });
});

describe("energy", () => {
  it("is that of one point in time, however long the sum over all nodes takes", () => {
    const { clock } = begin(1);
    // Later the machine is so busy that a second passes with every look at the clock.
    let [time, step] = [0, 0];
    const slow: Clock = {
      now: () => clock.now(),
      monotonic: () => monotonicInstant((time += step)),
      after: (length, callback) => clock.after(length, callback),
      sleep: async (...pause) => clock.sleep(...pause),
    };
    const busy = new Datacenter({
      fleet: generateMachines(20, "sim", seededRandom(1)),
      clock: slow,
      level: { cpuPct: percent(100), gpuPct: percent(100) },
      onFinished: () => undefined,
    });
    const one = busy.totals;
    step = 1000;
    const other = busy.totals;
    expect((other.joules - one.joules) / (other.seconds - one.seconds)).toBeCloseTo(one.watts, 6);
  });

  it("matches a meter that samples power at every change", () => {
    const { datacenter, pass, run, cap } = begin();
    let metered = 0;
    for (let second = 0; second < 1200; second++) {
      if (second === 200) run({ work: seconds(600) });
      if (second === 400) cap(0.7);
      metered += datacenter.totals.watts;
      pass(1);
    }
    expect(metered / datacenter.totals.joules).toBeCloseTo(1, 3);
  });
});

describe("jobs", () => {
  it("end at their due time without any read", () => {
    const { finished, pass, run, datacenter, clock } = begin();
    run({ work: seconds(100) });
    const end = clock.now() + 100_000;
    pass(99.9);
    expect(finished).toEqual([]);
    pass(0.2);
    expect(finished).toEqual([{ key: "default/job", at: end }]);
    expect(datacenter.totals.pods).toBe(0);
  });
});

describe("performance pods", () => {
  it("are recorded with node and duration when caps are below the performance level", () => {
    const { datacenter, pass, run, cap } = begin();
    cap(0.6);
    run({ id: "a", key: "default/a", performance: true, work: seconds(1e6) });
    run({ id: "b", key: "default/b", work: seconds(1e6) });
    pass(30);
    cap(1);
    pass(100);
    const { pods, podSeconds, first } = datacenter.offences;
    expect(pods).toBe(1);
    expect(podSeconds).toBeCloseTo(30, 9);
    expect(first).toMatchObject([
      { node: "sim-000", pod: "default/a", caps: { cpuWattsPerPackage: expect.any(Number) } },
    ]);
  });

  it("are recorded when they finish under lower caps", () => {
    const { datacenter, pass, run, cap, machine } = begin();
    run({ performance: true, work: seconds(10) });
    pass(5);
    datacenter.change(machine(), () => machine().cap({ throttlePct: percent(50) }));
    pass(3600);
    expect(datacenter.offences.pods).toBe(1);
    cap(0.6);
    run({ id: "another", work: seconds(10) });
    pass(100);
    expect(datacenter.offences.pods).toBe(1);
  });

  it("are not recorded on an uncapped node, or after they have ended", () => {
    const { datacenter, pass, run, cap, machine } = begin();
    cap(1);
    const job = run({ performance: true, work: seconds(1e6) });
    pass(50);
    datacenter.change(machine(), () => machine().stop(job));
    cap(0.6);
    pass(50);
    expect(datacenter.offences).toEqual({ pods: 0, podSeconds: 0, first: [] });
    expect(datacenter.totals.performancePods).toBe(0);
  });
});

describe("facility", () => {
  it("warms up over the day and changes the nodes' inlet temperature", () => {
    const { datacenter, pass, machine } = begin(20, 3);
    const cool = machine().physics.ambient;
    pass(12 * 3600);
    const warm = machine().physics.ambient;
    expect(warm).toBeGreaterThan(cool);
    expect(warm).toBeCloseTo(inletAt(defaultFacility, outsideAt(defaultFacility, seconds(15 * 3600))), 1);
    expect(datacenter.facility().outside).toBeGreaterThan(20);
  });

  it("reports zones and racks that add up to the site", () => {
    const { datacenter, run } = begin(60);
    run({});
    const { site, zones, racks } = readFacilityMeters(datacenter);
    const sum = (values: Iterable<number>) => Array.from(values).reduce((total, value) => total + value, 0);
    expect(sum(racks.values())).toBeCloseTo(site.it, 6);
    expect(sum(Array.from(zones.values(), ({ it: power }) => power))).toBeCloseTo(site.it, 6);
    expect(sum(Array.from(zones.values(), ({ cooling }) => cooling))).toBeCloseTo(site.cooling, 6);
    expect(zones.size).toBe(3);
  });
});
