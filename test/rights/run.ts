// One run of a program under a role that may lack one right.
import { setTimeout as sleep } from "node:timers/promises";
import type { z } from "zod";
import type { Clock } from "../../src/platform/clock/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { type ConfigSchema, parseConfig } from "../../src/platform/config/index.ts";
import { createLogger, type Logger } from "../../src/platform/log/index.ts";
import { type RandomSource, systemRandom } from "../../src/platform/random/index.ts";
import type { InstallationNames } from "../../src/programs/permissions.ts";
import { reach } from "../contract/reach.ts";
import type { ControlPlane } from "../controlplane/harness.ts";
import type { ClusterIdentity } from "../controlplane/identities.ts";
import type { AuditedRequest } from "../controlplane/requests.ts";

/** An outcome of the scenario did not come in time. */
export class OutcomeMissing extends Error {
  override readonly name = "OutcomeMissing";
}

/** The dependencies of a program that runs in this process. */
export interface ProgramWorld {
  readonly transport: ReturnType<typeof reach>;
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
}

export interface StartedProgram {
  readonly logs: readonly string[];
  /** The address in its first log line. */
  readonly url: () => string;
  readonly stop: () => Promise<void>;
}

export interface RunOptions {
  readonly plane: ControlPlane;
  readonly identity: ClusterIdentity;
  readonly names: InstallationNames;
  /** Part of the names of all objects of this run. */
  readonly id: string;
  /** How long each outcome took with the whole role. */
  readonly usual?: ReadonlyMap<string, number>;
}

/** Without a refusal an outcome may take this much longer than usual: then the machine is busy. */
const SLACK_MS = 20_000;
/** After a refusal. */
const SLACK_AFTER_REFUSAL_MS = 3000;
const FIRST_RUN_MS = 90_000;
const POLL_MS = 100;

export class ScenarioRun {
  readonly plane: ControlPlane;
  readonly identity: ClusterIdentity;
  readonly names: InstallationNames;
  readonly id: string;
  /** How long each outcome took, in milliseconds. */
  readonly took = new Map<string, number>();
  readonly #usual: ReadonlyMap<string, number> | undefined;
  readonly #from: number;
  readonly #cleanUp: (() => Promise<unknown>)[] = [];

  constructor({ plane, identity, names, id, usual }: RunOptions) {
    this.plane = plane;
    this.identity = identity;
    this.names = names;
    this.id = id;
    this.#usual = usual;
    this.#from = plane.auditEnd();
  }

  /** Requests that the API server refused to this run's identity. */
  get refused(): readonly string[] {
    const { user } = this.identity;
    const own = this.plane.audited(this.#from).filter((request) => request.user === user && request.code === 403);
    return [...new Set(own.map(({ verb, resource }) => `${verb} ${resource}`))];
  }

  /** How often the program listed each kind. */
  get lists(): ReadonlyMap<string, number> {
    const { user } = this.identity;
    const own = this.plane.audited(this.#from).filter((request) => request.user === user && request.verb === "list");
    return new Map(Array.from(Map.groupBy(own, resourceOf), ([resource, { length }]) => [resource, length]));
  }

  /** Waits for an outcome. A check that throws counts as not yet. */
  async until(outcome: string, holds: () => unknown): Promise<void> {
    const begun = performance.now();
    const usual = this.#usual?.get(outcome);
    for (let checks = 0; ; checks++) {
      if (await isTrue(holds)) break;
      const waited = performance.now() - begun;
      // Reading the audit log is not free.
      const isRefused = usual !== undefined && checks % 5 === 4 && this.refused.length > 0;
      const limit = usual === undefined ? FIRST_RUN_MS : isRefused ? 2 * usual + SLACK_AFTER_REFUSAL_MS : undefined;
      if (waited > (limit ?? 2 * (usual ?? 0) + SLACK_MS)) throw new OutcomeMissing(outcome);
      await sleep(POLL_MS);
    }
    this.took.set(outcome, performance.now() - begun);
  }

  /** Starts a program in this process under the role of the run. */
  start<Config extends ConfigSchema>(
    config: Config,
    variables: Readonly<Record<string, string>>,
    run: (values: z.output<Config>, world: ProgramWorld, signal: AbortSignal) => Promise<unknown>,
    clock: Clock = systemClock,
  ): StartedProgram {
    const flags = { METRICS_ADDR: "127.0.0.1:0", POD_NAMESPACE: this.names.namespace, ...variables };
    const parsed = parseConfig(config, { env: {}, flags, machine: { isTerminal: false, exists: () => false } });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const logs: string[] = [];
    const log = createLogger({ level: "info", program: "joulie", destination: { write: (line) => logs.push(line) } });
    const transport = reach(this.identity.server, this.identity.token, this.identity.ca);
    const ending = new AbortController();
    const world = { transport, clock, ioClock: systemClock, random: systemRandom, log };
    const done = run(parsed.value.values, world, ending.signal).catch((error: unknown) => {
      logs.push(String(error));
    });
    let stopping: Promise<void> | undefined;
    const stop = async () => {
      ending.abort(new Error("the scenario is over"));
      await done;
      await transport.close();
    };
    const program = {
      logs,
      url: () => {
        const url = /"url":"([^"]+)"/.exec(logs.join(""))?.[1];
        if (url === undefined) throw new Error("no address in the log");
        return url;
      },
      stop: async () => (stopping ??= stop()),
    };
    this.finally(program.stop);
    return program;
  }

  /** Runs at the end, last registered first, even if an outcome was missing. */
  finally(work: () => Promise<unknown>): void {
    this.#cleanUp.push(work);
  }

  /** Creates an object that is removed at the end. */
  async create(collection: string, object: ApiObject): Promise<void> {
    await this.plane.api.create(collection, object);
    this.finally(async () =>
      this.plane.api.text("DELETE", `${collection}/${object.metadata.name}?gracePeriodSeconds=0`),
    );
  }

  async createNode(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.plane.createNodes([name], { labels });
    this.finally(async () => this.plane.api.text("DELETE", `/api/v1/nodes/${name}`));
  }

  async setStop(value: "true" | null): Promise<void> {
    const path = `/api/v1/namespaces/${this.names.namespace}`;
    await this.plane.api.mergePatch(path, { metadata: { annotations: { "joulie.io/stop": value } } });
  }

  /** The outcome that a user with the right to read it sees a debug page, through a proxy. */
  async untilDebugPage(program: StartedProgram, path: string): Promise<void> {
    const reader = await this.plane.identity([{ nonResourceURLs: [path.replace(/\?.*/, "")], verbs: ["get"] }], {
      name: `reader-${this.id}`,
      namespace: this.names.namespace,
    });
    const headers = { "x-forwarded-for": "203.0.113.9", authorization: `Bearer ${reader.token}` };
    await this.until("the debug page is shown", async () => {
      const { status } = await fetch(new URL(path, program.url()), { headers });
      return status === 200;
    });
  }

  /** The highest count of an Event about an object, by reason. */
  async events(name: string, namespace = "default"): Promise<ReadonlyMap<string, number>> {
    const { items } = await this.plane.api.get<{ items: EventItem[] }>(
      `/apis/events.k8s.io/v1/namespaces/${namespace}/events?limit=1000`,
    );
    const own = items.filter(({ regarding }) => regarding?.name === name);
    const byReason = Map.groupBy(own, ({ reason }) => reason);
    return new Map(
      Array.from(byReason, ([reason, same]) => [reason, Math.max(...same.map(({ series }) => series?.count ?? 1))]),
    );
  }

  async close(): Promise<void> {
    for (const work of this.#cleanUp.toReversed()) await work().catch(() => undefined);
  }
}

const resourceOf = ({ group, resource }: AuditedRequest): string => (group === "" ? resource : `${group}/${resource}`);

interface ApiObject {
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

interface EventItem {
  readonly reason: string;
  readonly regarding?: { readonly name: string };
  readonly series?: { readonly count: number };
}

async function isTrue(holds: () => unknown): Promise<boolean> {
  try {
    return Boolean(await holds());
  } catch {
    return false;
  }
}
