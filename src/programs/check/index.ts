export { check, summarize } from "./check.ts";
export {
  type ExaminedCluster,
  type MissingPart,
  missingDefinitions,
  missingExtender,
  missingPermissions,
  type ProgramAccount,
  pageThroughApi,
} from "./missing-parts.ts";
