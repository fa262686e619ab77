import {
  type Condition,
  nodeTwinKind,
  type TelemetryProfile,
  telemetryProfileKind,
  validateForWrite,
} from "../../../core/api/index.ts";
import { fnv1a32 } from "../../../core/control/index.ts";
import { elapsed, type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { isApiError, type KubeClient, resources } from "../../../platform/kube/index.ts";
import type { ChangeLog } from "../../../platform/log/index.ts";
import type { Routing } from "../routing/routing.ts";
import { profileReport, reportPatch, twinReport } from "./control-reports.ts";
import { isHeartbeatDue, isStatusWorthPublishing, type NodeStatus } from "./node-status.ts";

export interface StatusReporterOptions {
  readonly node: string;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly interval: Milliseconds;
  readonly changes: ChangeLog;
  /** The last time, by the operator's clock, at which all twins were as the operator had decided. */
  readonly aliveAt: () => string | undefined;
}

/** One short attempt without retries: the next tick has a newer status. */
const CALL_OPTIONS = { timeout: milliseconds(10_000), retries: 0, lean: true, subresource: "status" } as const;
/** No controller waits for a profile's status, so its heartbeat is this many times slower than the twin's. */
const PROFILE_HEARTBEATS = 10;
/** Agents mark a superseded cluster profile at different times within this span, so that only the first one writes. */
const MARKING_SPREAD_MS = 60_000;

/** The status that the API server accepted last, and the object that has it. */
interface WrittenStatus {
  readonly uid: string;
  readonly status: NodeStatus;
}

export interface ReportedTwin {
  readonly uid: string;
  /** The wake of the node for which the operator awaits a report. */
  readonly wake?: string | undefined;
  /** The twin's `lastUpdated`, if the agent may write a newer one. */
  readonly refreshedAt?: string | undefined;
}

/** Writes a node's status on change and as a heartbeat, with the agent's fields only. Ticks do not wait for it. */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  #twin: WrittenStatus | undefined;
  /** The uid of the NodeTwin to which `announce` wrote. */
  #announcedTwin: string | undefined;
  /** The last wake that was reported. */
  #reportedWake: string | undefined;
  #profile: WrittenStatus | undefined;
  /** When each superseded profile was first seen. */
  readonly #supersededSince = new Map<string, MonotonicInstant>();
  readonly #writing = new Map<string, Promise<void>>();
  /** Whether the agent may write `lastUpdated`. The admission policy of an older chart forbids it. */
  #mayRefresh = true;

  constructor(options: StatusReporterOptions) {
    this.#options = options;
  }

  /** A node that wakes gets its pods only after a new report, so one is written even if nothing has changed. */
  report(status: NodeStatus, twin: ReportedTwin | undefined, routing: Routing): void {
    const { node, interval } = this.#options;
    if (twin !== undefined) {
      const isAwaited = twin.wake !== undefined && twin.wake !== this.#reportedWake;
      if (isAwaited || twinNeedsWrite(node, this.#twin, twin.uid, status, interval)) this.#writeTwin(status, twin);
    }
    const { nodeProfile } = routing;
    if (nodeProfile !== undefined) {
      const uid = nodeProfile.metadata.uid ?? "";
      const heartbeat = milliseconds(interval * PROFILE_HEARTBEATS);
      const needsWrite = profileNeedsWrite(this.#profile, uid, status, heartbeat) || isSuperseded(nodeProfile);
      if (needsWrite) this.#writeProfile(status, nodeProfile, uid);
    }
    this.#markSuperseded(routing);
  }

  /** Reports once per twin that the agent is there and has carried out no target yet. Returns whether the twin has a report. */
  async announce(uid: string): Promise<boolean> {
    await this.stop();
    if (uid === this.#announcedTwin || uid === this.#twin?.uid) return true;
    this.#write("NodeTwin", this.#options.node, async () => {
      await this.#patchTwin({ controlStatus: { observedGeneration: 0, cpu: null, gpu: null } });
      this.#announcedTwin = uid;
    });
    await this.stop();
    return uid === this.#announcedTwin;
  }

  /** Waits until the writes under way have ended. */
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
      this.#reportedWake = wake;
    });
  }

  /** The operator's `aliveAt` if it is newer than the twin's `lastUpdated`: the twin was still right at that time. */
  #newerThan(refreshedAt: string | undefined): string | undefined {
    const aliveAt = this.#options.aliveAt();
    if (!this.#mayRefresh || aliveAt === undefined || refreshedAt === undefined) return undefined;
    return Date.parse(aliveAt) > Date.parse(refreshedAt) ? aliveAt : undefined;
  }

  /** A merge patch, because server-side apply would remove `lastUpdated` when a later report leaves it out. */
  async #patchTwin(status: Readonly<Record<string, unknown>>): Promise<void> {
    const { client, node: name } = this.#options;
    await client.mergePatch(resources.nodeTwins, { name }, { status }, CALL_OPTIONS);
  }

  #writeProfile(status: NodeStatus, { metadata: { name } }: TelemetryProfile, uid: string): void {
    const control = {
      cpu: profileReport(status.cpu, status),
      ...(status.gpu && { gpu: profileReport(status.gpu, status) }),
    };
    const manifest = profileManifest(name, { control });
    this.#write("TelemetryProfile", name, async () => {
      await this.#applyProfile(name, manifest);
      this.#profile = { uid, status };
    });
  }

  /** Sets the condition Superseded on ignored profiles. */
  #markSuperseded({ superseded }: Routing): void {
    const { clock, node } = this.#options;
    const now = clock.monotonic();
    const names = new Set(superseded.map(({ profile }) => profile.metadata.name));
    for (const name of this.#supersededSince.keys()) if (!names.has(name)) this.#supersededSince.delete(name);
    for (const { profile, by } of superseded) {
      const { name } = profile.metadata;
      const since = this.#supersededSince.get(name) ?? now;
      this.#supersededSince.set(name, since);
      const wait = profile.spec.target.scope === "cluster" ? fnv1a32(node) % MARKING_SPREAD_MS : 0;
      if (isSuperseded(profile) || elapsed(since, now) < wait) continue;
      const manifest = profileManifest(name, { conditions: [supersededBy(by, profile)] });
      this.#write("TelemetryProfile", name, async () => this.#applyProfile(name, manifest));
    }
  }

  async #applyProfile(name: string, manifest: object): Promise<void> {
    const { client } = this.#options;
    await client.apply(resources.telemetryProfiles, { name }, { ...manifest }, { ...CALL_OPTIONS, force: true });
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

/** What a server-side apply sends beside the name. */
function profileManifest(name: string, status: TelemetryProfile["status"]): object {
  const { metadata: _, ...manifest } = validateForWrite(telemetryProfileKind, { metadata: { name }, status });
  return manifest;
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
