import { describe, expect, it } from "vitest";
import { milliseconds, monotonicInstant, percent, type Watts, watts } from "../units/index.ts";
import { type CpuAction, type CpuPlanInput, planCpu, type WriteOutcome } from "./cpu-plan.ts";
import { afterRestore, afterThrottle, type DvfsSettings, type DvfsState, initialDvfsState, stepDvfs } from "./dvfs.ts";

const settings: DvfsSettings = {
  alpha: 0.3,
  highMargin: watts(10),
  lowMargin: watts(15),
  step: percent(10),
  cooldown: milliseconds(20_000),
  tripCount: 2,
};

/** A node on which all writes succeed, driven like the agent: plan and act until no action is left. */
class Machine {
  dvfs: DvfsState = initialDvfsState;
  raplCap: Watts | undefined;
  /** The actual limit of the RAPL zone; another writer may change it. */
  zone: Watts | undefined;
  now = 0;

  tick(over: Partial<CpuPlanInput>, observed = 600): { readonly done: readonly string[]; readonly result?: string } {
    this.now += 20_000;
    const done: string[] = [];
    let writes: { raplWrite?: WriteOutcome; throttleWrite?: WriteOutcome } = {};
    for (let pass = 0; pass < 5; pass++) {
      const { actions, report } = planCpu({
        mode: "auto",
        cap: { kind: "watts", caps: [{ id: "packages", watts: watts(240), count: 2 }] },
        raplAvailable: true,
        dvfsAvailable: true,
        powerKnown: true,
        inForce: {
          raplCaps: new Map(this.raplCap === undefined ? [] : [["packages", this.raplCap]]),
          throttlePct: this.dvfs.throttlePct,
        },
        ...over,
        ...writes,
      });
      for (const action of actions) writes = { ...writes, ...this.#act(action, observed, done) };
      if (report !== undefined) return { done, result: report.result };
    }
    throw new Error("planned five times and came to no report");
  }

  #act(
    action: CpuAction,
    observed: number,
    done: string[],
  ): { raplWrite?: WriteOutcome; throttleWrite?: WriteOutcome } {
    const applied = { result: "applied" } as const;
    const now = monotonicInstant(this.now);
    if (action.kind !== "regulate") done.push(action.kind);
    switch (action.kind) {
      case "checkRaplCap":
        this.raplCap = this.zone;
        return this.zone === action.caps[0]?.watts ? { raplWrite: applied } : {};
      case "setRaplCap":
        this.zone = this.raplCap = action.caps[0]?.watts;
        return { raplWrite: applied };
      case "liftRaplCap":
        this.zone = this.raplCap = undefined;
        return { raplWrite: applied };
      case "restoreThrottle":
        this.dvfs = afterRestore(this.dvfs);
        return { throttleWrite: applied };
      case "checkThrottle":
        return { throttleWrite: applied };
      case "setThrottle":
        this.dvfs = afterThrottle(action.throttlePct, now);
        return { throttleWrite: applied };
      case "regulate": {
        const { state, action: step } = stepDvfs(this.dvfs, watts(observed), action.target, now, settings);
        if (step !== undefined) done.push(`${step.kind} ${step.throttlePct}`);
        this.dvfs = state;
        return {};
      }
      default:
        throw new Error(`no such action: ${JSON.stringify(action satisfies never)}`);
    }
  }
}

const noRapl = { raplAvailable: false };

describe("a node that changes backends", () => {
  it("AGT-17 AGT-20 falls back to DVFS, returns to RAPL, and falls back again with a reset DVFS state", () => {
    const machine = new Machine();
    expect(machine.tick(noRapl).done).toEqual([]);
    expect(machine.tick(noRapl).done).toEqual(["throttle_up 10"]);
    expect(machine.tick(noRapl).done).toEqual([]);
    expect(machine.tick({})).toEqual({ done: ["setRaplCap", "restoreThrottle"], result: "applied" });
    expect(machine.dvfs).toMatchObject({ above: 0, below: 0, throttlePct: 0 });
    expect(machine.tick({})).toEqual({ done: ["checkRaplCap"], result: "applied" });
    // The earlier average and count are reset: power is now inside the band.
    expect(machine.tick(noRapl, 480).done).toEqual([]);
    expect(machine.dvfs).toMatchObject({ ema: 480, above: 0 });
  });

  it("X-87 starts the DVFS loop from the throttle of the percent path", () => {
    const machine = new Machine();
    const percentCap = { cap: { kind: "percent", pctOfMax: percent(60) } } as const;
    expect(machine.tick({ ...noRapl, ...percentCap }).done).toEqual(["setThrottle"]);
    expect(machine.tick({ ...noRapl, ...percentCap }).done).toEqual(["checkThrottle"]);
    expect(machine.tick(noRapl).done).toEqual([]);
    expect(machine.tick(noRapl).done).toEqual(["throttle_up 50"]);
  });

  it("writes a cap once, reads it back every tick, and rewrites it only if another writer changed it", () => {
    const machine = new Machine();
    expect(machine.tick({}).done).toEqual(["setRaplCap"]);
    expect(machine.tick({}).done).toEqual(["checkRaplCap"]);
    for (const undone of [watts(350), undefined]) {
      machine.zone = undone;
      expect(machine.tick({})).toEqual({ done: ["checkRaplCap", "setRaplCap"], result: "applied" });
      expect(machine.tick({}).done).toEqual(["checkRaplCap"]);
    }
  });
});
