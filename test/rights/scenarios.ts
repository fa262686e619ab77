import type { InstalledProgram } from "../../src/programs/permissions.ts";
import { agentLife, poolLife } from "./agent.ts";
import { energyExtenderLife, extenderLife } from "./extender.ts";
import { fleetLife, sleepingFleetLife } from "./fleet.ts";
import { checkLife, crdsLife, fleetUninstallLife, uninstallLife } from "./jobs.ts";
import { operatorLife, sleepingOperatorLife } from "./operator.ts";
import { powerLife } from "./power.ts";
import type { ScenarioRun } from "./run.ts";

/** What each role is for. The compiler asks for the scenario of a new role. */
export const scenarios: Readonly<Record<InstalledProgram, (run: ScenarioRun) => Promise<void>>> = {
  agent: agentLife,
  "agent-pool": poolLife,
  operator: operatorLife,
  "operator-sleep": sleepingOperatorLife,
  extender: extenderLife,
  "extender-energy": energyExtenderLife,
  power: powerLife,
  fleet: fleetLife,
  "fleet-sleep": sleepingFleetLife,
  check: checkLife,
  crds: crdsLife,
  uninstall: uninstallLife,
  "uninstall-fleet": fleetUninstallLife,
};
