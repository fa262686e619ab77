import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from "pino";
import { prettyFactory } from "pino-pretty";
import { printable } from "./printable.ts";
import { redactLine } from "./redact.ts";

export type { Logger } from "pino";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

export const logFormats = ["json", "pretty"] as const;
export type LogFormat = (typeof logFormats)[number];

export interface LoggerOptions {
  readonly level: LogLevel;
  /** One JSON object per line, or lines for a person at a terminal. */
  readonly format?: LogFormat;
  /** Which program speaks: `operator`, `agent`, … */
  readonly program: string;
  /** The pod it runs in, as namespace/name: tells replicas and shards apart where their lines are read together. */
  readonly pod?: string | undefined;
  /** Where lines go; standard output unless told. */
  readonly destination?: LogDestination;
}

/** Takes whole lines, each with its end. */
export interface LogDestination {
  write(line: string): unknown;
}

/**
 * Every line passes one gate on its way out, after fields, bindings and errors have become text: what is a secret there is
 * hidden whichever way it came in. Writing is synchronous, so the last words before an exit are not lost.
 */
export function createLogger({ level, format = "json", program, pod, destination }: LoggerOptions): Logger {
  const output = destination ?? pino.destination({ fd: 1, sync: true });
  return pino(
    {
      level,
      base: { program, ...(pod !== undefined && { pod }) },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: stdSerializers.errWithCause, error: stdSerializers.errWithCause },
      hooks: { streamWrite: redactLine },
    },
    format === "pretty" ? prettyStream(output, destination === undefined && process.stdout.isTTY) : stream(output),
  );
}

/** pino-pretty as a function and not as pino's transport: that is a worker with a file of its own, which a bundle does not have. */
function prettyStream(output: LogDestination, colorize: boolean): DestinationStream {
  const pretty = prettyFactory({
    colorize,
    translateTime: "SYS:HH:MM:ss.l",
    ignore: "program",
    // pino-pretty keeps line ends in a message; what follows one would look like a line of ours.
    messageFormat: ({ program, msg }) => printable(`${String(program)}: ${typeof msg === "string" ? msg : ""}`),
    singleLine: true,
  });
  return { write: (line) => void output.write(pretty(line)) };
}

const stream = (output: LogDestination): DestinationStream => ({ write: (line) => void output.write(line) });
