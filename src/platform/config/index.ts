export { defaultRanges, type EndpointRange, endpointRanges, NODE_PLACEHOLDER, originOf } from "./endpoints.ts";
export { debugEndpoints, everyProgram, loggerOf } from "./every-program.ts";
export * from "./kinds.ts";
export * from "./numbers.ts";
export { type ParsedConfig, parseConfig } from "./parse.ts";
export { configOf, differ, goesWith, needs, notAbove, type Rule, variableNames } from "./program.ts";
export { configurationReference, grouped } from "./reference.ts";
export { drainingLabel, hardwareCatalogPath, powerProfileLabel } from "./shared-variables.ts";
export {
  type ConfigSchema,
  flagOf,
  flagsOnly,
  group,
  type Machine,
  type Texts,
  type VariableFacts,
} from "./variable.ts";
