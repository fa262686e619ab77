import { describe, expect, it } from "vitest";
import { hardwareView } from "../../../core/inventory/index.ts";
import { milliseconds, percent, watts } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { Journal, type JournalFiles } from "../../../platform/journal/index.ts";
import { HttpClient } from "../../../platform/telemetry/index.ts";
import { NodeControl } from "../loop/node-control.ts";
import type { Intent } from "../loop/target.ts";
import type { Route } from "../routing/routing.ts";
import type { AgentSettings } from "../settings.ts";
import { PrometheusClients } from "../telemetry/node-power.ts";
import { FakeMachine } from "../testing/fake-machine.ts";

const settings: AgentSettings = {
  interval: milliseconds(20_000),
  dvfs: {
    alpha: 1,
    highMargin: watts(10),
    lowMargin: watts(15),
    step: percent(10),
    cooldown: milliseconds(0),
    tripCount: 1,
  },
  routing: {} as AgentSettings["routing"],
  lease: { lease: milliseconds(0), action: "restore" },
  simulateOnly: false,
  restoreOnExit: true,
};
const route: Route = {
  cpuSource: { type: "host" },
  gpuSource: { type: "host" },
  cpuControl: { type: "host", mode: "auto" },
  gpuControl: { type: "host", mode: "auto" },
};
const enforce = (cpu: number, gpu: number): Intent => ({
  kind: "enforce",
  from: "NodeTwin",
  target: {
    nodeName: "a",
    profile: "eco",
    cpu: { packagePowerCapWatts: watts(cpu) },
    gpu: { powerCap: { capWattsPerGpu: watts(gpu) } },
  },
});
const share = (pct: number): Intent => ({
  kind: "enforce",
  from: "NodeTwin",
  target: { nodeName: "a", profile: "eco", cpu: { packagePowerCapPctOfMax: percent(pct) } },
});
const release: Intent = { kind: "release", why: "no target is published", managed: true };

/** One machine and its disk; they outlive every agent. */
class World {
  readonly clock = new VirtualClock();
  readonly machine = new FakeMachine(this.clock);
  readonly disk = new Map<string, string>();
  /** All writes in order. */
  readonly done: string[] = [];
  /** Number of writes before the kill; the last one is complete or torn. */
  left = Infinity;

  constructor() {
    this.machine.gpu.absent = undefined;
    this.machine.gpu.add("GPU-0", { min: watts(100), max: watts(700) });
    this.machine.rapl.limits.set("package-1", 333);
    for (const device of [this.machine.rapl, this.machine.gpu, this.machine.throttle])
      device.beforeWrite = (what) => this.#write(what);
  }

  get limits() {
    return [
      ...this.machine.rapl.limits.values(),
      ...this.machine.gpu.limits.values(),
      this.machine.throttle.throttlePct,
    ];
  }

  async agent(): Promise<NodeControl> {
    const { clock, machine } = this;
    const journal = await Journal.open({ files: this.#files(), clock, onProblem: () => undefined });
    const http = new HttpClient({ clock, timeout: milliseconds(1000) });
    const prometheus = new PrometheusClients({ clock });
    return new NodeControl({ node: "a", host: machine, journal, http, prometheus, clock, settings });
  }

  async tick(control: NodeControl, intent: Intent): Promise<void> {
    const view = hardwareView({ metadata: { name: "a" } }, await this.machine.discover());
    await control.tick({ intent, route, view }, new AbortController().signal);
    await this.clock.advanceAsync(milliseconds(20_000));
  }

  /** Caps, changes the cap, loses RAPL and throttles, gets RAPL back, and restores everything. */
  async life(): Promise<void> {
    const control = await this.agent();
    await this.tick(control, enforce(200, 400));
    await this.tick(control, enforce(150, 300));
    this.machine.rapl.absent = "gone for a while";
    this.machine.draw(700);
    await this.tick(control, enforce(150, 300));
    await this.tick(control, enforce(150, 300));
    this.machine.rapl.absent = undefined;
    await this.tick(control, enforce(150, 300));
    await this.tick(control, release);
    await this.tick(control, release);
  }

  /** The same on a machine without RAPL and with an unknown maximum. */
  async percentLife(): Promise<void> {
    this.machine.rapl.absent = "no RAPL";
    const control = await this.agent();
    await this.tick(control, share(60));
    await this.tick(control, share(70));
    await this.tick(control, share(100));
    await this.tick(control, share(60));
    await this.tick(control, release);
    await this.tick(control, release);
  }

  #write(what: string): void {
    if (this.left <= 0) throw new Error("killed");
    this.left--;
    this.done.push(what);
  }

  #files(): JournalFiles {
    return {
      directory: "/state",
      read: async (name) => this.disk.get(name),
      write: async (name, text) => {
        // Killed within a write: half of it is on the disk.
        if (this.left <= 0) this.disk.set(name, text.slice(0, text.length / 2));
        this.#write(`write ${name}`);
        this.disk.set(name, text);
      },
      rename: async (from, to) => {
        this.#write(`rename ${from} ${to}`);
        const text = this.disk.get(from);
        if (text === undefined) return;
        this.disk.delete(from);
        this.disk.set(to, text);
      },
      settle: async () => this.#write("settle"),
    };
  }
}

const ORIGINALS = [350, 333, 700, 0];

/** Runs an agent that is killed at the given write; afterwards writes work again. */
async function killedAfter(writes: number, life: "life" | "percentLife" = "life"): Promise<World> {
  const world = new World();
  world.left = writes;
  await world[life]().catch(() => undefined);
  world.left = Infinity;
  if (life === "life") world.machine.rapl.absent = undefined;
  return world;
}

describe("an agent that is killed at every single write", () => {
  it("X-59 leaves a state from which the next agent without a target restores every original", async () => {
    const whole = new World();
    await whole.life();
    expect(whole.limits).toEqual(ORIGINALS);
    expect(whole.done.filter((what) => /^(?:cap|throttle|restore) /.test(what)).length).toBe(11);
    for (let writes = 0; writes <= whole.done.length; writes++) {
      const world = await killedAfter(writes);
      const next = await world.agent();
      await world.tick(next, release);
      await world.tick(next, release);
      expect(world.limits, `killed after ${writes} of ${whole.done.length} writes: ${world.done[writes - 1]}`).toEqual(
        ORIGINALS,
      );
      expect(next.hasLimitsInForce).toBe(false);
    }
  });

  it("X-59 leaves a state from which the next agent enforces the target and keeps the originals", async () => {
    const whole = new World();
    await whole.life();
    for (let writes = 0; writes <= whole.done.length; writes++) {
      const world = await killedAfter(writes);
      const next = await world.agent();
      await world.tick(next, enforce(150, 300));
      await world.tick(next, enforce(150, 300));
      expect(world.limits, `killed after ${writes} writes`).toEqual([150, 150, 300, 0]);
      await world.tick(next, release);
      await world.tick(next, release);
      expect(world.limits, `killed after ${writes} writes`).toEqual(ORIGINALS);
    }
  });

  it("X-59 X-87 leaves a throttle for a percentage of an unknown maximum that the next agent enforces or restores", async () => {
    const whole = new World();
    await whole.percentLife();
    expect(whole.limits).toEqual(ORIGINALS);
    expect(whole.done.filter((what) => /^(?:throttle|restore) /.test(what))).toEqual([
      "throttle 40",
      "throttle 30",
      "restore throttled by 0",
      "throttle 40",
      "restore throttled by 0",
    ]);
    for (let writes = 0; writes <= whole.done.length; writes++) {
      const world = await killedAfter(writes, "percentLife");
      const next = await world.agent();
      await world.tick(next, share(60));
      expect(world.machine.throttle.throttlePct, `killed after ${writes} writes`).toBe(40);
      await world.tick(next, release);
      await world.tick(next, release);
      expect(world.limits, `killed after ${writes} writes`).toEqual(ORIGINALS);
      expect(next.hasLimitsInForce).toBe(false);
    }
  });
});
