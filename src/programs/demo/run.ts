import { milliseconds } from "../../core/units/index.ts";
import {
  clockWithCalendar,
  repeatEvery,
  ScaledClock,
  systemClock,
  type Timer,
  waitUntil,
} from "../../platform/clock/index.ts";
import type { Transport } from "../../platform/kube/index.ts";
import { createLogger, type Logger, printableLine } from "../../platform/log/index.ts";
import { systemRandom } from "../../platform/random/index.ts";
import { runTop, type Screen, type Terminal, WatchedCluster } from "../console/index.ts";
import { type DemoConfig, firstSpeed } from "./config.ts";
import { clientOf, type DemoCluster, embeddedCluster } from "./demo-cluster.ts";
import { GRANT, keepTime } from "./keep-time.ts";
import { DemoMonitor } from "./monitor.ts";
import { DemoPrograms, type RunningPrograms } from "./programs.ts";
import { sleeps } from "./settings.ts";
import { plainLine, statusLine } from "./status-line.ts";
import type { DemoSummary } from "./summary.ts";
import { type DemoPage, explanationOf, pagesOf, welcomeText } from "./welcome-text.ts";

export interface DemoEnvironment {
  readonly folder: string;
  readonly log: (program: string) => Logger;
  readonly logFile: string | undefined;
  readonly say: (text: string) => void;
  readonly terminal: Terminal | undefined;
  readonly screen: Screen;
}

const PLAIN_LINE = milliseconds(5000);
const POLL_INTERVAL = milliseconds(100);
const MAX_JOBS_BEHIND = 10;
const PLANNING = milliseconds(1000);
const SETTLING = milliseconds(2000);
/** Nothing needs cleanup. */
const SHUTDOWN_LIMIT = milliseconds(500);
const FOR_EVER = milliseconds(Infinity);

/** Runs the demo until its duration has passed, a signal arrives or the user presses `q`. */
export async function runDemo(config: DemoConfig, world: DemoEnvironment, stopped: AbortSignal): Promise<DemoSummary> {
  const { say, log, terminal, folder } = world;
  const quit = new AbortController();
  const ended = new AbortController();
  let timer: Timer | undefined;
  const interrupted = AbortSignal.any([stopped, quit.signal]);
  const over = AbortSignal.any([interrupted, ended.signal]);
  say(`starting ${config.NODES} simulated nodes in an embedded cluster …\n\n`);
  const cluster = await embeddedCluster(folder);
  const clock = new ScaledClock(systemClock, firstSpeed(config));
  const programs = new DemoPrograms({ config, cluster, clock, folder, log });
  let monitor: DemoMonitor | undefined;
  let showing: Promise<void> | undefined;
  try {
    const pulse = await programs.connect();
    const time = keepTime(
      {
        clock,
        ioClock: systemClock,
        call: async (signal) => answered(pulse, signal),
        onGranted: () => cluster.setTime({ now: clock.now(), speed: clock.speed, granted: GRANT }),
      },
      over,
    );
    const started = await programs.start();
    // From here on, because the start takes longer on a busy machine.
    const began = systemClock.monotonic();
    if (config.DURATION !== undefined) timer = systemClock.after(config.DURATION, () => ended.abort());
    const pages = pagesOf(cluster, started, world.logFile);
    say(welcomeText(config, pages));
    const running = new DemoMonitor({
      ...started,
      config,
      transport: await programs.connect(),
      clock,
      log: log("demo"),
      began,
      onNotice: (text) => terminal ?? say(printableLine(`${text}\n`)),
    });
    monitor = running;
    showing =
      terminal === undefined
        ? repeatEvery(PLAIN_LINE, systemClock, over, () => say(`${plainLine(running.status)}\n`))
        : showTop(
            running,
            { ...world, terminal, pages, cluster, clock, transport: await programs.connect() },
            over,
          ).then(() => quit.abort());
    await Promise.race([
      programs.failed,
      cluster.failed,
      Promise.all([time, play(running, programs, { ...started, sleeps: sleeps(config) }, over), showing]),
    ]);
    return running.summary(interrupted.aborted && !ended.signal.aborted);
  } finally {
    timer?.cancel();
    ended.abort();
    // The terminal is restored before an error message is printed.
    await showing?.catch(() => undefined);
    try {
      await Promise.all([programs.stop(SHUTDOWN_LIMIT), monitor?.close()]);
    } finally {
      await cluster.close();
    }
  }
}

async function answered(transport: Transport, signal: AbortSignal): Promise<void> {
  const { body } = await transport.request({ method: "GET", path: "/version", signal });
  for await (const _ of body); // A connection is free for others once the body has been read.
}

async function play(
  monitor: DemoMonitor,
  programs: DemoPrograms,
  { simulator, ports, sleeps: maySleep }: RunningPrograms & { readonly sleeps: boolean },
  signal: AbortSignal,
): Promise<void> {
  const steps = async (): Promise<void> => {
    await Promise.race([simulator.registered, systemClock.sleep(FOR_EVER, signal)]);
    await waitUntil(
      () => monitor.observer.twins.fresh === simulator.datacenter.size,
      POLL_INTERVAL,
      systemClock,
      signal,
    );
    if (maySleep) await programs.proveWakes(simulator, signal);
    await waitUntil(
      () => simulator.jobs.submitted > 0 && simulator.jobs.behind < MAX_JOBS_BEHIND,
      POLL_INTERVAL,
      systemClock,
      signal,
    );
    await systemClock.sleep(PLANNING, signal);
    await programs.startScheduler(ports, signal);
    await systemClock.sleep(SETTLING, signal);
    await monitor.watch(signal);
  };
  try {
    monitor.start();
    await Promise.all([monitor.keepPace(signal), steps()]);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

interface ShownDemo {
  readonly terminal: Terminal;
  readonly screen: Screen;
  readonly pages: readonly DemoPage[];
  readonly cluster: DemoCluster;
  readonly clock: ScaledClock;
  readonly transport: Transport;
}

/** Runs `joulie top` on the demo's cluster, with a line of what only the demo knows, until the user quits it. */
async function showTop(
  monitor: DemoMonitor,
  { terminal, screen, pages, cluster, clock: time, transport }: ShownDemo,
  signal: AbortSignal,
): Promise<void> {
  const clock = clockWithCalendar(systemClock, time);
  const client = clientOf(transport);
  // What fails is shown.
  const log = createLogger({ level: "silent", program: "demo" });
  const watched = new WatchedCluster({ client, clock, random: systemRandom, log });
  const target = { kubeconfig: cluster.kubeconfig };
  const addition = { line: () => statusLine(monitor.status), help: explanationOf(pages) };
  watched.start();
  try {
    await runTop({ clock, screen, target }, async (stop) => watched.read(stop), terminal, {}, signal, addition);
  } finally {
    await watched.stop();
  }
}
