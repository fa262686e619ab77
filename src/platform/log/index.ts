export { printable, printableLine, withoutControlCharacters } from "../printable/index.ts";
export { ChangeLog } from "./change-log.ts";
export {
  createLogger,
  type LogDestination,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  logFormats,
  logLevels,
} from "./logger.ts";
export { onceEach } from "./once-each.ts";
export { HIDDEN, redactText } from "./redact.ts";
