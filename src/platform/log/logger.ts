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
    messageFormat: ({ program, msg }) => `${String(program)}: ${typeof msg === "string" ? msg : ""}`,
    singleLine: true,
  });
  // pino-pretty itself writes colours and line ends: what is made harmless has to be so before it comes there.
  return { write: (line) => void output.write(pretty(printableFields(JSON.parse(line)))) };
}

/** Every text in a line, and every name of a field, as a terminal shows it and does not obey it. A stack keeps its lines. */
function printableFields(value: unknown, name = ""): unknown {
  if (typeof value === "string") return name === "stack" ? printableStack(value) : printable(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => printableFields(item));
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [printable(key), printableFields(field, key)] as const),
  );
}

/** What follows a line end in an error's message is set in, or it would look like a line of ours. */
const printableStack = (stack: string): string =>
  stack
    .split("\n")
    .map((line, at) => (at === 0 || line.startsWith(" ") ? printable(line) : `    ${printable(line)}`))
    .join("\n");

const stream = (output: LogDestination): DestinationStream => ({ write: (line) => void output.write(line) });
