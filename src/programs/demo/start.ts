import { createWriteStream, type WriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { errorCodeOf, errorMessageOf, JoulieError } from "../../core/api/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { systemClock } from "../../platform/clock/index.ts";
import { createLogger, printableLine } from "../../platform/log/index.ts";
import { untilStopped } from "../../platform/serve/index.ts";
import { processTerminal, screenOf, type Terminal } from "../console/index.ts";
import type { DemoConfig } from "./config.ts";
import { runDemo } from "./run.ts";
import { summaryText } from "./summary.ts";

const LINGERING = milliseconds(300);

export async function start(config: DemoConfig): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "joulie-demo-"));
  const logFile = config.LOG_LEVEL === undefined ? join(folder, "programs.log") : undefined;
  const file = logFile === undefined ? undefined : createWriteStream(logFile, { mode: 0o600 });
  // A full disk loses log lines but does not stop the demo.
  file?.on("error", () => undefined);
  const lines = file ?? process.stderr;
  const log = (program: string) =>
    createLogger({
      level: config.LOG_LEVEL ?? "info",
      format: "json",
      program,
      destination: { write: (line) => lines.write(line) },
    });
  // With --json standard output contains only the result.
  const people = config.JSON ? process.stderr : process.stdout;
  const say = (text: string) => people.write(text);
  const stop = untilStopped(process, log("demo"));
  let keep = false;
  try {
    // Log lines on the terminal would corrupt the live view.
    const draws = people.isTTY && process.env["TERM"] !== "dumb" && logFile !== undefined;
    const terminal = draws ? terminalOn(people) : undefined;
    const screen = screenOf({ isTerminal: people.isTTY, env: process.env });
    const summary = await runDemo(config, { folder, log, logFile, say, terminal, screen }, stop.signal);
    say(`\n${summaryText(summary)}`);
    if (config.JSON) process.stdout.write(`${JSON.stringify(summary)}\n`);
    keep = !summary.ok;
    return keep ? 1 : 0;
  } catch (error) {
    if (error instanceof JoulieError) throw error;
    keep = true;
    const message = errorMessageOf(error);
    process.stderr.write(printableLine(`joulie demo: ${message} (${errorCodeOf(error)})\n`));
    return 1;
  } finally {
    if (file !== undefined) await ended(file);
    if (keep && logFile !== undefined) say(printableLine(`log file: ${logFile}\n`));
    else await rm(folder, { recursive: true, force: true });
    // Released last: a closed pipe while the summary is printed must not end the process here.
    stop.release();
    systemClock.after(LINGERING, () => process.exit(), { background: true });
  }
}

const terminalOn = (output: NodeJS.WriteStream): Terminal => ({
  ...processTerminal,
  size: () => ({ columns: output.columns || 80, rows: output.rows || 24 }),
  write: (text) => output.write(text),
});

const ended = async (file: WriteStream): Promise<void> =>
  new Promise((resolve) => {
    file.once("close", resolve);
    if (file.closed) resolve();
    file.end();
  });
