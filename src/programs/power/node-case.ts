import {
  annotations,
  type PowerEndpoint,
  type PowerEndpointStatus,
  type PowerOperation,
} from "../../core/api/index.ts";
import { type Instant, isoTime, type Milliseconds, milliseconds, type RandomSource } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import type { NodeView, Wanted } from "./cluster-view.ts";
import type { NodeApi } from "./node-api.ts";
import type { PowerReports } from "./power-reports.ts";
import type { PowerSettings } from "./settings.ts";
import type { StepTimes } from "./step-times.ts";
import type { OpenSwitch } from "./switches.ts";

/** What all steps of sleeps and wakes need. */
export interface NodeReconcilerOptions {
  readonly api: NodeApi;
  readonly openSwitch: OpenSwitch;
  readonly settings: PowerSettings;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly reports: PowerReports;
  /** Of this process, not of a term: a clock that is set forward ends the term. */
  readonly stepTimes: StepTimes;
  /** What the watches say. */
  readonly view: (name: string) => NodeView;
  /** Why everything must wake; undefined if it need not. */
  readonly stopped: () => string | undefined;
  /** Whether this replica may switch machines. */
  readonly leads: () => boolean;
}

/** When to look at the node again. */
export type Next = Milliseconds;
export const NOW: Next = milliseconds(0);

type Endpoint = PowerEndpoint & { readonly status: PowerEndpointStatus };

/** A node with a PowerEndpoint, and what is wanted of it. */
export interface NodeCase extends NodeView {
  readonly endpoint: Endpoint;
  readonly wanted: Wanted;
  readonly signal: AbortSignal;
  readonly now: Instant;
  /** Since the current step of the operation began. */
  readonly sinceStep: Milliseconds;
}

export const isTest = ({ metadata }: PowerEndpoint): boolean =>
  metadata.annotations?.[annotations.testPower] !== undefined;

/** Seconds since the operation began. */
export const sinceStart = ({ now }: NodeCase, operation: PowerOperation | undefined): number =>
  Math.max(0, now - Date.parse(operation?.startedAt ?? isoTime(now))) / 1000;
