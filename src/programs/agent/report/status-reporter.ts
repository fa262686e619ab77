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
import { elapsed, type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { isApiError, type KubeClient, type Resource, resources } from "../../../platform/kube/index.ts";
import type { ChangeLog } from "../../../platform/log/index.ts";
import type { Routing } from "../routing/routing.ts";
import { type DeviceStatus, isHeartbeatDue, isWorthPublishing, type NodeStatus } from "./node-status.ts";

export interface StatusReporterOptions {
  readonly node: string;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly interval: Milliseconds;
  readonly changes: ChangeLog;
}

/** One short attempt without retries: the next tick has a newer status. */
const CALL = { timeout: milliseconds(10_000), retries: 0, lean: true, force: true, subresource: "status" } as const;
/** No controller waits for a profile's status, so its heartbeat is this many times slower than the twin's. */
const PROFILE_HEARTBEATS = 10;
/** Agents mark a superseded cluster profile at different times within this span, so that only the first one writes. */
const SPREAD = 60_000;

/** The status last written to an object. */
interface WrittenStatus {
  readonly uid: string;
  readonly status: NodeStatus;
}

/** The NodeTwin that a status belongs to. */
export interface ReportedTwin {
  readonly uid: string;
  /** While the node wakes: since when. */
  readonly wake?: string | undefined;
}

/** Writes a node's status on change and as a heartbeat, with the agent's fields only. Ticks do not wait for it. */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  #twin: WrittenStatus | undefined;
  /** The wake after which the status was written. */
  #wake: string | undefined;
  #profile: WrittenStatus | undefined;
  readonly #seen = new Map<string, MonotonicInstant>();
  readonly #writing = new Map<string, Promise<void>>();

  constructor(options: StatusReporterOptions) {
    this.#options = options;
  }

  /**
   * `twin` is undefined if the node has no NodeTwin. A node that wakes gets its pods only after a new report, so one is written even
   * if nothing has changed.
   */
  report(status: NodeStatus, twin: ReportedTwin | undefined, routing: Routing): void {
    const { node, interval } = this.#options;
    const { uid, wake } = twin ?? {};
    const isAwaited = wake !== undefined && wake !== this.#wake;
    if (uid !== undefined && (isAwaited || twinNeedsWrite(node, this.#twin, uid, status, interval)))
      this.#writeTwin(status, uid, wake);
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

  /** The first report: an agent is there, and has carried out no target yet. Returns whether it was written. */
  async announce(): Promise<boolean> {
    await this.stop();
    const controlStatus = { observedGeneration: 0 };
    let isWritten = false;
    this.#write("NodeTwin", resources.nodeTwins, this.#options.node, { status: { controlStatus } }, () => {
      isWritten = true;
    });
    await this.stop();
    return isWritten;
  }

  /** Waits for writes in progress. */
  async stop(): Promise<void> {
    await Promise.all(this.#writing.values());
  }

  #writeTwin(status: NodeStatus, uid: string, wake: string | undefined): void {
    const { node } = this.#options;
    const controlStatus = {
      ...(status.generation !== undefined && { observedGeneration: status.generation }),
      cpu: twinReport(status.cpu, status),
      ...(status.gpu && { gpu: twinReport(status.gpu, status) }),
    };
    const { metadata: _, ...twin } = validateForWrite(nodeTwinKind, {
      metadata: { name: node },
      status: { controlStatus },
    });
    this.#write("NodeTwin", resources.nodeTwins, node, twin, () => {
      this.#twin = { uid, status };
      this.#wake = wake;
    });
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
    this.#write(
      "TelemetryProfile",
      resources.telemetryProfiles,
      name,
      profile,
      () => (this.#profile = { uid, status }),
    );
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
      this.#write("TelemetryProfile", resources.telemetryProfiles, name, manifest, () => undefined);
    }
  }

  /** One write per object at a time; the next tick writes a status that came meanwhile. */
  #write(kind: string, resource: Resource, name: string, manifest: object, done: () => void): void {
    const key = `${kind} ${name}`;
    if (this.#writing.has(key)) return;
    const write = this.#apply(kind, resource, name, manifest, done).finally(() => this.#writing.delete(key));
    this.#writing.set(key, write);
  }

  async #apply(kind: string, resource: Resource, name: string, manifest: object, done: () => void): Promise<void> {
    const { client, changes, node } = this.#options;
    try {
      await client.apply(resource, { name }, { ...manifest }, CALL);
      done();
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
  return isWorthPublishing(written.status, next) || isHeartbeatDue(node, written.status, next, interval);
}

function profileNeedsWrite(
  written: WrittenStatus | undefined,
  uid: string,
  next: NodeStatus,
  heartbeat: Milliseconds,
): boolean {
  if (written?.uid !== uid) return true;
  const { status } = written;
  return isWorthPublishing(withoutPower(status), withoutPower(next)) || next.at - status.at >= heartbeat;
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
  updatedAt: new Date(at).toISOString(),
});

const twinReport = (device: DeviceStatus, status: NodeStatus): TwinControlReport => ({
  ...outcome(device, status),
  ...(device.power !== undefined && { observedPowerWatts: device.power }),
});

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
