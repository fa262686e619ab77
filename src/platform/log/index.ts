export { ChangeLog } from "./change-log.ts";
export {
  createLogger,
  type LogDestination,
  type LogFormat,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  logFormats,
  logLevels,
} from "./logger.ts";
export { printable, printableLine, withoutControlCharacters } from "./printable.ts";
export { redactText } from "./redact.ts";
