export { type ImportPlan, importMachines, type MachineSource, planMachineImport } from "./bulk/import-machines.ts";
export { type ImportStep, switchText } from "./bulk/import-plan.ts";
export { type MachineAccess, readMachineList } from "./bulk/machine-list.ts";
export { type TestOutcome, type TestProgress, testWakes } from "./bulk/rolling-test.ts";
export { type PowerTimes, powerConfig } from "./config.ts";
export { listed, nodesNotOn, releaseFromWake, testWake, wake } from "./requests.ts";
export { runPower } from "./start.ts";
export { phaseOf } from "./steps/endpoint-status.ts";
