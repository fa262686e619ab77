import type { Ansis } from "ansis";
import { milliseconds } from "../../core/units/index.ts";
import { ScaledClock, systemClock, type Timer, withTimeLimit } from "../../platform/clock/index.ts";
import type { Transport } from "../../platform/kube/index.ts";
import { type Logger, printable, printableLine } from "../../platform/log/index.ts";
import { type DemoConfig, firstSpeed } from "./config.ts";
import { type DemoCluster, embeddedCluster, realCluster } from "./demo-cluster.ts";
import { DemoMonitor } from "./demo-monitor.ts";
import { DemoPrograms, type RunningPrograms } from "./demo-programs.ts";
import { GRANT, keepTime } from "./keep-time.ts";
import { plainLine } from "./plain-line.ts";
import { repeatEvery, waitUntil } from "./repeat.ts";
import { Screen, type Terminal } from "./screen.ts";
import { sleeps } from "./settings.ts";
import type { DemoSummary } from "./summary.ts";
import { renderFrame } from "./view.ts";
import { renderExplanation } from "./view-explanation.ts";
import { ViewKeys } from "./view-keys.ts";
import { type DemoPage, pagesOf, welcomeText } from "./welcome-text.ts";

/** Dependencies of the demo on the process and the terminal. */
export interface DemoEnvironment {
  /** Private temporary folder. */
  readonly folder: string;
  readonly log: (program: string) => Logger;
  /** Path of the log file; undefined if log lines go to standard error. */
  readonly logFile: string | undefined;
  /** Prints text for the user. */
  readonly say: (text: string) => void;
  /** Terminal for the live view; undefined = plain lines. */
  readonly terminal: Terminal | undefined;
  readonly color: Ansis;
  /** Reads single keys until the returned function is called; undefined without an interactive terminal. */
  readonly keys: ((onKey: (key: string) => void) => () => void) | undefined;
}

const REDRAW = milliseconds(500);
const PLAIN_LINE = milliseconds(5000);
const LOOK = milliseconds(100);
/** Maximum number of initial jobs still being submitted when scheduling starts. */
const FEW = 10;
/** Time for the operator to plan for the waiting jobs, so that most are placed on the first attempt. */
const PLANNING = milliseconds(1000);
/** Time for the scheduler to place the initial jobs. */
const SETTLING = milliseconds(2000);
/** Shutdown limit for the embedded cluster, where nothing needs cleanup. */
const FAREWELL = milliseconds(500);
/** Shutdown limit for a real cluster, where simulated nodes and pods are deleted. */
const CLEANUP = milliseconds(30_000);
const FOR_EVER = milliseconds(Number.POSITIVE_INFINITY);

/** Runs the demo until its duration has passed, a signal arrives or the user presses `q`. */
export async function runDemo(config: DemoConfig, world: DemoEnvironment, stopped: AbortSignal): Promise<DemoSummary> {
  const viewKeys = new ViewKeys();
  const releaseKeys = world.keys?.((key) => viewKeys.press(key));
  try {
    return await runUntil(AbortSignal.any([stopped, viewKeys.quit]), config, world, viewKeys);
  } finally {
    releaseKeys?.();
  }
}

/** The whole demo on one screen: cluster, programs, monitor, shutdown. */
async function runUntil(
  interrupted: AbortSignal,
  config: DemoConfig,
  world: DemoEnvironment,
  viewKeys: ViewKeys,
): Promise<DemoSummary> {
  const { say, log } = world;
  const ended = new AbortController();
  let timer: Timer | undefined;
  const over = AbortSignal.any([interrupted, ended.signal]);
  const plane = await planeOf(config, world, over);
  const clock = new ScaledClock(systemClock, firstSpeed(config));
  const cast = new DemoPrograms({ config, plane, clock, folder: world.folder, log });
  const screen = world.terminal && new Screen(world.terminal);
  let stage: DemoMonitor | undefined;
  try {
    const pulse = await cast.connect();
    const time = keepTime(
      {
        clock,
        ioClock: systemClock,
        call: async (signal) => answered(pulse, signal),
        onGranted: () => plane.setTime?.({ now: clock.now(), speed: clock.speed, granted: GRANT }),
      },
      over,
    );
    const started = await cast.start();
    // From here on, because the start takes longer on a busy machine.
    const began = systemClock.monotonic();
    if (config.DURATION !== undefined) timer = systemClock.after(config.DURATION, () => ended.abort());
    const pages = pagesOf(plane, started.addresses, world.logFile);
    say(welcomeText(config, plane, pages));
    const running = new DemoMonitor({
      ...started,
      config,
      transport: await cast.connect(),
      clock,
      log: log("demo"),
      began,
      sleeps: sleeps(config, plane),
      // The load of a real cluster is unknown from here.
      planeLoad: plane.load ?? (() => 1),
      askedAt: (pod) => cast.lastFilteredAt(pod),
      onNotice: (text) => screen ?? say(printableLine(`${text}\n`)),
    });
    stage = running;
    await Promise.race([
      cast.failed,
      ...(plane.failed === undefined ? [] : [plane.failed]),
      Promise.all([
        time,
        play(running, cast, { ...started, sleeps: sleeps(config, plane) }, over),
        show(running, screen, { ...world, pages }, viewKeys, over),
      ]),
    ]);
    return running.summary(interrupted.aborted);
  } finally {
    timer?.cancel();
    // Stops drawing, so that the view does not overwrite an error message.
    ended.abort();
    screen?.end();
    if (!plane.embedded) say("removing the simulated nodes …\n");
    try {
      await Promise.all([cast.stop(plane.embedded ? FAREWELL : CLEANUP), stage?.close()]);
    } finally {
      await withTimeLimit(systemClock, CLEANUP, async (limit) => plane.close(limit));
    }
  }
}

/** One small call of the API, on the way that the calls of all programs take. */
async function answered(transport: Transport, signal: AbortSignal): Promise<void> {
  const { body } = await transport.request({ method: "GET", path: "/version", signal });
  for await (const _ of body); // A connection is free for others once the body has been read.
}

async function planeOf(
  { KUBECONFIG, KUBE_ALLOW_INSECURE_TOKEN: allowInsecureToken, NODES }: DemoConfig,
  { say, folder }: DemoEnvironment,
  signal: AbortSignal,
): Promise<DemoCluster> {
  say(
    `starting ${NODES} simulated nodes ${KUBECONFIG === undefined ? "in an embedded cluster" : `by ${printable(KUBECONFIG)}`} …\n\n`,
  );
  return KUBECONFIG === undefined ? embeddedCluster(folder) : realCluster(KUBECONFIG, allowInsecureToken, signal);
}

/** Waits for nodes, twins and initial jobs, then starts the scheduler and monitors until the signal aborts. */
async function play(
  stage: DemoMonitor,
  cast: DemoPrograms,
  { simulator, ports, sleeps: maySleep }: RunningPrograms & { readonly sleeps: boolean },
  signal: AbortSignal,
): Promise<void> {
  const steps = async (): Promise<void> => {
    await Promise.race([simulator.registered, systemClock.sleep(FOR_EVER, signal)]);
    await waitUntil(() => stage.observer.twins.fresh === simulator.datacenter.size, LOOK, systemClock, signal);
    if (maySleep) await cast.proveWakes(simulator, signal);
    await waitUntil(() => simulator.jobs.submitted > 0 && simulator.jobs.behind < FEW, LOOK, systemClock, signal);
    await systemClock.sleep(PLANNING, signal);
    await cast.startScheduler(ports, signal);
    await systemClock.sleep(SETTLING, signal);
    await stage.watch(signal);
  };
  try {
    stage.start();
    await Promise.all([stage.keepPace(signal), steps()]);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Draws the live view on a terminal; otherwise prints a line periodically. */
async function show(
  stage: DemoMonitor,
  screen: Screen | undefined,
  { say, color, keys, pages }: DemoEnvironment & { readonly pages: readonly DemoPage[] },
  viewKeys: ViewKeys,
  signal: AbortSignal,
): Promise<void> {
  if (screen === undefined)
    return repeatEvery(PLAIN_LINE, systemClock, signal, () => say(`${plainLine(stage.frame)}\n`));
  const draw = () => {
    const size = { columns: screen.width, rows: screen.height };
    screen.draw(
      viewKeys.explains
        ? renderExplanation(size, color, pages)
        : renderFrame(stage.frame, size, color, keys !== undefined),
    );
  };
  viewKeys.onChange = () => {
    if (!signal.aborted) draw();
  };
  await repeatEvery(REDRAW, systemClock, signal, draw);
}
