import { describe, expect, it } from "vitest";
import { percent, type Watts, watts } from "../units/index.ts";
import { type GpuBoard, type GpuPlanInput, gpuReport, planGpu } from "./gpu-plan.ts";

/** H100 SXM: 200 to 700 W in whole watts. */
const h100 = { min: watts(200), max: watts(700), original: watts(700), step: watts(1) };
const board = (id: string, over: Partial<GpuBoard> = {}): GpuBoard => ({ id, device: h100, ...over });
const control = (over: Partial<GpuPlanInput> = {}): GpuPlanInput => ({
  enabled: true,
  intent: { pctOfMax: percent(60) },
  boards: [board("0"), board("1")],
  ...over,
});
const applied = { result: "applied" } as const;
const refused = { result: "blocked", message: "Insufficient Permissions" } as const;
const broken = { result: "error", message: "GPU is lost" } as const;
const written = (...outcomes: GpuBoard["write"][]) => outcomes.map((write, index) => board(`${index}`, { write }));

const full = { pctOfMax: percent(100) };
const nothing = {};
const noBackend = "no GPU backend on this node: install the NVIDIA driver";

describe("planGpu", () => {
  it("AGT-42 caps every board relative to its own maximum", () => {
    const small = board("1", { device: { max: watts(400) } });
    expect(planGpu(control({ boards: [board("0"), small] }))).toEqual([
      { kind: "setGpuCap", id: "0", watts: 420 },
      { kind: "setGpuCap", id: "1", watts: 240 },
    ]);
    expect(planGpu(control({ intent: { watts: watts(350), pctOfMax: percent(60) } }))).toEqual([
      { kind: "setGpuCap", id: "0", watts: 350 },
      { kind: "setGpuCap", id: "1", watts: 350 },
    ]);
  });

  it("verifies a cap that should be in force and writes a changed cap", () => {
    const boards = [board("0", { inForce: watts(420) }), board("1", { inForce: watts(500) })];
    expect(planGpu(control({ boards }))).toEqual([
      { kind: "checkGpuCap", id: "0", watts: 420 },
      { kind: "setGpuCap", id: "1", watts: 420 },
    ]);
  });

  it.each([full, nothing])("X-88 only lifts the caps in force for %j", (intent) => {
    const boards = [board("0"), board("1", { inForce: watts(420) })];
    expect(planGpu(control({ intent, boards }))).toEqual([{ kind: "liftGpuCap", id: "1" }]);
  });

  it("skips lost boards and boards of unknown maximum and caps the rest", () => {
    const boards = [board("0", { lost: "GPU is lost" }), board("1", { device: {} }), board("2")];
    expect(planGpu(control({ boards }))).toEqual([{ kind: "setGpuCap", id: "2", watts: 420 }]);
  });

  it("does not retry an action within a tick", () => {
    expect(planGpu(control({ boards: [...written(broken), board("1")] }))).toEqual([
      { kind: "setGpuCap", id: "1", watts: 420 },
    ]);
  });

  it("counts a duplicate board once", () => {
    expect(planGpu(control({ boards: [board("0"), board("0")] }))).toHaveLength(1);
  });

  it("AGT-47 takes no action without a backend or with control disabled", () => {
    const boards = [board("0", { inForce: watts(500) })];
    expect(planGpu(control({ noBackend, boards }))).toEqual([]);
    expect(planGpu(control({ enabled: false, boards }))).toEqual([]);
    expect(planGpu(control({ boards: [] }))).toEqual([]);
  });
});

describe("gpuReport", () => {
  it("reports none if control is disabled or no cap is requested", () => {
    const boards = [board("0", { inForce: watts(500) })];
    expect(gpuReport(control({ enabled: false, boards }))).toEqual({ result: "none", message: "GPU control is off" });
    const unasked = { result: "none", message: "no GPU cap requested" };
    expect(gpuReport(control({ intent: nothing }))).toEqual(unasked);
    expect(gpuReport(control({ intent: nothing, noBackend }))).toEqual(unasked);
    expect(gpuReport(control({ intent: nothing, boards: [] }))).toEqual(unasked);
    expect(
      gpuReport(control({ intent: nothing, boards: [board("0", { inForce: watts(9), write: applied })] })),
    ).toEqual(unasked);
  });

  it("reports applied with a single message if the write of every board succeeded", () => {
    expect(gpuReport(control({ boards: written(applied, applied) }))).toEqual({
      result: "applied",
      message: "420 W per GPU",
    });
  });

  it("X-88 reports clamping and the message of the write", () => {
    const write = { result: "applied", message: "not yet tested by load" } as const;
    const report = gpuReport(control({ intent: { watts: watts(5000) }, boards: [board("0", { write })] }));
    expect(report.message).toBe(
      "700 W per GPU; 5000 W requested, clamped to 700 W: the device's maximum; not yet tested by load",
    );
  });

  it.each([
    [
      [applied, refused, applied],
      "blocked",
      "GPU 1 blocked: 420 W per GPU; Insufficient Permissions; GPU 0, 2 applied: 420 W per GPU",
    ],
    [
      [refused, applied, broken],
      "error",
      "GPU 2 error: 420 W per GPU; GPU is lost; GPU 0 blocked: 420 W per GPU; Insufficient Permissions; GPU 1 applied: 420 W per GPU",
    ],
    [[broken, broken], "error", "420 W per GPU; GPU is lost"],
    [[{ result: "blocked" }, applied], "blocked", "GPU 0 blocked: 420 W per GPU; GPU 1 applied: 420 W per GPU"],
  ] as const)("reports the worst result of %j", (outcomes, result, message) => {
    expect(gpuReport(control({ boards: written(...outcomes) }))).toEqual({ result, message });
  });

  it("reports error if a board is lost, whatever the result of the other boards", () => {
    const boards = [board("0", { lost: "GPU is lost" }), board("1", { write: applied })];
    expect(gpuReport(control({ boards }))).toEqual({
      result: "error",
      message: "GPU 0 error: GPU is lost; GPU 1 applied: 420 W per GPU",
    });
    expect(gpuReport(control({ intent: full, boards: [board("0", { lost: "GPU is lost" })] })).result).toBe("error");
  });

  it("does not report applied before the write", () => {
    expect(gpuReport(control({ boards: [board("0")] }))).toEqual({
      result: "error",
      message: "420 W per GPU; not carried out in this tick",
    });
    expect(gpuReport(control({ boards: [board("0", { inForce: watts(420) })] })).result).toBe("error");
  });

  it("reports blocked for a percentage of an unknown maximum, and names the cap that stays in force", () => {
    const device = {};
    expect(gpuReport(control({ boards: [board("0", { device })] }))).toEqual({
      result: "blocked",
      message: "cannot convert 60 % of an unknown maximum to watts",
    });
    expect(gpuReport(control({ boards: [board("0", { device, inForce: watts(420) })] })).message).toBe(
      "cannot convert 60 % of an unknown maximum to watts; our earlier cap of 420 W stays",
    );
  });

  it("AGT-47 reports blocked without a backend and names what to install", () => {
    expect(gpuReport(control({ noBackend }))).toEqual({ result: "blocked", message: noBackend });
    expect(gpuReport(control({ boards: [] }))).toEqual({ result: "blocked", message: "no GPU was found on this node" });
  });

  it.each([full, nothing])("AGT-47 reports blocked while the agent's own cap cannot be lifted for %j", (intent) => {
    const boards = [board("0"), board("1", { inForce: watts(420) })];
    expect(gpuReport(control({ intent, noBackend, boards }))).toEqual({
      result: "blocked",
      message: `${noBackend}; GPU 1 keeps our cap of 420 W`,
    });
    const both = [board("0", { inForce: watts(300) }), ...boards.slice(1)];
    expect(gpuReport(control({ intent, noBackend, boards: both })).message).toBe(
      `${noBackend}; GPU 0 keeps our cap of 300 W; GPU 1 keeps our cap of 420 W`,
    );
  });

  it("X-88 reports applied at 100 % if the agent has set no limit, with or without a backend", () => {
    const lifted = { result: "applied", message: "cap is 100 % of the maximum: no limit is written" };
    expect(gpuReport(control({ intent: full }))).toEqual(lifted);
    expect(gpuReport(control({ intent: full, noBackend }))).toEqual(lifted);
    expect(gpuReport(control({ intent: full, boards: [] }))).toEqual(lifted);
  });

  it("X-88 reports applied at 100 % after the cap was lifted, else the result of the write", () => {
    const held = (write: GpuBoard["write"]) => [board("0", { inForce: watts(420), write })];
    expect(gpuReport(control({ intent: full, boards: held(applied) })).result).toBe("applied");
    expect(gpuReport(control({ intent: full, boards: held(broken) })).result).toBe("error");
    expect(gpuReport(control({ intent: nothing, boards: held(refused) })).result).toBe("blocked");
    expect(gpuReport(control({ intent: nothing, boards: [board("1"), ...held(refused)] })).result).toBe("blocked");
  });

  it.each([0, -1, Number.NaN, Infinity])("requests no cap for %d W", (asked) => {
    const odd = control({ intent: { watts: asked as Watts } });
    expect(planGpu(odd)).toEqual([]);
    expect(gpuReport(odd).result).toBe("none");
  });
});
