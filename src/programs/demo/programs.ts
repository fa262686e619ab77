import { join } from "node:path";
import { CodedError, errorCodeOf, errorMessageOf } from "../../core/api/index.ts";
import { type Milliseconds, milliseconds, seconds } from "../../core/units/index.ts";
import {
  type Clock,
  clockWithCalendar,
  endsWithin,
  type ScaledClock,
  systemClock,
} from "../../platform/clock/index.ts";
import { ExtenderClient, Scheduler } from "../../platform/embedded/index.ts";
import { journalFiles } from "../../platform/journal/index.ts";
import { KubeClient, resources, type Transport } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { seededRandom, systemRandom } from "../../platform/random/index.ts";
import { freePorts } from "../../platform/serve/index.ts";
import { HttpClient } from "../../platform/telemetry/index.ts";
import { runAgent } from "../agent/index.ts";
import { PAGES_ANNOTATION, type PagedProgram } from "../console/index.ts";
import { runDashboard } from "../dashboard/index.ts";
import { runExtender } from "../extender/index.ts";
import { lastDayArrivals, type RunningFleet, recordWakeProofs, runFleet } from "../fleet/index.ts";
import { runOperator } from "../operator/index.ts";
import { runPower } from "../power/index.ts";
import type { ProgramWorld } from "../run-in-cluster.ts";
import type { DemoConfig } from "./config.ts";
import { CALLS, clientOf, DEMO_NAMESPACE, type DemoCluster } from "./demo-cluster.ts";
import {
  agentSettings,
  dashboardSettings,
  extenderSettings,
  extenderWeight,
  fleetSettings,
  LOADS,
  operatorSettings,
  type ProgramPorts,
  powerSettings,
  powerTimes,
  schedulerSettings,
  sleeps,
} from "./settings.ts";

export interface DemoProgramsOptions {
  readonly config: DemoConfig;
  readonly cluster: DemoCluster;
  readonly clock: ScaledClock;
  readonly folder: string;
  readonly log: (program: string) => Logger;
}

export interface RunningPrograms {
  readonly simulator: RunningFleet;
  readonly dashboard: string;
  readonly ports: ProgramPorts;
  readonly intervals: { readonly agent: Milliseconds; readonly heartbeat: Milliseconds; readonly stale: Milliseconds };
}

type ProgramName = "simulator" | "power" | "agent" | "operator" | "extender" | "scheduler" | "dashboard";

/** Bindings take real time: at 100 times speed the operator's pause before it lowers caps would be shorter than one. */
const OPERATOR_PAUSE = milliseconds(500);
/** Time of day of the simulated site at the start, in seconds: the load falls, so nodes become empty. */
const EVENING = seconds(18 * 3600);
const READY_TRIES = 600;
const READY_PAUSE = milliseconds(50);

/** Runs all programs of the demo. Each has its own API connection, and they talk to each other over HTTP only. */
export class DemoPrograms {
  readonly #options: DemoProgramsOptions;
  readonly #stop = new AbortController();
  readonly #failed = Promise.withResolvers<never>();
  readonly #running = new Set<Promise<void>>();
  readonly #transports: Transport[] = [];

  constructor(options: DemoProgramsOptions) {
    this.#options = options;
    // Avoids an unhandled rejection when no caller awaits `failed`.
    this.#failed.promise.catch(() => undefined);
  }

  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  /** Starts fleet, agent, operator, extender and dashboard. Jobs stay pending until `startScheduler`. */
  async start(): Promise<RunningPrograms> {
    const { config, clock, folder } = this.#options;
    const [operator = 0, agent = 0, extender = 0, extenderMetrics = 0, power = 0] = await freePorts(5);
    const ports = { operator, agent, extender, extenderMetrics, power };
    const serving = Promise.withResolvers<RunningFleet>();
    await this.#run("simulator", async (world, signal) =>
      runFleet(fleetSettings(config), { ...world, timeOfDay: EVENING, onServing: serving.resolve }, signal),
    );
    const simulator = await Promise.race([serving.promise, this.failed]);
    const settings = {
      agent: agentSettings(config, ports, simulator.url, join(folder, "agent")),
      operator: operatorSettings(config, ports, simulator.url),
      extender: extenderSettings(config, ports),
    };
    await this.#run("agent", async (world, signal) => {
      const openHost = async () => Promise.reject(new Error("a pool agent has no host"));
      const files = journalFiles(settings.agent.STATE_DIR);
      await runAgent(settings.agent, { ...world, openHost, journalFiles: files }, signal);
    });
    if (sleeps(config)) await this.#storeArrivals(simulator);
    await this.#run("operator", async (world, signal) =>
      runOperator(settings.operator, { ...world, clock: clock.patient(OPERATOR_PAUSE) }, signal),
    );
    await this.#run("extender", async (world, signal) => runExtender(settings.extender, world, signal));
    if (sleeps(config)) {
      await this.#run("power", async (world, signal) =>
        runPower(
          powerSettings(ports),
          { ...world, clock: clock.patient(OPERATOR_PAUSE), times: powerTimes(config) },
          signal,
        ),
      );
    }
    const page = Promise.withResolvers<string>();
    await this.#run("dashboard", async (world, signal) => {
      const serveOn = async (port: number) =>
        runDashboard(
          dashboardSettings(ports, port),
          {
            ...world,
            cluster: "demo",
            extender: settings.extender,
            onServing: page.resolve,
          },
          signal,
        );
      try {
        await serveOn(config.DASHBOARD_PORT);
      } catch (error) {
        // A fixed port lets a bookmark work. A second demo uses any other.
        if (errorCodeOf(error) !== "JOULIE_E_LISTEN") throw error;
        await serveOn(0);
      }
    });
    const dashboard = await Promise.race([page.promise, this.failed]);
    await this.#announce({
      operator: `http://127.0.0.1:${operator}`,
      extender: `http://127.0.0.1:${extender}`,
      dashboard,
    });
    return {
      simulator,
      dashboard,
      ports,
      intervals: {
        agent: settings.agent.RECONCILE_INTERVAL,
        heartbeat: settings.operator.TWIN_HEARTBEAT,
        stale: settings.extender.TWIN_STALENESS_THRESHOLD,
      },
    };
  }

  /** Tells the commands of the console where the programs are: they have no pods. */
  async #announce(pages: Readonly<Record<PagedProgram, string>>): Promise<void> {
    const annotations = { [PAGES_ANNOTATION]: JSON.stringify(pages) };
    await (await this.#client()).mergePatch(
      resources.namespaces,
      { name: DEMO_NAMESPACE },
      { metadata: { annotations } },
    );
  }

  async #storeArrivals({ datacenter }: RunningFleet): Promise<void> {
    const { config, clock } = this.#options;
    const fleet = Array.from(datacenter.machines(), ({ spec }) => spec);
    const random = seededRandom(config.SEED + 1);
    const { name, data } = lastDayArrivals({
      fleet,
      load: LOADS.sleep,
      random,
      now: clock.now(),
      timeOfDay: datacenter.timeOfDay,
    });
    await (await this.#client()).create(
      resources.configMaps,
      { metadata: { name }, data },
      { namespace: DEMO_NAMESPACE },
    );
  }

  /** As at a site that has tested its machines: else no node could sleep before the power program has tested it. */
  async proveWakes({ datacenter }: RunningFleet, signal: AbortSignal): Promise<void> {
    const options = { client: await this.#client(), ioClock: systemClock, now: this.#options.clock.now() };
    await recordWakeProofs(datacenter.machines(), options, signal);
  }

  async #client(): Promise<KubeClient> {
    return clientOf(await this.connect());
  }

  /** Waits for the extender first: without it every pod would fail and back off. */
  async startScheduler({ extender }: ProgramPorts, signal: AbortSignal): Promise<void> {
    const { config } = this.#options;
    const urlPrefix = `http://127.0.0.1:${extender}`;
    await ready(`${urlPrefix}/readyz`, signal);
    const verbs = { filterVerb: "filter", prioritizeVerb: "prioritize" };
    const extenderConfig = { urlPrefix, ...verbs, weight: extenderWeight(config), nodeCacheCapable: true };
    await this.#run("scheduler", async ({ transport, ioClock, random, log }, stopped) => {
      const io = { clock: ioClock, random };
      await new Scheduler({
        ...io,
        clusterClock: this.#options.clock.patient(OPERATOR_PAUSE),
        client: new KubeClient({ ...io, transport, fieldManager: "joulie-demo-scheduler", limit: CALLS }),
        log,
        extenders: [new ExtenderClient(extenderConfig)],
        ...schedulerSettings(config),
      }).run(stopped);
    });
  }

  async stop(limit: Milliseconds): Promise<void> {
    this.#stop.abort(new Error("the demo is shutting down"));
    await endsWithin(systemClock, limit, Promise.allSettled(this.#running));
    await Promise.allSettled(this.#transports.map(async (transport) => transport.close()));
  }

  async #run(name: ProgramName, run: (world: DemoWorld, signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    const { clock, log } = this.#options;
    const world = {
      transport: await this.connect(),
      clock,
      // Calls take real time. Time stamps are in simulated time.
      ioClock: clockWithCalendar(systemClock, clock),
      leaderClock: systemClock,
      random: systemRandom,
      log: log(name),
    };
    const running = run(world, signal)
      .then(() => {
        if (!signal.aborted) throw new CodedError("JOULIE_E_DEMO_PROGRAM", "it stopped unexpectedly");
      })
      .catch((cause: unknown) => {
        if (signal.aborted) return;
        const message = errorMessageOf(cause);
        this.#failed.reject(new CodedError(errorCodeOf(cause), `the ${name} failed: ${message}`, { cause }));
      });
    this.#running.add(running);
  }

  async connect(): Promise<Transport> {
    const transport = await this.#options.cluster.connect();
    this.#transports.push(transport);
    return transport;
  }
}

type DemoWorld = ProgramWorld & { readonly leaderClock: Clock };

async function ready(url: string, signal: AbortSignal): Promise<void> {
  const http = new HttpClient({ clock: systemClock, timeout: milliseconds(2000) });
  try {
    for (let attempt = 0; attempt < READY_TRIES; attempt++) {
      const answer = await http.send({ url: new URL(url), signal }).catch(() => undefined);
      if (answer?.status === 200) return;
      await systemClock.sleep(READY_PAUSE, signal);
    }
    throw new CodedError("JOULIE_E_DEMO_PROGRAM", `${url} did not respond in time`);
  } finally {
    await http.close();
  }
}
