export {
  defaultRanges,
  EndpointList,
  type EndpointRange,
  endpointRanges,
  hostRanges,
  isWithinZone,
  originOf,
} from "./endpoints.ts";
export * from "./numbers.ts";
export { type ParsedConfig, parseConfig } from "./parse.ts";
export { type ConfigRule, configOf, differ, goesWith, grouped, needs, notAbove, variableNames } from "./program.ts";
export { removedFrom } from "./removed-variables.ts";
export {
  debugEndpoints,
  drainingLabel,
  EVERY_PROGRAM,
  type EveryProgram,
  everyProgram,
  hardwareCatalogPath,
  loggerOf,
  powerProfileLabel,
  preset,
  type SharedVariable,
  sharedVariables,
} from "./shared-variables.ts";
export {
  type ConfigSchema,
  type DefaultContext,
  flagOf,
  flagsOnly,
  group,
  type RawValues,
  type VariableFacts,
} from "./variable.ts";
export * from "./variable-types.ts";
