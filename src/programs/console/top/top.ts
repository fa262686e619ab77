import process from "node:process";
import { errorMessageOf } from "../../../core/api/index.ts";
import { defaultReportSettings, type NodeSummary, summarizeNodes } from "../../../core/report/index.ts";
import { elapsed, type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { isApiError } from "../../../platform/kube/index.ts";
import type { WatchedObjects } from "../cluster/watched-cluster.ts";
import type { AdvisingContext, ConsoleContext } from "../context.ts";
import { nodeDetailsOf } from "../nodes/node-details.ts";
import { endedBy } from "../output/watch.ts";
import { afterKey, arranged, initialTop, nodesPerScreen, type TopState, topFrame } from "./top-view.ts";

/** What a program that runs `joulie top` shows beside the nodes. */
export interface TopAddition {
  readonly line: () => string;
  readonly help: readonly string[];
}

export interface Terminal {
  readonly size: () => { readonly columns: number; readonly rows: number };
  readonly write: (text: string) => void;
  readonly onKey: (listener: (key: string) => void) => () => void;
}

const INTERVAL = milliseconds(2000);
/** Computing uses at most a tenth of the time, however large the cluster is. Waiting for the API server does not count. */
const PAUSE_PER_COMPUTING = 10;
const REMEMBERED = 60;
const ENTER = "\u001b[?1049h\u001b[?25l";
const LEAVE = "\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/** Between two readings and while the API server hangs, the age of the data goes on. */
const REDRAW = milliseconds(1000);

/** `joulie top`: redraws every second, after each reading and each key until q. API errors are shown, and reading goes on. */
export async function runTop(
  { clock, screen, target }: Pick<ConsoleContext, "clock" | "screen" | "target">,
  read: (signal: AbortSignal) => Promise<WatchedObjects>,
  terminal: Terminal,
  start: Partial<TopState>,
  signal: AbortSignal,
  addition?: TopAddition,
): Promise<void> {
  const ending = new AbortController();
  const stopped = AbortSignal.any([signal, ending.signal]);
  const history = new Map<string, (number | undefined)[]>();
  let state = initialTop(start);
  let nodes: readonly NodeSummary[] = [];
  let objects: WatchedObjects | undefined;
  let unknown: Pick<WatchedObjects, "notListed" | "pending"> = { notListed: [], pending: [] };
  let error: string | undefined;
  let readAt: MonotonicInstant | undefined;
  let crash: { readonly error: unknown } | undefined;

  /** Whatever fails here has to wait until the terminal is restored: a crash would leave it in the alternate screen. */
  const guarded = (work: () => void): void => {
    try {
      work();
    } catch (caught) {
      crash ??= { error: caught };
      ending.abort();
    }
  };
  const draw = (): void => {
    const { columns, rows } = terminal.size();
    const lines = topFrame({
      nodes,
      history,
      state,
      details:
        state.opened && objects && detailsOf(state.opened.node, objects, { screen: { ...screen, columns }, target }),
      screen: { ...screen, columns },
      rows,
      error,
      added: addition?.line(),
      help: addition?.help,
      ...unknown,
      age: readAt === undefined ? undefined : Math.round(elapsed(readAt, clock.monotonic()) / 1000),
    });
    terminal.write(HOME + lines.map((line) => line + CLEAR_LINE).join("\r\n") + CLEAR_BELOW);
  };
  const stopKeys = terminal.onKey((key) =>
    guarded(() => {
      state = afterKey(
        state,
        key,
        arranged(nodes, state).map(({ name }) => name),
        nodesPerScreen(terminal.size().rows),
      );
      if (state.done) ending.abort();
      else draw();
    }),
  );
  terminal.write(ENTER);
  const redrawing = redrawUntil(stopped, clock, () => guarded(draw));
  try {
    while (!stopped.aborted) {
      let began = clock.monotonic();
      try {
        objects = await endedBy(stopped, read(stopped));
        began = clock.monotonic();
        nodes = summarizeNodes(objects, defaultReportSettings);
        unknown = { notListed: objects.notListed, pending: objects.pending };
        remember(history, nodes);
        readAt = clock.monotonic();
        error = undefined;
      } catch (caught) {
        error = readingError(caught);
        began = clock.monotonic();
      }
      if (stopped.aborted) break;
      guarded(draw);
      const pause: Milliseconds = milliseconds(
        Math.max(INTERVAL, elapsed(began, clock.monotonic()) * PAUSE_PER_COMPUTING),
      );
      await clock.sleep(pause, stopped).catch(() => undefined);
    }
  } finally {
    stopKeys();
    ending.abort();
    await redrawing;
    terminal.write(LEAVE);
  }
  if (crash !== undefined) throw crash.error;
}

function detailsOf(node: string, objects: WatchedObjects, context: AdvisingContext): string {
  const isPresent = objects.nodes.some(({ metadata }) => metadata.name === node);
  return isPresent ? nodeDetailsOf(node, objects, undefined, context).text(false) : `${node} has left the cluster.`;
}

/** A refusal is an answer: trying again does not help until the rights change. */
function readingError(caught: unknown): string {
  const message = errorMessageOf(caught);
  if (isApiError(caught, "forbidden") || isApiError(caught, "unauthorized"))
    return `the API refuses: ${message}; see joulie doctor`;
  return `the API does not answer: ${message}; trying again`;
}

async function redrawUntil(stopped: AbortSignal, clock: Clock, draw: () => void): Promise<void> {
  while (!stopped.aborted) {
    draw();
    await clock.sleep(REDRAW, stopped).catch(() => undefined);
  }
}

function remember(history: Map<string, (number | undefined)[]>, nodes: readonly NodeSummary[]): void {
  const present = new Set(nodes.map(({ name }) => name));
  for (const name of history.keys()) if (!present.has(name)) history.delete(name);
  for (const { name, drawn } of nodes) {
    const values = history.get(name);
    if (values === undefined) history.set(name, [drawn]);
    else {
      values.push(drawn);
      if (values.length > REMEMBERED) values.shift();
    }
  }
}

/** The terminal of this process. Pasted keys arrive together and are taken apart. */
export const processTerminal: Terminal = {
  size: () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }),
  write: (text) => process.stdout.write(text),
  onKey: (listener) => {
    const { stdin } = process;
    const onData = (chunk: Buffer) => {
      for (const key of keysIn(chunk.toString("utf8"))) listener(key);
    };
    const isRaw = stdin.isTTY;
    if (isRaw) stdin.setRawMode(true);
    stdin.on("data", onData);
    stdin.resume();
    return () => {
      stdin.off("data", onData);
      if (isRaw) stdin.setRawMode(false);
      stdin.pause();
    };
  },
};

const ESCAPE = String.fromCharCode(27);
const KEY = new RegExp(`${ESCAPE}(?:\\[[0-9;]*[A-Za-z~]|O[A-Z])?|[\\s\\S]`, "g");

/** Escape sequences are one key; everything else is one key per character. */
export const keysIn = (text: string): readonly string[] => text.match(KEY) ?? [];
