export { defaultRanges, type EndpointRange, endpointRanges, NODE_PLACEHOLDER, originOf } from "./endpoints.ts";
export { debugEndpoints, everyProgram } from "./every-program.ts";
export * from "./variable-types.ts";
export * from "./numbers.ts";
export { type ParsedConfig, parseConfig } from "./parse.ts";
export { configOf, goesWith, needs, notAbove, type ConfigRule, variableNames } from "./program.ts";
export { configurationReference, grouped } from "./reference.ts";
export { drainingLabel, hardwareCatalogPath, powerProfileLabel } from "./shared-variables.ts";
export {
  type ConfigSchema,
  flagOf,
  flagsOnly,
  group,
  type DefaultContext,
  type RawValues,
  type VariableFacts,
} from "./variable.ts";
