import { rmSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { kilohertz } from "../../../core/control/index.ts";
import { milliseconds, percent } from "../../../core/units/index.ts";
import { HostDirectory } from "../host/host-directory.ts";
import { acpiCpufreq, amdPstate, armCppc, hybrid, intelPstate, virtualCpus } from "../testing/cpufreq-trees.ts";
import { errno, FakeHost, type HostTree } from "../testing/fake-host.ts";
import { emulateCpufreq, ignoreWrites, refuseWrites } from "../testing/fake-kernel.ts";
import { hastyClock } from "../testing/hasty-clock.ts";
import { scratchTree } from "../testing/scratch-tree.ts";
import { type ThrottleFixture, throttleCases } from "../testing/throttle-contract.ts";
import { CpufreqBackend } from "./cpufreq-backend.ts";

const CPUFREQ = "devices/system/cpu/cpufreq";
const MAXIMA = /scaling_max_freq$/;
const maxFile = (id: number): string => `${CPUFREQ}/policy${id}/scaling_max_freq`;
const minFile = (id: number): string => `${CPUFREQ}/policy${id}/scaling_min_freq`;

interface Kernel {
  readonly lag?: number;
  readonly rivalMax?: number;
}

function setup(tree: HostTree, kernel: Kernel = {}, lowest = 1_500_000) {
  const host = new FakeHost(tree);
  const clock = hastyClock();
  emulateCpufreq(host, { clock, ...kernel });
  return { host, clock, backend: new CpufreqBackend({ files: host, clock, lowest: kilohertz(lowest) }) };
}

const maxima = (host: FakeHost): number[] => host.find(MAXIMA).map((path) => Number(host.read(path)));
const limits = (host: FakeHost): string[] => host.find(/scaling_(max|min)_freq$/).map((path) => host.read(path));
const written = (host: FakeHost): string[] => host.writes.map(({ path, text }) => `${path.split("/").at(-2)} ${text}`);

function fakeFixture(tree: HostTree, kernel: Kernel = {}): ThrottleFixture {
  const { host, clock, backend } = setup(tree, kernel);
  const before = maxima(host);
  const settle = <Value>(read: () => Value): Value => {
    clock.virtual.advance(milliseconds(1000));
    return read();
  };
  const throttled = (): number => maxima(host).filter((max, index) => max < (before[index] ?? 0)).length;
  return {
    backend,
    truth: () => settle(() => (100 * throttled()) / before.length),
    state: () => settle(() => limits(host)),
    writes: () => host.writes.length,
    forbid: () => refuseWrites(host, MAXIMA, "EROFS"),
    spoil: () => refuseWrites(host, MAXIMA, "EIO"),
    ignore: () => ignoreWrites(host, MAXIMA),
    vanish: () => host.remove(CPUFREQ),
  };
}

const TREES: Readonly<Record<string, HostTree>> = {
  intel_pstate: intelPstate,
  "amd-pstate": amdPstate,
  "acpi-cpufreq": acpiCpufreq,
  "cores of two kinds": hybrid,
  cppc_cpufreq: armCppc,
};

describe.each(Object.entries(TREES))("cpufreq fulfils the throttle contract on a fake kernel: %s", (_, tree) => {
  it.each(throttleCases(() => fakeFixture(tree)))("%s", async (__, check) => expect(check()).resolves.toBeUndefined());
  it.each(throttleCases(() => fakeFixture(tree, { lag: 60 })))("with a slow kernel: %s", async (__, check) =>
    expect(check()).resolves.toBeUndefined(),
  );
});

function diskFixture(tree: HostTree): ThrottleFixture {
  const { root, remove } = scratchTree(tree);
  let writes = 0;
  class Counted extends HostDirectory {
    override write(path: string, text: string): void {
      writes += 1;
      super.write(path, text);
    }
  }
  const files = new Counted(root);
  const read = (pattern: RegExp): string[] =>
    Object.keys(tree.files)
      .filter((path) => pattern.test(path))
      .map((path) => files.read(path));
  const before = read(MAXIMA).map(Number);
  const throttled = (): number => read(MAXIMA).filter((max, index) => Number(max) < (before[index] ?? 0)).length;
  const none = (): void => {};
  return {
    backend: new CpufreqBackend({ files, clock: hastyClock(), lowest: kilohertz(1_500_000) }),
    truth: () => (100 * throttled()) / before.length,
    state: () => read(/scaling_(max|min)_freq$/),
    writes: () => writes,
    forbid: none,
    spoil: none,
    ignore: none,
    vanish: () => rmSync(join(root, CPUFREQ), { recursive: true }),
    end: () => {
      files.close();
      remove();
    },
  };
}

describe.each(Object.entries(TREES))("cpufreq fulfils the throttle contract on real files: %s", (_, tree) => {
  it.each(throttleCases(() => diskFixture(tree), ["forbid", "spoil", "ignore"]))("%s", async (__, check) =>
    expect(check()).resolves.toBeUndefined(),
  );
});

describe("throttling CPUs", () => {
  it("AGT-35 AGT-36 X-86 X-48 writes scaling_max_freq of the requested share of policies, alternating between sockets", async () => {
    const { host, backend } = setup(intelPstate);
    await backend.throttle(percent(25));
    expect(written(host)).toEqual(["policy0 1500000"]);
    await backend.throttle(percent(26));
    expect(written(host)).toEqual(["policy0 1500000", "policy2 1500000"]);
    await backend.throttle(percent(100));
    expect(maxima(host)).toEqual([1_500_000, 1_500_000, 1_500_000, 1_500_000]);
    expect(host.writes.every(({ path }) => MAXIMA.test(path))).toBe(true);
  });

  it("AGT-34 never goes below DVFS_MIN_FREQ_KHZ nor to the hardware minimum", async () => {
    for (const tree of [intelPstate, amdPstate, acpiCpufreq, hybrid, armCppc]) {
      for (const lowest of [1, 800_000, 1_000_000, 1_500_000, 2_500_000]) {
        const { host, backend } = setup(tree, {}, lowest);
        await backend.throttle(percent(100));
        for (const path of host.find(MAXIMA)) {
          const max = Number(host.read(path));
          expect(max).toBeGreaterThan(Number(host.get(path.replace("scaling_max", "cpuinfo_min"))));
          expect(max).toBeGreaterThanOrEqual(Math.min(lowest, Number(host.get(path))));
        }
      }
    }
  });

  it("writes a shared policy once, to a frequency of its table", async () => {
    const { host, backend } = setup(acpiCpufreq);
    expect((await backend.throttle(percent(100))).result).toBe("applied");
    expect(written(host)).toEqual(["policy0 1700000", "policy3 1700000"]);
  });

  it("X-52 writes nothing at 0 % and keeps another program's limit", async () => {
    const { host, backend } = setup(intelPstate);
    await backend.original();
    host.write(maxFile(1), "2200000");
    host.writes.length = 0;
    await backend.throttle(percent(50));
    await backend.throttle(percent(0));
    expect(written(host)).toEqual(["policy0 1500000", "policy2 1500000", "policy0 3800000", "policy2 3800000"]);
    expect(maxima(host)[1]).toBe(2_200_000);
  });

  it("names policies that another program raised, but not lower, released or formerly offline ones", async () => {
    const { host, backend } = setup(intelPstate);
    expect((await backend.throttle(percent(75))).result).toBe("applied");
    expect(backend.raisedByOthers()).toBeUndefined();
    const slowed = host.find(MAXIMA).filter((path) => Number(host.read(path)) === 1_500_000);
    expect(slowed.length).toBe(3);
    const [first = "", second = "", third = ""] = slowed;
    host.write(first, "1200000");
    expect(backend.raisedByOthers()).toBeUndefined();
    host.write(second, "3800000");
    expect(backend.raisedByOthers()).toMatch(/^cpufreq policy\d to 3800000 kHz$/);
    host.write(third, "3000000");
    expect(backend.raisedByOthers()).toMatch(/^cpufreq policy\d to 3800000 kHz and 1 more$/);
    await backend.throttle(percent(75));
    expect(backend.raisedByOthers()).toBeUndefined();
    host.set(`${CPUFREQ}/policy0/affected_cpus`, "");
    expect(backend.raisedByOthers()).toBeUndefined();
    host.set(`${CPUFREQ}/policy0/affected_cpus`, "0");
    host.write(maxFile(0), "3800000");
    expect(backend.raisedByOthers()).toBeUndefined();
    await backend.throttle(percent(0));
    expect(backend.raisedByOthers()).toBeUndefined();
  });

  it("no longer reports a raised policy after it was released", async () => {
    const { host, backend } = setup(intelPstate);
    const slowed = () => host.find(MAXIMA).filter((path) => Number(host.read(path)) === 1_500_000);
    await backend.throttle(percent(75));
    const before = slowed();
    await backend.throttle(percent(25));
    const released = before.find((path) => !slowed().includes(path)) ?? "";
    await backend.throttle(percent(75));
    host.write(released, "3800000");
    expect(backend.raisedByOthers()).toContain("3800000 kHz");
    await backend.throttle(percent(25));
    expect(backend.raisedByOthers()).toBeUndefined();
  });

  it("relax releases policies and does not throttle those that another program raised", async () => {
    const { host, backend } = setup(intelPstate);
    const slowed = () => host.find(MAXIMA).filter((path) => Number(host.read(path)) === 1_500_000);
    await backend.throttle(percent(25));
    const [raised = ""] = slowed();
    await backend.throttle(percent(75));
    host.write(raised, "3000000");
    expect(await backend.relax(percent(50))).toEqual({ result: "applied" });
    expect(slowed()).toHaveLength(1);
    expect(host.read(raised)).toBe("3000000");
    expect(backend.raisedByOthers()).toMatch(/^cpufreq policy\d to 3000000 kHz$/);
    await backend.throttle(percent(50));
    expect(slowed()).toHaveLength(2);
  });

  it("does not raise another program's lower limit", async () => {
    const { host, backend } = setup(intelPstate);
    await backend.original();
    host.write(maxFile(0), "1000000");
    await backend.throttle(percent(100));
    expect(maxima(host)).toEqual([1_000_000, 1_500_000, 1_500_000, 1_500_000]);
  });

  it("counts another kernel limit as throttled; restore reports it and succeeds once it is gone", async () => {
    const { host, backend } = setup(intelPstate);
    const { original = "" } = await backend.original();
    const cool = host.on(maxFile(0), { read: () => "1200000" });
    expect((await backend.throttle(percent(100))).result).toBe("applied");
    expect(await backend.restore(original)).toEqual({
      result: "error",
      message: expect.stringMatching(/policy0: wrote 3800000 kHz but read back 1200000 kHz/),
    });
    cool();
    expect((await backend.restore(original)).result).toBe("applied");
    expect(maxima(host)).toEqual([3_800_000, 3_800_000, 3_800_000, 3_800_000]);
  });

  it("releases a throttled policy that another program lowered further", async () => {
    const { host, backend } = setup(intelPstate);
    await backend.throttle(percent(25));
    const cool = host.on(maxFile(0), { read: () => "1200000" });
    await backend.throttle(percent(0));
    cool();
    expect(maxima(host)).toEqual([3_800_000, 3_800_000, 3_800_000, 3_800_000]);
  });

  it("blocks the throttle if no policy has room, and reports it if some have none", async () => {
    const none = setup(intelPstate, {}, 3_800_000);
    const { result, message } = await none.backend.throttle(percent(50));
    expect(result).toBe("blocked");
    expect(message).toMatch(/2 of 2 throttled cpufreq policies/);
    expect(none.host.writes).toEqual([]);

    const some = setup(hybrid, {}, 3_900_000);
    const outcome = await some.backend.throttle(percent(100));
    expect(outcome.result).toBe("applied");
    expect(outcome.message).toMatch(/2 of 4/);
  });

  it("is absent in a virtual machine, and if every CPU is offline", async () => {
    expect((await setup(virtualCpus).backend.discover()).absent).toMatch(/virtual machine/);
    const { host, backend } = setup(intelPstate);
    for (const id of [0, 1, 2, 3]) host.set(`${CPUFREQ}/policy${id}/affected_cpus`, "");
    expect((await backend.discover()).absent).toMatch(/offline/);
    expect((await backend.throttle(percent(50))).result).toBe("blocked");
  });
});

describe("cpufreq's quirks", () => {
  it("skips an offline policy (EBUSY) and throttles the others", async () => {
    const { host, backend } = setup(intelPstate);
    host.set(`${CPUFREQ}/policy1/affected_cpus`, "");
    expect((await backend.discover()).absent).toBeUndefined();
    expect((await backend.throttle(percent(100))).result).toBe("applied");
    expect(written(host)).toEqual(["policy0 1500000", "policy2 1500000", "policy3 1500000"]);
    expect((await backend.frequencies(true)).map(({ cpu }) => cpu)).toEqual([0, 2, 3]);
  });

  it("skips a policy that goes offline, and remembers a throttled policy while it is offline", async () => {
    const { host, backend } = setup(intelPstate);
    const { original = "" } = await backend.original();
    host.beforeWrite = (path) => {
      if (path === maxFile(1)) host.set(`${CPUFREQ}/policy1/affected_cpus`, "");
    };
    expect((await backend.throttle(percent(100))).result).toBe("applied");
    host.set(`${CPUFREQ}/policy2/affected_cpus`, "");
    const { result, message } = await backend.restore(original);
    expect(result).toBe("blocked");
    expect(message).toMatch(/policy2 is offline/);
    host.set(`${CPUFREQ}/policy1/affected_cpus`, "1");
    host.set(`${CPUFREQ}/policy2/affected_cpus`, "2");
    expect((await backend.restore(original)).result).toBe("applied");
    expect(maxima(host)).toEqual([3_800_000, 3_800_000, 3_800_000, 3_800_000]);
  });

  it("throttles a new policy after its original was recorded", async () => {
    const { host, backend } = setup(intelPstate);
    host.set(`${CPUFREQ}/policy3/affected_cpus`, "");
    await backend.original();
    host.set(`${CPUFREQ}/policy3/affected_cpus`, "3");
    await backend.throttle(percent(100));
    expect(maxima(host)).toEqual([1_500_000, 1_500_000, 1_500_000, 3_800_000]);
    const { original = "" } = await backend.original();
    await backend.throttle(percent(100));
    expect(maxima(host)).toEqual([1_500_000, 1_500_000, 1_500_000, 1_500_000]);
    await backend.restore(original);
    expect(maxima(host)).toEqual([3_800_000, 3_800_000, 3_800_000, 3_800_000]);
  });

  it("restores to the maximum without turbo, and to the turbo maximum once turbo is on", async () => {
    const { host, backend } = setup(intelPstate, { rivalMax: 2_000_000 });
    host.set("devices/system/cpu/intel_pstate/no_turbo", "1");
    const { original = "" } = await backend.original();
    await backend.throttle(percent(100));
    expect(maxima(host)).toEqual([1_500_000, 1_500_000, 1_500_000, 1_500_000]);
    expect((await backend.restore(original)).result).toBe("applied");
    expect(written(host).slice(-4)).toEqual([0, 1, 2, 3].map((id) => `policy${id} 3800000`));
    expect(maxima(host)).toEqual([2_000_000, 2_000_000, 2_000_000, 2_000_000]);
  });

  it("restores an unlimited policy to the new maximum after boost was enabled", async () => {
    const { host, backend } = setup(acpiCpufreq);
    const { original = "" } = await backend.original();
    await backend.throttle(percent(100));
    for (const id of [0, 3]) host.set(`${CPUFREQ}/policy${id}/cpuinfo_max_freq`, "2600000");
    expect((await backend.restore(original)).result).toBe("applied");
    expect(maxima(host)).toEqual([2_600_000, 2_600_000]);
  });

  it("does not treat the firmware's current limit as a user's limit", async () => {
    const { host, backend } = setup(intelPstate, { rivalMax: 2_600_000 });
    for (const id of [0, 1, 2, 3]) host.set(`${CPUFREQ}/policy${id}/bios_limit`, "2600000");
    const { original = "" } = await backend.original();
    await backend.throttle(percent(100));
    expect((await backend.restore(original)).result).toBe("applied");
    expect(written(host).at(-1)).toBe("policy3 3800000");
  });

  it("records no original during thermal throttling", async () => {
    const { host, backend } = setup(intelPstate, { rivalMax: 1_900_000 });
    host.set("class/thermal/cooling_device0/type", "Processor");
    host.set("class/thermal/cooling_device0/cur_state", "2");
    host.set("class/thermal/cooling_device1/type", "Fan");
    host.set("class/thermal/cooling_device1/cur_state", "1");
    expect((await backend.original()).unreadable).toMatch(/temperature/);
    expect((await backend.throttle(percent(50))).result).toBe("blocked");
    expect(host.writes).toEqual([]);
    host.set("class/thermal/cooling_device0/cur_state", "0");
    expect((await backend.throttle(percent(50))).result).toBe("applied");
  });

  it("records a limit set by another program as the original while nothing is throttled", async () => {
    const { host, backend } = setup(intelPstate);
    await backend.original();
    await backend.throttle(percent(100));
    await backend.throttle(percent(0));
    for (const id of [0, 1, 2, 3]) host.write(maxFile(id), "2800000");
    const { original = "" } = await backend.original();
    await backend.throttle(percent(100));
    await backend.restore(original);
    expect(maxima(host)).toEqual([2_800_000, 2_800_000, 2_800_000, 2_800_000]);
  });

  it("restores a user's limit exactly, with or without turbo", async () => {
    const { host, backend } = setup(intelPstate);
    host.set("devices/system/cpu/intel_pstate/no_turbo", "1");
    for (const id of [0, 1, 2, 3]) host.write(maxFile(id), "1800000");
    const { original = "" } = await backend.original();
    await backend.throttle(percent(100));
    await backend.restore(original);
    expect(maxima(host)).toEqual([1_800_000, 1_800_000, 1_800_000, 1_800_000]);
  });

  it("restores a minimum that the kernel lowered", async () => {
    const { host, backend } = setup(intelPstate);
    for (const id of [0, 1, 2, 3]) host.write(minFile(id), "2000000");
    const before = limits(host);
    const { original = "" } = await backend.original();
    await backend.throttle(percent(100));
    expect(host.read(minFile(0))).toBe("1500000");
    await backend.restore(original);
    expect(limits(host)).toEqual(before);
  });

  it("lowers the minimum first on old kernels, and restores both", async () => {
    const host = new FakeHost(intelPstate);
    for (const id of [0, 1, 2, 3]) {
      host.set(minFile(id), "2000000");
      host.on(maxFile(id), {
        write: (text) => {
          if (Number(text) < Number(host.get(minFile(id)))) throw errno("EINVAL");
          return text;
        },
      });
    }
    const backend = new CpufreqBackend({ files: host, clock: hastyClock(), lowest: kilohertz(1_500_000) });
    const before = limits(host);
    const { original = "" } = await backend.original();
    expect((await backend.throttle(percent(50))).result).toBe("applied");
    expect([host.get(minFile(0)), host.get(maxFile(0))]).toEqual(["1500000", "1500000"]);
    expect((await backend.restore(original)).result).toBe("applied");
    expect(limits(host)).toEqual(before);
  });

  it("X-59 restores throttled policies in a new run from the adopted originals", async () => {
    const first = setup(intelPstate);
    const before = limits(first.host);
    const { original = "" } = await first.backend.original();
    await first.backend.throttle(percent(50));
    const next = new CpufreqBackend({ files: first.host, clock: hastyClock(), lowest: kilohertz(1_500_000) });
    next.adoptOriginals(original);
    expect((await next.original()).original).toBe(original);
    await next.throttle(percent(100));
    await next.throttle(percent(25));
    expect(maxima(first.host)).toEqual([1_500_000, 3_800_000, 3_800_000, 3_800_000]);
    expect((await next.restore(original)).result).toBe("applied");
    expect(limits(first.host)).toEqual(before);
  });

  it("X-59 remembers an offline throttled policy in a new run without adopted originals", async () => {
    const first = setup(intelPstate);
    const before = limits(first.host);
    const { original = "" } = await first.backend.original();
    await first.backend.throttle(percent(100));
    first.host.set(`${CPUFREQ}/policy2/affected_cpus`, "");
    const next = new CpufreqBackend({ files: first.host, clock: hastyClock(), lowest: kilohertz(1_500_000) });
    for (let round = 0; round < 2; round += 1) {
      expect(await next.restore(original)).toEqual({
        result: "blocked",
        message: "cpufreq policy2 is offline: it stays throttled",
      });
    }
    first.host.set(`${CPUFREQ}/policy2/affected_cpus`, "2");
    expect(await next.restore(original)).toEqual({ result: "applied" });
    expect(limits(first.host)).toEqual(before);
  });

  it("remembers a throttled policy that goes offline during restore", async () => {
    const { host, backend } = setup(intelPstate);
    const { original = "" } = await backend.original();
    await backend.throttle(percent(100));
    host.beforeWrite = (path) => {
      if (path === maxFile(0)) host.set(`${CPUFREQ}/policy2/affected_cpus`, "");
    };
    expect((await backend.restore(original)).message).toMatch(/policy2 is offline/);
    host.beforeWrite = () => {};
    host.set(`${CPUFREQ}/policy2/affected_cpus`, "2");
    expect(await backend.restore(original)).toEqual({ result: "applied" });
    expect(maxima(host)).toEqual([3_800_000, 3_800_000, 3_800_000, 3_800_000]);
  });

  it("ignores a policy with invalid files", async () => {
    const { host, backend } = setup(intelPstate);
    host.on(maxFile(1), { read: () => "<unknown>" });
    expect((await backend.throttle(percent(100))).result).toBe("applied");
    expect(written(host)).toEqual(["policy0 1500000", "policy2 1500000", "policy3 1500000"]);
  });

  it("throttles the other policies if some are not writable, with a short message", async () => {
    const { host, backend } = setup(intelPstate);
    refuseWrites(host, /policy[01]\/scaling_max_freq$/, "EACCES");
    const { result, message } = await backend.throttle(percent(100));
    expect(result).toBe("error");
    expect(message).toMatch(/partly applied: .*policy0: no permission.*and 1 more/);
    expect(maxima(host)).toEqual([3_800_000, 3_800_000, 1_500_000, 1_500_000]);
  });

  it("returns an error if aborted while waiting for the kernel", async () => {
    const { backend } = setup(intelPstate, { lag: 60 });
    const outcome = await backend.throttle(percent(50), AbortSignal.abort(new Error("time is up")));
    expect(outcome).toEqual({ result: "error", message: "cpufreq: time is up" });
  });

  it("reads current frequencies off the event loop, and only on request", async () => {
    const { host, backend } = setup(intelPstate);
    await backend.discover();
    await backend.original();
    await backend.throttle(percent(100));
    expect((await backend.frequencies(false))[0]).toEqual({ cpu: 0, current: undefined, max: 1_500_000 });
    expect([...host.reads.keys()].some((path) => path.endsWith("scaling_cur_freq"))).toBe(false);
    host.on(`${CPUFREQ}/policy2/scaling_cur_freq`, { read: () => "<unknown>" });
    expect(await backend.frequencies(true)).toEqual([
      { cpu: 0, current: 1_900_000, max: 1_500_000 },
      { cpu: 1, current: 1_900_000, max: 1_500_000 },
      { cpu: 2, current: undefined, max: 1_500_000 },
      { cpu: 3, current: 1_900_000, max: 1_500_000 },
    ]);
    expect(await backend.frequencies(true, AbortSignal.abort())).toEqual([]);
  });

  it("X-86 restores the original tree after any sequence of throttles", async () => {
    const shares = fc.array(fc.oneof(fc.double({ min: 0, max: 100 }), fc.double()), { maxLength: 8 });
    const trees = fc.constantFrom(intelPstate, amdPstate, acpiCpufreq, hybrid, armCppc);
    await fc.assert(
      fc.asyncProperty(trees, shares, fc.integer({ min: 1, max: 6_000_000 }), async (tree, asked, lowest) => {
        const { host, backend } = setup(tree, {}, lowest);
        const before = limits(host);
        const { original = "" } = await backend.original();
        for (const share of asked) await backend.throttle(percent(share));
        await backend.restore(original);
        expect(limits(host)).toEqual(before);
      }),
      { numRuns: 100 },
    );
  });
});
