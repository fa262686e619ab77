// The permissions of every program that the chart installs. Each program's permissions.ts says why it needs them.
import { operatorStateRule, type PermissionRule } from "../platform/kube/index.ts";
import { agentPermissions } from "./agent/permissions.ts";
import { checkPermissions } from "./check/permissions.ts";
import { crdsPermissions } from "./crds/permissions.ts";
import { dashboardPermissions } from "./dashboard/permissions.ts";
import { energyExtenderPermissions, installedExtenderPermissions } from "./extender/permissions.ts";
import { fleetPermissions } from "./fleet/permissions.ts";
import { operatorPermissions } from "./operator/permissions.ts";
import { powerPermissions } from "./power/permissions.ts";
import { fleetUninstallPermissions, uninstallPermissions } from "./uninstall/permissions.ts";

/** Names of the installation that permissions contain. The chart puts template expressions in their place. */
export interface InstallationNames {
  readonly namespace: string;
  /** The extender's Service. */
  readonly service: string;
  /** Namespace of the simulated workload. */
  readonly workloadNamespace: string;
  /** By which one operator leads. */
  readonly lease: string;
  /** By which one power program leads. */
  readonly powerLease: string;
  /** The Deployment of the simulated fleet. */
  readonly fleet: string;
}

export const programPermissions = {
  agent: ({ namespace }: InstallationNames) => agentPermissions("daemonset", namespace),
  "agent-pool": ({ namespace }: InstallationNames) => agentPermissions("pool", namespace),
  operator: ({ namespace }: InstallationNames) => operatorPermissions(namespace),
  /** The operator with SLEEP_MODE other than off. */
  "operator-sleep": ({ namespace }: InstallationNames) => operatorPermissions(namespace, { sleep: true }),
  extender: ({ namespace }: InstallationNames) => installedExtenderPermissions(namespace),
  /** The extender with SCORING=energy. */
  "extender-energy": ({ namespace }: InstallationNames) => [...energyExtenderPermissions, operatorStateRule(namespace)],
  dashboard: ({ namespace }: InstallationNames) => dashboardPermissions(namespace),
  power: ({ namespace }: InstallationNames) => powerPermissions(namespace),
  fleet: ({ workloadNamespace }: InstallationNames) => fleetPermissions(workloadNamespace),
  /** The fleet with --sleep. */
  "fleet-sleep": ({ workloadNamespace }: InstallationNames) => fleetPermissions(workloadNamespace, { sleep: true }),
  check: ({ namespace, service }: InstallationNames) => checkPermissions(namespace, service),
  crds: () => crdsPermissions,
  uninstall: ({ namespace, lease, powerLease }: InstallationNames) =>
    uninstallPermissions(namespace, [lease, powerLease]),
  /** The same, of a release with a simulated fleet. */
  "uninstall-fleet": ({ namespace, lease, powerLease, fleet }: InstallationNames) =>
    fleetUninstallPermissions(namespace, [lease, powerLease], fleet),
} as const satisfies Readonly<Record<string, (names: InstallationNames) => readonly PermissionRule[]>>;

export type InstalledProgram = keyof typeof programPermissions;
