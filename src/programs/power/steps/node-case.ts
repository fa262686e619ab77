import {
  annotations,
  type PowerEndpoint,
  type PowerEndpointStatus,
  type PowerOperation,
} from "../../../core/api/index.ts";
import {
  elapsed,
  type Instant,
  isoTime,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  type RandomSource,
} from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { NodeApi } from "../api/node-api.ts";
import type { PowerSettings } from "../config.ts";
import type { OpenSwitch } from "../machine/switches.ts";
import type { PowerReports } from "../report/power-reports.ts";
import type { NodeView, Wanted } from "../watch/cluster-view.ts";

export interface NodeReconcilerOptions {
  readonly api: NodeApi;
  readonly openSwitch: OpenSwitch;
  readonly settings: PowerSettings;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly reports: PowerReports;
  /** Of this process, not of a term: a clock that is set forward ends the term. */
  readonly stepTimes: StepTimes;
  readonly view: (name: string) => NodeView;
  readonly stopped: () => string | undefined;
  readonly leads: () => boolean;
}

export type Next = Milliseconds;
export const NOW: Next = milliseconds(0);

type Endpoint = PowerEndpoint & { readonly status: PowerEndpointStatus };

export interface NodeCase extends NodeView {
  readonly endpoint: Endpoint;
  readonly wanted: Wanted;
  readonly signal: AbortSignal;
  readonly now: Instant;
  readonly sinceStep: Milliseconds;
}

export const isTest = ({ metadata }: PowerEndpoint): boolean =>
  metadata.annotations?.[annotations.testPower] !== undefined;

export const sinceStart = ({ now }: NodeCase, operation: PowerOperation | undefined): number =>
  Math.max(0, now - Date.parse(operation?.startedAt ?? isoTime(now))) / 1000;

interface ObservedStep {
  readonly stepAt: string | undefined;
  readonly age: number;
  readonly at: MonotonicInstant;
}

/**
 * How long the current step of each node has lasted. The API has the wall-clock time of its beginning. It counts once, when this
 * process first sees the step; then the monotonic clock counts. A wall clock that is set must neither cut power early nor keep a
 * node tainted for hours.
 */
export class StepTimes {
  readonly #clock: Clock;
  readonly #steps = new Map<string, ObservedStep>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  forget(name: string): void {
    this.#steps.delete(name);
  }

  /** 0 without an operation, and for a step that begins in the future. */
  since(name: string, operation: PowerOperation | undefined): Milliseconds {
    if (operation === undefined) {
      this.forget(name);
      return milliseconds(0);
    }
    const { stepAt } = operation;
    const at = this.#clock.monotonic();
    let step = this.#steps.get(name);
    if (step === undefined || step.stepAt !== stepAt) {
      const now = this.#clock.now();
      step = { stepAt, age: Math.max(0, now - (Date.parse(stepAt ?? "") || now)), at };
      this.#steps.set(name, step);
    }
    return milliseconds(step.age + elapsed(step.at, at));
  }
}
