import {
  type Condition,
  nodeTwinKind,
  type ProfileControlReport,
  type TelemetryProfile,
  type TwinControlReport,
  telemetryProfileKind,
  validateForWrite,
} from "../../../core/api/index.ts";
import { fnv1a32 } from "../../../core/control/index.ts";
import { elapsed, isoTime, type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { isApiError, type KubeClient, resources } from "../../../platform/kube/index.ts";
import type { ChangeLog } from "../../../platform/log/index.ts";
import type { Routing } from "../routing/routing.ts";
import { type DeviceStatus, isHeartbeatDue, isStatusWorthPublishing, type NodeStatus } from "./node-status.ts";

export interface StatusReporterOptions {
  readonly node: string;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly interval: Milliseconds;
  readonly changes: ChangeLog;
  /** When all twins were last as the operator has decided, by its clock. */
  readonly aliveAt: () => string | undefined;
}

/** One short attempt without retries: the next tick has a newer status. */
const CALL = { timeout: milliseconds(10_000), retries: 0, lean: true, subresource: "status" } as const;
/** No controller waits for a profile's status, so its heartbeat is this many times slower than the twin's. */
const PROFILE_HEARTBEATS = 10;
/** Agents mark a superseded cluster profile at different times within this span, so that only the first one writes. */
const SPREAD = 60_000;

interface WrittenStatus {
  readonly uid: string;
  readonly status: NodeStatus;
}

export interface ReportedTwin {
  readonly uid: string;
  readonly wake?: string | undefined;
  /** If the agent may refresh it: its `lastUpdated`. */
  readonly refreshedAt?: string | undefined;
}

/** Writes a node's status on change and as a heartbeat, with the agent's fields only. Ticks do not wait for it. */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  #twin: WrittenStatus | undefined;
  /** The NodeTwin that was told that the agent is there. */
  #announced: string | undefined;
  #wake: string | undefined;
  #profile: WrittenStatus | undefined;
  readonly #seen = new Map<string, MonotonicInstant>();
  readonly #writing = new Map<string, Promise<void>>();
  /** An admission policy of an older chart refuses it. */
  #mayRefresh = true;

  constructor(options: StatusReporterOptions) {
    this.#options = options;
  }

  /** A node that wakes gets its pods only after a new report, so one is written even if nothing has changed. */
  report(status: NodeStatus, twin: ReportedTwin | undefined, routing: Routing): void {
    const { node, interval } = this.#options;
    const isAwaited = twin?.wake !== undefined && twin.wake !== this.#wake;
    if (twin !== undefined && (isAwaited || twinNeedsWrite(node, this.#twin, twin.uid, status, interval)))
      this.#writeTwin(status, twin);
    const { nodeProfile } = routing;
    const slow = milliseconds(interval * PROFILE_HEARTBEATS);
    const profileUid = nodeProfile?.metadata.uid ?? "";
    if (
      nodeProfile !== undefined &&
      (profileNeedsWrite(this.#profile, profileUid, status, slow) || isSuperseded(nodeProfile))
    )
      this.#writeProfile(status, nodeProfile, profileUid);
    this.#markSuperseded(routing);
  }

  /** Reports that the agent is there and has carried out no target yet, if it has not. Returns whether it has. */
  async announce(uid: string): Promise<boolean> {
    await this.stop();
    if (uid === this.#announced || uid === this.#twin?.uid) return true;
    this.#write("NodeTwin", this.#options.node, async () => {
      await this.#patchTwin({ controlStatus: { observedGeneration: 0, cpu: null, gpu: null } });
      this.#announced = uid;
    });
    await this.stop();
    return uid === this.#announced;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#writing.values());
  }

  #writeTwin(status: NodeStatus, { uid, wake, refreshedAt }: ReportedTwin): void {
    const { node } = this.#options;
    const { generation } = status;
    const cpu = twinReport(status.cpu, status);
    const gpu = status.gpu && twinReport(status.gpu, status);
    const controlStatus = {
      ...(generation !== undefined && { observedGeneration: generation }),
      cpu,
      ...(gpu && { gpu }),
    };
    validateForWrite(nodeTwinKind, { metadata: { name: node }, status: { controlStatus } });
    const lastUpdated = this.#newerThan(refreshedAt);
    this.#write("NodeTwin", node, async () => {
      try {
        await this.#patchTwin({
          ...(lastUpdated !== undefined && { lastUpdated }),
          controlStatus: {
            observedGeneration: generation ?? null,
            cpu: reportPatch(cpu),
            gpu: gpu ? reportPatch(gpu) : null,
          },
        });
      } catch (error) {
        if (lastUpdated !== undefined && isApiError(error, "forbidden")) this.#mayRefresh = false;
        throw error;
      }
      this.#twin = { uid, status };
      this.#wake = wake;
    });
  }

  /** The time to write to `lastUpdated` for the operator, if it is newer. It may be late: the twin was current then. */
  #newerThan(refreshedAt: string | undefined): string | undefined {
    const aliveAt = this.#options.aliveAt();
    if (!this.#mayRefresh || aliveAt === undefined || refreshedAt === undefined) return undefined;
    return Date.parse(aliveAt) > Date.parse(refreshedAt) ? aliveAt : undefined;
  }

  /** A merge patch, because server-side apply would remove `lastUpdated` when a later report leaves it out. */
  async #patchTwin(status: Readonly<Record<string, unknown>>): Promise<void> {
    const { client, node: name } = this.#options;
    await client.mergePatch(resources.nodeTwins, { name }, { status }, CALL);
  }

  #writeProfile(status: NodeStatus, { metadata: { name } }: TelemetryProfile, uid: string): void {
    const control = {
      cpu: profileReport(status.cpu, status),
      ...(status.gpu && { gpu: profileReport(status.gpu, status) }),
    };
    const { metadata: _, ...profile } = validateForWrite(telemetryProfileKind, {
      metadata: { name },
      status: { control },
    });
    this.#write("TelemetryProfile", name, async () => {
      await this.#applyProfile(name, profile);
      this.#profile = { uid, status };
    });
  }

  /** Sets the condition Superseded on ignored profiles. */
  #markSuperseded({ superseded }: Routing): void {
    const { clock, node } = this.#options;
    const now = clock.monotonic();
    const names = new Set(superseded.map(({ profile }) => profile.metadata.name));
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
    for (const { profile, by } of superseded) {
      const { name } = profile.metadata;
      const since = this.#seen.get(name) ?? now;
      this.#seen.set(name, since);
      const wait = profile.spec.target.scope === "cluster" ? fnv1a32(node) % SPREAD : 0;
      if (isSuperseded(profile) || elapsed(since, now) < wait) continue;
      const { metadata: _, ...manifest } = validateForWrite(telemetryProfileKind, {
        metadata: { name },
        status: { conditions: [supersededBy(by, profile)] },
      });
      this.#write("TelemetryProfile", name, async () => this.#applyProfile(name, manifest));
    }
  }

  async #applyProfile(name: string, manifest: object): Promise<void> {
    const { client } = this.#options;
    await client.apply(resources.telemetryProfiles, { name }, { ...manifest }, { ...CALL, force: true });
  }

  /** One write per object at a time; the next tick writes a status that came meanwhile. */
  #write(kind: string, name: string, send: () => Promise<void>): void {
    const key = `${kind} ${name}`;
    if (this.#writing.has(key)) return;
    const write = this.#send(kind, send).finally(() => this.#writing.delete(key));
    this.#writing.set(key, write);
  }

  async #send(kind: string, send: () => Promise<void>): Promise<void> {
    const { changes, node } = this.#options;
    try {
      await send();
      changes.observe(`status of ${kind}`, node, "written");
    } catch (error) {
      // The object was deleted meanwhile; a new one with the same name has another uid.
      if (isApiError(error, "notFound")) return;
      const why = isApiError(error) ? error.kind : String(error);
      changes.observe(`status of ${kind}`, node, `not written: ${why}`);
    }
  }
}

function twinNeedsWrite(
  node: string,
  written: WrittenStatus | undefined,
  uid: string,
  next: NodeStatus,
  interval: Milliseconds,
): boolean {
  if (written?.uid !== uid) return true;
  return isStatusWorthPublishing(written.status, next) || isHeartbeatDue(node, written.status, next, interval);
}

function profileNeedsWrite(
  written: WrittenStatus | undefined,
  uid: string,
  next: NodeStatus,
  heartbeat: Milliseconds,
): boolean {
  if (written?.uid !== uid) return true;
  const { status } = written;
  return isStatusWorthPublishing(withoutPower(status), withoutPower(next)) || next.at - status.at >= heartbeat;
}

const withoutPower = ({ cpu, gpu, at }: NodeStatus): NodeStatus => ({
  cpu: { ...cpu, power: undefined, throttlePct: undefined },
  gpu: gpu && { ...gpu, power: undefined },
  at,
});

const outcome = ({ backend, result, message }: DeviceStatus, { at }: NodeStatus) => ({
  backend,
  result,
  message,
  updatedAt: isoTime(at),
});

const twinReport = (device: DeviceStatus, status: NodeStatus): TwinControlReport => ({
  ...outcome(device, status),
  ...(device.power !== undefined && { observedPowerWatts: device.power }),
});

/** A merge patch keeps what it does not mention: the power of an earlier report. */
const reportPatch = (report: TwinControlReport) => ({ observedPowerWatts: null, ...report });

const profileReport = (device: DeviceStatus, status: NodeStatus): ProfileControlReport => ({
  ...outcome(device, status),
  observed: {
    ...(device.power !== undefined && { powerWatts: device.power }),
    ...(device.cap !== undefined && { capWatts: device.cap }),
    ...(device.throttlePct !== undefined && { throttlePct: device.throttlePct }),
  },
});

const SUPERSEDED = "Superseded";

const isSuperseded = ({ status }: TelemetryProfile): boolean =>
  status?.conditions?.some(({ type, status: holds }) => type === SUPERSEDED && holds === "True") === true;

/** Every agent writes the same value: with different times the agents would overwrite one another for ever. */
const supersededBy = (by: string, { metadata }: TelemetryProfile): Condition => ({
  type: SUPERSEDED,
  status: "True",
  lastTransitionTime: metadata.creationTimestamp ?? new Date(0).toISOString(),
  reason: "OlderProfile",
  message: `ignored: TelemetryProfile ${by} is older and has the same target`,
});
