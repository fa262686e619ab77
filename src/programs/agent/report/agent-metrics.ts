import type { DvfsState } from "../../../core/control/index.ts";
import type { PolicyFrequency } from "../../../platform/hardware/index.ts";
import type { ProgramMetrics } from "../../../platform/metrics/index.ts";
import { alarmReasons } from "../devices/device-report.ts";
import type { NodeTick } from "../loop/node-control.ts";
import { definitions } from "./metrics.ts";

export class AgentMetrics {
  readonly #metrics: ProgramMetrics;
  readonly #series;

  constructor(metrics: ProgramMetrics) {
    const { nodes } = metrics;
    this.#metrics = metrics;
    this.#series = {
      mode: nodes.states(definitions.mode),
      capWatts: nodes.gauge(definitions.capWatts),
      energy: nodes.gauge(definitions.energy),
      zonePower: nodes.gauge(definitions.zonePower),
      packagePower: nodes.gauge(definitions.packagePower).column(),
      observed: nodes.gauge(definitions.observed).column(),
      ema: nodes.gauge(definitions.ema).column(),
      throttle: nodes.gauge(definitions.throttle).column(),
      above: nodes.gauge(definitions.above).column(),
      below: nodes.gauge(definitions.below).column(),
      actions: nodes.counter(definitions.actions),
      currentFrequency: nodes.gauge(definitions.currentFrequency),
      maximumFrequency: nodes.gauge(definitions.maximumFrequency),
      errors: nodes.counter(definitions.errors),
      unproven: nodes.gauge(definitions.unproven),
      alarm: nodes.gauge(definitions.alarm),
      skipped: metrics.counter(definitions.skipped),
      ticks: metrics.histogram(definitions.ticks),
    };
  }

  recordTick(name: string, { intent, power, cpu, gpu }: NodeTick, dvfs: DvfsState): void {
    const row = this.#metrics.nodes.join(name);
    this.#series.energy.clear(row);
    this.#series.zonePower.clear(row);
    for (const { zone, sample, power: zonePower } of power.zones) {
      this.#series.energy.column({ zone }).set(row, sample.energy * 1e6);
      this.#series.zonePower.column({ zone }).set(row, zonePower);
    }
    this.#series.packagePower.set(row, power.zones.length > 0 ? power.cpu.total : undefined);
    this.#series.capWatts.clear(row);
    if (intent.kind === "enforce" && cpu?.cap !== undefined)
      this.#series.capWatts.column({ policy: intent.target.policy?.name ?? "" }).set(row, cpu.cap);
    if (cpu === undefined) return;
    this.#series.mode.set(row, cpu.mode);
    const regulates = cpu.mode === "dvfs" || dvfs.throttlePct > 0;
    this.#series.observed.set(row, regulates ? power.cpu.total : undefined);
    this.#series.ema.set(row, regulates ? dvfs.ema : undefined);
    this.#series.throttle.set(row, dvfs.throttlePct);
    this.#series.above.set(row, dvfs.above);
    this.#series.below.set(row, dvfs.below);
    this.#series.unproven.column({ device: "cpu" }).set(row, numberOf(cpu.unproven));
    this.#series.unproven.column({ device: "gpu" }).set(row, numberOf(gpu?.unproven));
    for (const reason of alarmReasons) {
      this.#series.alarm.column({ device: "cpu", reason }).set(row, Number(cpu.alarm?.reason === reason));
      this.#series.alarm.column({ device: "gpu", reason }).set(row, gpu && Number(gpu.alarm?.reason === reason));
    }
    this.#series.errors.add(row, Number(cpu.result === "error" || gpu?.result === "error"));
  }

  recordFailedTick(name: string): void {
    this.#series.errors.add(this.#metrics.nodes.join(name), 1);
  }

  recordThrottleAction(name: string, action: "throttle_up" | "throttle_down"): void {
    this.#series.actions.add(this.#metrics.nodes.join(name), 1, { action });
  }

  recordFrequencies(name: string, all: readonly PolicyFrequency[]): void {
    const row = this.#metrics.nodes.row(name);
    if (row === undefined) return;
    this.#series.currentFrequency.clear(row);
    this.#series.maximumFrequency.clear(row);
    for (const { cpu, current, max } of all) {
      this.#series.currentFrequency.column({ cpu: String(cpu) }).set(row, current);
      this.#series.maximumFrequency.column({ cpu: String(cpu) }).set(row, max);
    }
  }

  recordSkippedTick(reason: "pending" | "silent"): void {
    this.#series.skipped.inc({ reason });
  }

  recordTickDuration(seconds: number): void {
    this.#series.ticks.observe(seconds);
  }

  removeNode(name: string): void {
    this.#metrics.nodes.leave(name);
  }
}

const numberOf = (value: boolean | undefined): number | undefined => (value === undefined ? undefined : Number(value));
