import type { Ansis } from "ansis";
import { type Instant, instant, milliseconds } from "../../core/units/index.ts";
import { ScaledClock, systemClock } from "../../platform/clock/index.ts";
import { type Logger, printable, printableLine } from "../../platform/log/index.ts";
import type { DemoConfig } from "./config.ts";
import { type DemoCluster, embeddedCluster, realCluster } from "./demo-cluster.ts";
import { DemoMonitor } from "./demo-monitor.ts";
import { DemoPrograms, type RunningPrograms } from "./demo-programs.ts";
import { repeatEvery, waitUntil, withTimeLimit } from "./repeat.ts";
import { Screen, type Terminal } from "./screen.ts";
import type { DemoSummary } from "./summary.ts";
import { plainLine, renderExplanation, renderFrame } from "./view.ts";
import { ViewKeys } from "./view-keys.ts";
import { welcomeText } from "./welcome-text.ts";

/** What the demo runs in. */
export interface DemoEnvironment {
  /** A folder of its own. */
  readonly folder: string;
  readonly log: (program: string) => Logger;
  /** Where log lines go, if to a file. */
  readonly logFile: string | undefined;
  /** For people. */
  readonly say: (text: string) => void;
  /** Where a live view can be drawn; undefined = plain lines. */
  readonly terminal: Terminal | undefined;
  readonly color: Ansis;
  /** Reads single keys until the returned function is called; undefined where nobody can type. */
  readonly keys: ((onKey: (key: string) => void) => () => void) | undefined;
}

const REDRAW = milliseconds(500);
const PLAIN_LINE = milliseconds(5000);
const LOOK = milliseconds(100);
/** Jobs on their way at a time, once those that are there at the start have come. */
const FEW = 10;
/** The operator has planned for the jobs that wait by then: most of them find a place the first time they are tried. */
const PLANNING = milliseconds(1000);
/** Jobs that are there at the start are placed by then. */
const SETTLING = milliseconds(2000);
/** Somebody waits for the prompt; an embedded cluster needs no farewell. */
const FAREWELL = milliseconds(500);
/** Simulated nodes and pods are taken out of a real one. */
const CLEANUP = milliseconds(30_000);
const FOR_EVER = milliseconds(Number.POSITIVE_INFINITY);
const DAY = 86_400_000;
/** In the evening, when jobs become fewer: nodes are let go, and some have to wait for it. */
const TIME_OF_DAY = 18 * 3_600_000;

/** The demo until its time is over, a signal ends it or `q` is pressed. */
export async function runDemo(config: DemoConfig, world: DemoEnvironment, stopped: AbortSignal): Promise<DemoSummary> {
  const viewKeys = new ViewKeys();
  const releaseKeys = world.keys?.((key) => viewKeys.press(key));
  try {
    return await runUntil(AbortSignal.any([stopped, viewKeys.quit]), config, world, viewKeys);
  } finally {
    releaseKeys?.();
  }
}

/** The whole demo on one screen: a cluster, the programs, somebody who watches them, and the way out. */
async function runUntil(
  interrupted: AbortSignal,
  config: DemoConfig,
  world: DemoEnvironment,
  viewKeys: ViewKeys,
): Promise<DemoSummary> {
  const { say, log } = world;
  const began = systemClock.monotonic();
  const ended = new AbortController();
  const timer = config.DURATION && systemClock.after(config.DURATION, () => ended.abort());
  const over = AbortSignal.any([interrupted, ended.signal]);
  const plane = await planeOf(config, world, over);
  const clock = new ScaledClock(systemClock, config.SPEED, startOf(systemClock.now()));
  const cast = new DemoPrograms({ config, plane, clock, folder: world.folder, log });
  const screen = world.terminal && new Screen(world.terminal);
  let stage: DemoMonitor | undefined;
  try {
    const started = await cast.start();
    say(welcomeText(config, plane, started.addresses, world.logFile));
    const running = new DemoMonitor({
      ...started,
      config,
      transport: await cast.connect(),
      clock,
      log: log("demo"),
      began,
      // What keeps a cluster elsewhere busy cannot be seen from here.
      planeLoad: plane.load ?? (() => 1),
      askedAt: (pod) => cast.lastFilteredAt(pod),
      onNotice: (text) => screen ?? say(printableLine(`${text}\n`)),
    });
    stage = running;
    await Promise.race([
      cast.failed,
      ...(plane.failed === undefined ? [] : [plane.failed]),
      Promise.all([play(running, cast, started, over), show(running, screen, world, viewKeys, over)]),
    ]);
    return running.summary(interrupted.aborted);
  } finally {
    if (timer) timer.cancel();
    // Where a program has failed, nothing is drawn over what is said of it.
    ended.abort();
    screen?.end();
    if (!plane.embedded) say("taking the simulated nodes away …\n");
    try {
      await Promise.all([cast.stop(plane.embedded ? FAREWELL : CLEANUP), stage?.close()]);
    } finally {
      await withTimeLimit(CLEANUP, async (limit) => plane.close(limit));
    }
  }
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

/** From empty nodes to a cluster at work, and on until the signal. Jobs wait until every node has its first plan, and the plan knows of them. */
async function play(
  stage: DemoMonitor,
  cast: DemoPrograms,
  { simulator, ports }: RunningPrograms,
  signal: AbortSignal,
): Promise<void> {
  try {
    stage.start();
    await Promise.race([simulator.registered, systemClock.sleep(FOR_EVER, signal)]);
    await waitUntil(() => stage.observer.twins.fresh === simulator.datacenter.size, LOOK, systemClock, signal);
    await waitUntil(() => simulator.jobs.submitted > 0 && simulator.jobs.behind < FEW, LOOK, systemClock, signal);
    await systemClock.sleep(PLANNING, signal);
    await cast.startScheduler(ports, signal);
    await systemClock.sleep(SETTLING, signal);
    await stage.watch(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** A live view where there is a terminal, else a line now and then. */
async function show(
  stage: DemoMonitor,
  screen: Screen | undefined,
  { say, color, keys }: DemoEnvironment,
  viewKeys: ViewKeys,
  signal: AbortSignal,
): Promise<void> {
  if (screen === undefined)
    return repeatEvery(PLAIN_LINE, systemClock, signal, () => say(`${plainLine(stage.frame)}\n`));
  const draw = () =>
    screen.draw(
      viewKeys.explains
        ? renderExplanation(screen.width, color)
        : renderFrame(stage.frame, screen.width, color, keys !== undefined),
    );
  viewKeys.onChange = () => {
    if (!signal.aborted) draw();
  };
  await repeatEvery(REDRAW, systemClock, signal, draw);
}

const startOf = (now: Instant): Instant => instant(Math.floor(now / DAY) * DAY + TIME_OF_DAY);
