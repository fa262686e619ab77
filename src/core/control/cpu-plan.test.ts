import { describe, expect, it } from "vitest";
import { percent, watts } from "../units/index.ts";
import { type CpuPlanInput, controlModes, planCpu } from "./cpu-plan.ts";

const twoPackages = (cap: number, clamped?: string) =>
  ["package-0", "package-1"].map((id) => ({ id, watts: watts(cap), count: 1, ...(clamped && { clamped }) }));
const capOf = (cap: number, clamped?: string) => ({ kind: "watts", caps: twoPackages(cap, clamped) }) as const;
const uncounted = { cap: { kind: "watts", caps: [{ id: "packages", watts: watts(240), count: 0 }] } } as const;
const control = (over: Partial<CpuPlanInput> = {}): CpuPlanInput => ({
  mode: "auto",
  cap: capOf(240),
  raplAvailable: true,
  dvfsAvailable: true,
  powerKnown: true,
  inForce: { raplCaps: new Map(), throttlePct: percent(0) },
  ...over,
});
const throttled = (pct: number, raplCap?: number): Partial<CpuPlanInput> => ({
  inForce: {
    throttlePct: percent(pct),
    raplCaps: new Map(raplCap === undefined ? [] : twoPackages(raplCap).map(({ id, watts: cap }) => [id, cap])),
  },
});
const applied = { result: "applied" } as const;
const refused = { result: "blocked", message: "locked by the BIOS" } as const;
const broken = { result: "error", message: "EIO" } as const;

describe("RAPL first", () => {
  it.each(["auto", "rapl"] as const)("sets the cap per package by RAPL in mode %s", (mode) => {
    expect(planCpu(control({ mode }))).toEqual({
      backend: "rapl",
      actions: [{ kind: "setRaplCap", caps: twoPackages(240) }],
    });
  });

  it("reports applied after the write", () => {
    expect(planCpu(control({ raplWrite: applied }))).toEqual({
      backend: "rapl",
      actions: [],
      report: { result: "applied", message: "240 W per package" },
    });
  });

  it.each(["auto", "rapl"] as const)(
    "X-123 leaves a cap to RAPL that an earlier command may still lower, in mode %s",
    (mode) => {
      const raplWrite = { ...broken, isUnsettled: true } as const;
      expect(planCpu(control({ mode, raplWrite }))).toEqual({
        backend: "rapl",
        actions: [],
        report: { result: "error", message: "240 W per package; a write failed; EIO" },
      });
    },
  );

  it("verifies a cap that should be in force and rewrites it only if it is missing", () => {
    expect(planCpu(control(throttled(0, 240)))).toEqual({
      backend: "rapl",
      actions: [{ kind: "checkRaplCap", caps: twoPackages(240) }],
    });
    expect(planCpu(control({ ...throttled(0, 240), raplWrite: applied }))).toEqual({
      backend: "rapl",
      actions: [],
      report: { result: "applied", message: "240 W per package" },
    });
    const write = [{ kind: "setRaplCap", caps: twoPackages(240) }];
    expect(planCpu(control(throttled(0, 239.875))).actions).toEqual(write);
    expect(planCpu(control(throttled(0, Number.NaN))).actions).toEqual(write);
  });

  it("AGT-20 restores the throttled frequencies only after it has verified the RAPL cap", () => {
    expect(planCpu(control(throttled(30, 240))).actions).toEqual([{ kind: "checkRaplCap", caps: twoPackages(240) }]);
    expect(planCpu(control({ ...throttled(30, 240), raplWrite: applied })).actions).toEqual([
      { kind: "restoreThrottle" },
    ]);
  });

  it("X-88 reports clamping and the message of the write", () => {
    const cap = capOf(400, "5000 W requested, clamped to 400 W: …");
    const raplWrite = { result: "applied", message: "not yet tested by load" } as const;
    expect(planCpu(control({ cap, raplWrite })).report?.message).toBe(
      "400 W per package; 5000 W requested, clamped to 400 W: …; not yet tested by load",
    );
  });
});

describe("DVFS as the fallback for RAPL", () => {
  it("AGT-17 X-35 runs the DVFS loop for all packages if RAPL is unavailable", () => {
    expect(planCpu(control({ raplAvailable: false }))).toEqual({
      backend: "dvfs",
      actions: [{ kind: "regulate", target: 480 }],
      report: { result: "applied", message: "RAPL is not available on this node; DVFS aims at 480 W" },
    });
  });

  it.each([
    [broken, "RAPL failed; EIO; DVFS aims at 480 W"],
    [refused, "RAPL failed; locked by the BIOS; DVFS aims at 480 W"],
  ])("AGT-18 runs the DVFS loop if the RAPL write ended in %j", (raplWrite, message) => {
    expect(planCpu(control({ raplWrite }))).toEqual({
      backend: "dvfs",
      actions: [{ kind: "regulate", target: 480 }],
      report: { result: "applied", message },
    });
  });

  it("AGT-18 keeps the throttle while RAPL keeps failing", () => {
    expect(planCpu(control({ ...throttled(30), raplWrite: broken })).actions).toEqual([
      { kind: "regulate", target: 480 },
    ]);
  });

  it("AGT-18 does not try to lift a RAPL cap right after a RAPL write failed", () => {
    expect(planCpu(control({ ...throttled(30, 240), raplWrite: broken })).actions).toEqual([
      { kind: "regulate", target: 480 },
    ]);
  });

  it("AGT-20 restores the throttle only once the RAPL cap is in force again", () => {
    expect(planCpu(control(throttled(30)))).toEqual({
      backend: "rapl",
      actions: [{ kind: "setRaplCap", caps: twoPackages(240) }],
    });
    expect(planCpu(control({ ...throttled(30), raplWrite: applied }))).toEqual({
      backend: "rapl",
      actions: [{ kind: "restoreThrottle" }],
      report: { result: "applied", message: "240 W per package" },
    });
  });

  it("AGT-20 reports a failed throttle restore and does not retry it in the same tick", () => {
    expect(planCpu(control({ ...throttled(30), raplWrite: applied, throttleWrite: broken }))).toEqual({
      backend: "rapl",
      actions: [],
      report: { result: "error", message: "240 W per package; a write failed; EIO" },
    });
  });

  it("AGT-20 is blocked while a throttle cannot be restored, even if the RAPL cap is in force", () => {
    expect(planCpu(control({ ...throttled(30), raplWrite: applied, dvfsAvailable: false }))).toEqual({
      backend: "rapl",
      actions: [],
      report: {
        result: "blocked",
        message: "240 W per package; our throttle of 30 % cannot be restored: cpufreq is not available on this node",
      },
    });
  });

  it.each([
    [broken, "error", "RAPL failed; EIO; no power reading: the throttle is unchanged"],
    [refused, "blocked", "RAPL failed; locked by the BIOS; no power reading: the throttle is unchanged"],
  ])("AGT-18 X-52 reports the RAPL result if there is no power reading: %j", (raplWrite, result, message) => {
    expect(planCpu(control({ raplWrite, powerKnown: false })).report).toEqual({ result, message });
    const nowhere = planCpu(control({ raplWrite, ...uncounted })).report;
    expect(nowhere?.result).toBe(result);
    expect(nowhere?.message).toContain("the number of CPU packages is unknown");
    const tighter = planCpu(control({ raplWrite, powerKnown: false, ...throttled(0, 1) })).report;
    expect(tighter?.result).toBe(result);
    expect(tighter?.message).toContain("our earlier RAPL cap of 1 W cannot be raised");
  });

  it("AGT-17 is blocked if neither backend is available and an error if RAPL failed", () => {
    expect(planCpu(control({ raplAvailable: false, dvfsAvailable: false }))).toEqual({
      backend: "none",
      actions: [],
      report: {
        result: "blocked",
        message: "RAPL is not available on this node; cpufreq is not available on this node",
      },
    });
    expect(planCpu(control({ dvfsAvailable: false, raplWrite: broken }))).toEqual({
      backend: "none",
      actions: [],
      report: { result: "error", message: "cpufreq is not available on this node; a write failed; EIO" },
    });
    expect(planCpu(control({ dvfsAvailable: false, raplWrite: refused })).report?.result).toBe("blocked");
  });

  it("AGT-18 is blocked while an earlier RAPL cap is lower than the requested cap", () => {
    const tighter = { result: "blocked", message: expect.stringContaining("our earlier RAPL cap of 200 W") };
    expect(planCpu(control({ ...throttled(0, 200), raplAvailable: false }))).toEqual({
      backend: "dvfs",
      actions: [{ kind: "regulate", target: 480 }],
      report: tighter,
    });
    expect(planCpu(control({ ...throttled(0, 200), raplWrite: broken })).report).toEqual(tighter);
    for (const harmless of [240, 300]) {
      expect(planCpu(control({ ...throttled(0, harmless), raplAvailable: false })).report?.result).toBe("applied");
    }
  });

  it("X-52 is not applied without a power reading", () => {
    const { backend, report, actions } = planCpu(control({ raplAvailable: false, powerKnown: false }));
    expect(backend).toBe("dvfs");
    expect(report).toEqual({
      result: "blocked",
      message: "RAPL is not available on this node; no power reading: the throttle is unchanged",
    });
    expect(actions).toEqual([{ kind: "regulate", target: 480 }]);
  });

  it.each([broken, refused])("X-52 is not applied when the throttle write ended in %j", (throttleWrite) => {
    const plan = planCpu(control({ raplAvailable: false, throttleWrite }));
    expect(plan.report?.result).toBe(throttleWrite.result);
    expect(plan.report?.message).toContain(throttleWrite.message);
    expect(plan.actions).toEqual([]);
  });

  it("is applied when the throttle was written", () => {
    expect(planCpu(control({ raplAvailable: false, throttleWrite: applied })).report?.result).toBe("applied");
  });

  it("X-35 is blocked while the number of packages is unknown", () => {
    expect(planCpu(control({ raplAvailable: false, ...uncounted }))).toEqual({
      backend: "dvfs",
      actions: [],
      report: {
        result: "blocked",
        message: "RAPL is not available on this node; the number of CPU packages is unknown",
      },
    });
  });
});

describe("mode rapl", () => {
  it("X-70 is blocked if RAPL is unavailable, even if DVFS is available", () => {
    expect(planCpu(control({ mode: "rapl", raplAvailable: false }))).toEqual({
      backend: "none",
      actions: [],
      report: {
        result: "blocked",
        message: "RAPL is not available on this node; the control mode allows RAPL only",
      },
    });
  });

  it("X-70 reports error if the write failed and blocked if it was refused", () => {
    expect(planCpu(control({ mode: "rapl", raplWrite: broken }))).toEqual({
      backend: "rapl",
      actions: [],
      report: { result: "error", message: "240 W per package; a write failed; EIO" },
    });
    expect(planCpu(control({ mode: "rapl", raplWrite: refused })).report?.result).toBe("blocked");
  });

  it("releases an earlier throttle whether or not RAPL works", () => {
    const restore = [{ kind: "restoreThrottle" }];
    expect(planCpu(control({ mode: "rapl", ...throttled(20), raplAvailable: false })).actions).toEqual(restore);
    expect(planCpu(control({ mode: "rapl", ...throttled(20), raplWrite: broken })).actions).toEqual(restore);
    const cap = { kind: "percent", pctOfMax: percent(60) } as const;
    expect(planCpu(control({ mode: "rapl", ...throttled(20), cap })).actions).toEqual(restore);
  });

  it("X-70 AGT-19 is blocked for a percentage of an unknown maximum", () => {
    expect(planCpu(control({ mode: "rapl", cap: { kind: "percent", pctOfMax: percent(60) } }))).toEqual({
      backend: "none",
      actions: [],
      report: {
        result: "blocked",
        message: "cannot convert 60 % of an unknown maximum to watts; the control mode allows RAPL only",
      },
    });
  });
});

describe("mode dvfs", () => {
  it("uses only DVFS and lifts an earlier RAPL cap", () => {
    expect(planCpu(control({ mode: "dvfs" }))).toEqual({
      backend: "dvfs",
      actions: [{ kind: "regulate", target: 480 }],
      report: { result: "applied", message: "DVFS aims at 480 W" },
    });
    expect(planCpu(control({ mode: "dvfs", ...throttled(0, 240) })).actions).toEqual([
      { kind: "liftRaplCap" },
      { kind: "regulate", target: 480 },
    ]);
  });

  it("is blocked while an earlier RAPL cap cannot be lifted, but still runs the DVFS loop", () => {
    expect(planCpu(control({ mode: "dvfs", ...throttled(0, 240), raplAvailable: false }))).toEqual({
      backend: "dvfs",
      actions: [{ kind: "regulate", target: 480 }],
      report: {
        result: "blocked",
        message: "DVFS aims at 480 W; our RAPL cap of 240 W cannot be lifted: RAPL is not available on this node",
      },
    });
  });

  it("lifts an earlier RAPL cap whether or not DVFS works", () => {
    const lift = [{ kind: "liftRaplCap" }];
    expect(planCpu(control({ mode: "dvfs", ...throttled(0, 240), dvfsAvailable: false })).actions).toEqual(lift);
    expect(planCpu(control({ mode: "dvfs", ...throttled(0, 240), ...uncounted })).actions).toEqual(lift);
  });

  it("reports a RAPL cap that could not be lifted", () => {
    expect(planCpu(control({ mode: "dvfs", ...throttled(0, 240), raplWrite: broken }))).toEqual({
      backend: "dvfs",
      actions: [{ kind: "regulate", target: 480 }],
      report: { result: "error", message: "DVFS aims at 480 W; a write failed; EIO" },
    });
  });

  it("is blocked without cpufreq and still reports clamping", () => {
    const cap = capOf(240, "clamped");
    expect(planCpu(control({ mode: "dvfs", dvfsAvailable: false, cap }))).toEqual({
      backend: "none",
      actions: [],
      report: { result: "blocked", message: "clamped; cpufreq is not available on this node" },
    });
  });
});

describe("the percent path", () => {
  const cap = { kind: "percent", pctOfMax: percent(60) } as const;

  it.each(["auto", "dvfs"] as const)("AGT-19 X-87 throttles by 100 %% minus the cap in mode %s", (mode) => {
    expect(planCpu(control({ mode, cap }))).toEqual({
      backend: "dvfs",
      actions: [{ kind: "setThrottle", throttlePct: 40 }],
      report: {
        result: "applied",
        message: "cannot convert 60 % of an unknown maximum to watts; throttled by 40 %",
      },
    });
  });

  it("X-87 verifies a throttle that should be in force once per tick", () => {
    expect(planCpu(control({ cap, ...throttled(40) })).actions).toEqual([{ kind: "checkThrottle", throttlePct: 40 }]);
    expect(planCpu(control({ cap, ...throttled(40), throttleWrite: { result: "applied" } })).actions).toEqual([]);
    expect(planCpu(control({ cap, throttleWrite: broken }))).toMatchObject({
      actions: [],
      report: { result: "error" },
    });
  });

  it("X-87 lifts an earlier RAPL cap", () => {
    expect(planCpu(control({ cap, ...throttled(20, 300) })).actions).toEqual([
      { kind: "liftRaplCap" },
      { kind: "setThrottle", throttlePct: 40 },
    ]);
  });

  it("X-87 lifts an earlier RAPL cap even if the percentage cannot be enforced, or reports why not", () => {
    const lift = [{ kind: "liftRaplCap" }];
    expect(planCpu(control({ cap, ...throttled(0, 300), mode: "rapl" })).actions).toEqual(lift);
    expect(planCpu(control({ cap, ...throttled(0, 300), dvfsAvailable: false })).actions).toEqual(lift);
    for (const over of [{ mode: "rapl" }, { dvfsAvailable: false }] as const)
      expect(planCpu(control({ cap, ...throttled(0, 300), raplAvailable: false, ...over })).report?.message).toContain(
        "our RAPL cap of 300 W cannot be lifted",
      );
  });

  it("X-87 is blocked while an earlier RAPL cap cannot be lifted", () => {
    expect(planCpu(control({ cap, ...throttled(40, 300), raplAvailable: false }))).toEqual({
      backend: "dvfs",
      actions: [{ kind: "checkThrottle", throttlePct: 40 }],
      report: {
        result: "blocked",
        message:
          "cannot convert 60 % of an unknown maximum to watts; throttled by 40 %; our RAPL cap of 300 W cannot be lifted: RAPL is not available on this node",
      },
    });
  });

  it("X-87 switches to the DVFS loop once a maximum is known", () => {
    expect(planCpu(control({ mode: "dvfs", ...throttled(40) })).actions).toEqual([{ kind: "regulate", target: 480 }]);
  });

  it("AGT-19 is blocked without cpufreq", () => {
    expect(planCpu(control({ cap, dvfsAvailable: false }))).toEqual({
      backend: "none",
      actions: [],
      report: {
        result: "blocked",
        message: "cannot convert 60 % of an unknown maximum to watts; cpufreq is not available on this node",
      },
    });
  });
});

describe("no cap", () => {
  const full = { kind: "uncapped", asked: true } as const;
  const nothing = { kind: "uncapped", asked: false } as const;

  it("X-88 writes no limit at 100 %", () => {
    expect(planCpu(control({ cap: full }))).toEqual({
      backend: "rapl",
      actions: [],
      report: { result: "applied", message: "cap is 100 % of the maximum: no limit is written" },
    });
  });

  it.each([full, nothing])("X-88 lifts every cap and throttle in force for %j", (cap) => {
    expect(planCpu(control({ cap, ...throttled(30, 240) })).actions).toEqual([
      { kind: "liftRaplCap" },
      { kind: "restoreThrottle" },
    ]);
  });

  it.each([full, nothing])("X-88 is blocked and names what cannot be lifted for %j", (cap) => {
    const held = { cap, ...throttled(30, 240) };
    const rapl = "our RAPL cap of 240 W cannot be lifted: RAPL is not available on this node";
    const throttle = "our throttle of 30 % cannot be restored: cpufreq is not available on this node";
    const neither = planCpu(control({ ...held, raplAvailable: false, dvfsAvailable: false }));
    expect(neither.actions).toEqual([]);
    expect(neither.report?.result).toBe("blocked");
    expect(neither.report?.message).toContain(`; ${rapl}; ${throttle}`);

    const noRapl = planCpu(control({ ...held, raplAvailable: false }));
    expect(noRapl.actions).toEqual([{ kind: "restoreThrottle" }]);
    expect(noRapl.report).toMatchObject({ result: "blocked", message: expect.stringContaining(rapl) });

    const noCpufreq = planCpu(control({ ...held, dvfsAvailable: false }));
    expect(noCpufreq.actions).toEqual([{ kind: "liftRaplCap" }]);
    expect(noCpufreq.report).toMatchObject({ result: "blocked", message: expect.stringContaining(throttle) });
  });

  it("X-88 reports applied once every cap and throttle is lifted", () => {
    const lifted = { ...throttled(30, 240), raplWrite: applied, throttleWrite: applied };
    expect(planCpu(control({ cap: full, ...lifted }))).toMatchObject({ actions: [], report: { result: "applied" } });
    expect(planCpu(control({ cap: full, ...lifted, raplAvailable: false, dvfsAvailable: false })).report?.result).toBe(
      "applied",
    );
  });

  it("reports none without a requested cap", () => {
    expect(planCpu(control({ cap: nothing })).report).toEqual({ result: "none", message: "no cap requested" });
  });

  it("X-88 reports a cap that could not be lifted", () => {
    expect(planCpu(control({ cap: full, ...throttled(0, 240), raplWrite: broken }))).toEqual({
      backend: "rapl",
      actions: [],
      report: { result: "error", message: "cap is 100 % of the maximum: no limit is written; a write failed; EIO" },
    });
  });

  it.each([
    ["auto", true, true, "rapl"],
    ["auto", false, true, "dvfs"],
    ["auto", false, false, "none"],
    ["rapl", true, true, "rapl"],
    ["rapl", false, true, "none"],
    ["dvfs", true, true, "dvfs"],
    ["dvfs", true, false, "none"],
  ] as const)("in mode %s, RAPL %s, DVFS %s, names the backend %s", (mode, raplAvailable, dvfsAvailable, backend) => {
    expect(planCpu(control({ mode, raplAvailable, dvfsAvailable, cap: full })).backend).toBe(backend);
  });
});

describe("mode none", () => {
  it("takes no action in mode none", () => {
    const caps = [
      { kind: "uncapped", asked: true },
      { kind: "percent", pctOfMax: percent(60) },
      control().cap,
    ] as const;
    for (const cap of caps) {
      expect(planCpu(control({ mode: "none", cap, ...throttled(30, 240) }))).toEqual({
        backend: "none",
        actions: [],
        report: { result: "none", message: "CPU control is off" },
      });
    }
  });

  it("is one of four modes", () => {
    expect(controlModes).toEqual(["auto", "rapl", "dvfs", "none"]);
  });
});
