import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from "pino";
import { prettyFactory } from "pino-pretty";
import { errorCodeOf } from "../../core/api/index.ts";
import { printable } from "../printable/index.ts";
import { redactLine } from "./redact.ts";

export type { Logger } from "pino";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

export const logFormats = ["json", "pretty"] as const;
type LogFormat = (typeof logFormats)[number];

export interface LoggerOptions {
  readonly level: LogLevel;
  /** One JSON object per line, or text for terminals. */
  readonly format?: LogFormat;
  /** The program that logs: `operator`, `agent`, … */
  readonly program: string;
  /** The pod of the program, as namespace/name, to distinguish replicas and shards in merged logs. */
  readonly pod?: string | undefined;
  /** The destination of the lines; standard output by default. */
  readonly destination?: LogDestination;
}

/** Receives whole lines, including the line end. */
export interface LogDestination {
  write(line: string): unknown;
}

/**
 * Every line is redacted as text, after fields, bindings and errors were serialised, so that secrets are hidden whichever way
 * they came in. Writing is synchronous, so that the last lines before an exit are not lost.
 */
export function createLogger({ level, format = "json", program, pod, destination }: LoggerOptions): Logger {
  const output = destination ?? pino.destination({ fd: 1, sync: true });
  return pino(
    {
      level,
      base: { program, ...(pod !== undefined && { pod }) },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error) => errorFields(error), error: (error) => errorFields(error) },
      hooks: {
        streamWrite: redactLine,
        logMethod(args, method, severity) {
          if (severity >= WARN) args[0] = withCode(args[0]);
          Reflect.apply(method, this, args);
        },
      },
    },
    format === "pretty" ? prettyStream(output, destination === undefined && process.stdout.isTTY) : stream(output),
  );
}

/** Causes of causes that a line shows; causes may form a circle. */
const MAX_CAUSES = 5;

/**
 * An error as fields of a line. A failure that Joulie expects, such as a refused connection or a 404, has a code and a message
 * that say what failed. Only unexpected errors, which may be bugs, have a stack.
 */
function errorFields(error: unknown, causes = 0): unknown {
  if (!(error instanceof Error)) return error;
  const fields = stdSerializers.errWithCause(error);
  if (errorCodeOf(error) === "JOULIE_E_INTERNAL") return fields;
  const { stack: _, cause, aggregateErrors, ...expected } = { ...fields };
  if (causes === MAX_CAUSES) return expected;
  return {
    ...expected,
    ...(cause !== undefined && { cause: errorFields(error.cause, causes + 1) }),
    // One for each address of a host.
    ...(error instanceof AggregateError &&
      aggregateErrors !== undefined && {
        aggregateErrors: error.errors.map((one: unknown) => errorFields(one, causes + 1)),
      }),
  };
}

/** The number of the level `warn`. */
const WARN = 40;

/** Adds the code of `err` to a line, so that users can look it up; see docs/reference/errors.md. */
function withCode<Fields>(fields: Fields): Fields {
  if (typeof fields !== "object" || fields === null || "code" in fields || !("err" in fields)) return fields;
  return { code: errorCodeOf(fields.err), ...fields };
}

/** pino-pretty as a function, because pino's transport is a worker with its own file, which a bundle does not have. */
function prettyStream(output: LogDestination, colorize: boolean): DestinationStream {
  const pretty = prettyFactory({
    colorize,
    translateTime: "SYS:HH:MM:ss.l",
    ignore: "program",
    messageFormat: ({ program, msg }) => `${String(program)}: ${typeof msg === "string" ? msg : ""}`,
    singleLine: true,
  });
  // pino-pretty adds colours and line ends, so control characters must be escaped before.
  return { write: (line) => void output.write(pretty(printableFields(JSON.parse(line)))) };
}

/** Escapes control characters in every text and field name of a line. A stack keeps its lines. */
function printableFields(value: unknown, name = ""): unknown {
  if (typeof value === "string") return name === "stack" ? printableStack(value) : printable(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => printableFields(item));
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [printable(key), printableFields(field, key)] as const),
  );
}

/** Indents the further lines of an error message, so that they cannot look like separate log lines. */
const printableStack = (stack: string): string =>
  stack
    .split("\n")
    .map((line, at) => (at === 0 || line.startsWith(" ") ? printable(line) : `    ${printable(line)}`))
    .join("\n");

const stream = (output: LogDestination): DestinationStream => ({ write: (line) => void output.write(line) });
