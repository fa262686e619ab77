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

/** One short try: by the next tick there is something newer to tell. */
const CALL = { timeout: milliseconds(10_000), retries: 0, lean: true, force: true, subresource: "status" } as const;
/** Nobody waits for a profile's figures: it repeats itself far less often than the twin. */
const PROFILE_HEARTBEATS = 10;
/** Agents tell of a cluster's superseded profile one after the other, so that the first of them is enough. */
const SPREAD = 60_000;

/** What was last told where, by the object's uid. */
interface Told {
  readonly uid: string;
  readonly status: NodeStatus;
}

/** Tells the cluster what came of a node's ticks: on change and by heartbeat, own fields only. It never holds up a tick. */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  #twin: Told | undefined;
  #profile: Told | undefined;
  readonly #seen = new Map<string, MonotonicInstant>();
  readonly #writing = new Map<string, Promise<void>>();

  constructor(options: StatusReporterOptions) {
    this.#options = options;
  }

  /** `twinUid` undefined: there is no NodeTwin to tell it in. */
  report(status: NodeStatus, twinUid: string | undefined, routing: Routing): void {
    const { interval } = this.#options;
    if (twinUid !== undefined && isNews(this.#twin, twinUid, status, interval)) this.#tellTwin(status, twinUid);
    const { own } = routing;
    const slow = milliseconds(interval * PROFILE_HEARTBEATS);
    const ownUid = own?.metadata.uid ?? "";
    if (own !== undefined && (isNews(this.#profile, ownUid, status, slow, true) || isSuperseded(own)))
      this.#tellProfile(status, own, ownUid);
    this.#tellSuperseded(routing);
  }

  /** Ends with what is under way. */
  async stop(): Promise<void> {
    await Promise.all(this.#writing.values());
  }

  #tellTwin(status: NodeStatus, uid: string): void {
    const { node } = this.#options;
    const controlStatus = {
      cpu: twinReport(status.cpu, status),
      ...(status.gpu && { gpu: twinReport(status.gpu, status) }),
    };
    const { metadata: _, ...twin } = validateForWrite(nodeTwinKind, {
      metadata: { name: node },
      status: { controlStatus },
    });
    this.#write("NodeTwin", resources.nodeTwins, node, twin, () => (this.#twin = { uid, status }));
  }

  #tellProfile(status: NodeStatus, { metadata: { name } }: TelemetryProfile, uid: string): void {
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

  /** A profile that does not count says so itself. */
  #tellSuperseded({ superseded }: Routing): void {
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
      const { metadata: _, ...told } = validateForWrite(telemetryProfileKind, {
        metadata: { name },
        status: { conditions: [supersededBy(by, profile)] },
      });
      this.#write("TelemetryProfile", resources.telemetryProfiles, name, told, () => undefined);
    }
  }

  /** One write of an object at a time; what came meanwhile is told by the next tick. */
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
      // It went since it was seen: the next one of its name has another uid.
      if (isApiError(error, "notFound")) return;
      const why = isApiError(error) ? error.kind : String(error);
      changes.observe(`status of ${kind}`, node, `not written: ${why}`);
    }
  }
}

function isNews(told: Told | undefined, uid: string, next: NodeStatus, interval: Milliseconds, slow = false): boolean {
  if (told?.uid !== uid) return true;
  const { status } = told;
  if (slow) return isWorthPublishing(withoutPower(status), withoutPower(next)) || next.at - status.at >= interval;
  return isWorthPublishing(status, next) || isHeartbeatDue(status, next, interval);
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

/** The same from every agent: were the time each agent's own, they would overwrite one another for ever. */
const supersededBy = (by: string, { metadata }: TelemetryProfile): Condition => ({
  type: SUPERSEDED,
  status: "True",
  lastTransitionTime: metadata.creationTimestamp ?? new Date(0).toISOString(),
  reason: "OlderProfile",
  message: `TelemetryProfile ${by} is older and for the same; this one does not count`,
});
