import type { DvfsState } from "../../../core/control/index.ts";
import type { ProgramMetrics } from "../../../platform/metrics/index.ts";
import { alarmReasons } from "../devices/device-report.ts";
import type { Frequency } from "../host/host.ts";
import type { NodeTick } from "../loop/node-control.ts";
import { definitions } from "./metrics.ts";

/** The agent's Prometheus metrics. */
export class AgentMetrics {
  readonly #metrics: ProgramMetrics;
  readonly #mode;
  readonly #capWatts;
  readonly #energy;
  readonly #zonePower;
  readonly #packagePower;
  readonly #observed;
  readonly #ema;
  readonly #throttle;
  readonly #above;
  readonly #below;
  readonly #actions;
  readonly #currentFrequency;
  readonly #maximumFrequency;
  readonly #errors;
  readonly #unproven;
  readonly #alarm;
  readonly #skipped;
  readonly #ticks;

  constructor(metrics: ProgramMetrics) {
    const { nodes } = metrics;
    this.#metrics = metrics;
    this.#mode = nodes.states(definitions.mode);
    this.#capWatts = nodes.gauge(definitions.capWatts);
    this.#energy = nodes.gauge(definitions.energy);
    this.#zonePower = nodes.gauge(definitions.zonePower);
    this.#packagePower = nodes.gauge(definitions.packagePower).column();
    this.#observed = nodes.gauge(definitions.observed).column();
    this.#ema = nodes.gauge(definitions.ema).column();
    this.#throttle = nodes.gauge(definitions.throttle).column();
    this.#above = nodes.gauge(definitions.above).column();
    this.#below = nodes.gauge(definitions.below).column();
    this.#actions = nodes.counter(definitions.actions);
    this.#currentFrequency = nodes.gauge(definitions.currentFrequency);
    this.#maximumFrequency = nodes.gauge(definitions.maximumFrequency);
    this.#errors = nodes.counter(definitions.errors);
    this.#unproven = nodes.gauge(definitions.unproven);
    this.#alarm = nodes.gauge(definitions.alarm);
    this.#skipped = metrics.counter(definitions.skipped);
    this.#ticks = metrics.histogram(definitions.ticks);
  }

  recordTick(name: string, { intent, power, cpu, gpu }: NodeTick, dvfs: DvfsState): void {
    const row = this.#metrics.nodes.join(name);
    this.#energy.clear(row);
    this.#zonePower.clear(row);
    for (const { zone, sample, power: zonePower } of power.zones) {
      this.#energy.column({ zone }).set(row, sample.energy * 1e6);
      this.#zonePower.column({ zone }).set(row, zonePower);
    }
    this.#packagePower.set(row, power.zones.length > 0 ? power.cpu.total : undefined);
    this.#capWatts.clear(row);
    if (intent.kind === "enforce" && cpu?.cap !== undefined)
      this.#capWatts.column({ policy: intent.target.policy?.name ?? "" }).set(row, cpu.cap);
    if (cpu === undefined) return;
    this.#mode.set(row, cpu.mode);
    const regulates = cpu.mode === "dvfs" || dvfs.throttlePct > 0;
    this.#observed.set(row, regulates ? power.cpu.total : undefined);
    this.#ema.set(row, regulates ? dvfs.ema : undefined);
    this.#throttle.set(row, dvfs.throttlePct);
    this.#above.set(row, dvfs.above);
    this.#below.set(row, dvfs.below);
    this.#unproven.column({ device: "cpu" }).set(row, numberOf(cpu.unproven));
    this.#unproven.column({ device: "gpu" }).set(row, numberOf(gpu?.unproven));
    for (const reason of alarmReasons) {
      this.#alarm.column({ device: "cpu", reason }).set(row, Number(cpu.alarm?.reason === reason));
      this.#alarm.column({ device: "gpu", reason }).set(row, gpu && Number(gpu.alarm?.reason === reason));
    }
    this.#errors.add(row, Number(cpu.result === "error" || gpu?.result === "error"));
  }

  recordFailedTick(name: string): void {
    this.#errors.add(this.#metrics.nodes.join(name), 1);
  }

  recordThrottleAction(name: string, action: "throttle_up" | "throttle_down"): void {
    this.#actions.add(this.#metrics.nodes.join(name), 1, { action });
  }

  recordFrequencies(name: string, all: readonly Frequency[]): void {
    const row = this.#metrics.nodes.row(name);
    if (row === undefined) return;
    this.#currentFrequency.clear(row);
    this.#maximumFrequency.clear(row);
    for (const { cpu, current, maximum } of all) {
      this.#currentFrequency.column({ cpu }).set(row, current);
      this.#maximumFrequency.column({ cpu }).set(row, maximum);
    }
  }

  recordSkippedTick(reason: "pending" | "silent"): void {
    this.#skipped.inc({ reason });
  }

  recordTickDuration(seconds: number): void {
    this.#ticks.observe(seconds);
  }

  removeNode(name: string): void {
    this.#metrics.nodes.leave(name);
  }
}

const numberOf = (value: boolean | undefined): number | undefined => (value === undefined ? undefined : Number(value));
