// The files of a host in memory with an emulated kernel, for tests of the whole agent.
import type { Clock } from "../../../platform/clock/index.ts";
import {
  emulateCpufreq,
  emulateHsmp,
  emulateRapl,
  FakeHost,
  type HostTree,
  procTree,
} from "../../../platform/hardware/testing/index.ts";

export class FixtureHost {
  readonly sys: FakeHost;
  readonly proc: FakeHost;
  /** Power of each package in watts. */
  draw = 100;
  readonly #clock: Clock;

  constructor(clock: Clock, tree: HostTree, cpuinfo: string, kernel: { readonly locked?: boolean } = {}) {
    this.#clock = clock;
    this.sys = new FakeHost(tree);
    this.proc = new FakeHost(procTree(cpuinfo), "/proc");
    emulateRapl(this.sys, kernel);
    emulateHsmp(this.sys);
    emulateCpufreq(this.sys);
    for (const path of this.sys.find(/:[\da-f]+\/energy_uj$/)) this.#emulateEnergy(path);
  }

  /** The maximum of each cpufreq policy, in kHz. */
  get frequencies(): readonly number[] {
    return this.sys.find(/policy\d+\/scaling_max_freq$/).map((path) => Number(this.sys.read(path)));
  }

  /** Limits of the packages in watts, in the order of their zones. */
  get limits(): readonly number[] {
    return this.sys
      .find(/intel-rapl:[\da-f]+\/constraint_0_power_limit_uw$/)
      .filter((path) => this.sys.get(path.replace(/constraint_0.*/, "name")).startsWith("package-"))
      .map((path) => Number(this.sys.get(path)) / 1e6);
  }

  #emulateEnergy(path: string): void {
    let energy = 0;
    let at = this.#clock.monotonic();
    this.sys.on(path, {
      read: () => {
        const now = this.#clock.monotonic();
        energy += this.draw * (now - at) * 1000;
        at = now;
        return String(Math.floor(energy));
      },
    });
  }
}
