import {
  type LabelSelector,
  labels,
  type Node,
  type NodeHardware,
  type NodePowerProfile,
  type NodeTwin,
  type Pod,
  type PowerEndpoint,
} from "../api/index.ts";
import type { PresetSettings } from "../presets/index.ts";
import { type Instant, type Milliseconds, milliseconds } from "../units/index.ts";

/** The objects that a report is made of, as they were read from the API. Absent objects are absent, never invented. */
export interface ClusterObjects {
  readonly now: Instant;
  readonly nodes: readonly Node[];
  readonly twins: ReadonlyMap<string, NodeTwin>;
  readonly hardware: ReadonlyMap<string, NodeHardware>;
  readonly profiles: ReadonlyMap<string, NodePowerProfile>;
  readonly endpoints: ReadonlyMap<string, PowerEndpoint>;
  /** Undefined if they cannot be read, which is not the same as no pods. */
  readonly pods: readonly Pod[] | undefined;
  /** Kinds that are missing, that the reader may not list, or has not listed yet: none of their objects is known. */
  readonly notListed?: readonly ClusterKind[];
  /** Those of `notListed` that the reader has not listed yet, but may list. */
  readonly pending?: readonly ClusterKind[];
  /** Absent if the reader looked at nodes and pods only. */
  readonly installation?: Installation | undefined;
}

export type ClusterKind = "nodes" | "twins" | "hardware" | "profiles" | "endpoints" | "pods";

/** As the API server names them. */
export const resourceNames: Readonly<Record<ClusterKind, string>> = {
  nodes: "nodes",
  twins: "nodetwins",
  hardware: "nodehardwares",
  profiles: "nodepowerprofiles",
  endpoints: "powerendpoints",
  pods: "pods",
};

/** For reports that have no answer without pods. */
export type ClusterObjectsWithPods = ClusterObjects & { readonly pods: readonly Pod[] };

export interface Installation {
  readonly namespace: string;
  /** The annotation joulie.io/stop is set. */
  readonly stopped: boolean;
  /** Custom resources that the API server does not serve. */
  readonly missingKinds: readonly string[];
  readonly programs: readonly InstalledWorkload[];
  /** The Lease of the operator and the time since its renewal; absent if there is none. */
  readonly operatorLease?: { readonly holder: string | undefined; readonly age: Milliseconds | undefined } | undefined;
  /** A demo, whose time passes up to 600 times as fast: between two renewals its Lease looks hours old. */
  readonly isDemo?: boolean;
  /** What could not be read, and why. */
  readonly unreadable: readonly string[];
}

/** What the chart installs a program as. The agent is a DaemonSet, or with `agent.mode=pool` a StatefulSet. */
export type WorkloadKind = "Deployment" | "DaemonSet" | "StatefulSet";

export interface InstalledWorkload {
  /** Its component: operator, agent, extender, power, … */
  readonly program: string;
  readonly kind: WorkloadKind;
  readonly name: string;
  readonly desired: number;
  readonly ready: number;
  /** SIMULATE_ONLY=true: it computes caps and sets none. */
  readonly observeOnly?: boolean;
  /** Its preset and what its own variables override; absent for programs without presets. */
  readonly settings?: PresetSettings | undefined;
  /** The tag of the image; undefined for an image by digest. */
  readonly version: string | undefined;
}

export interface ReportSettings {
  /** NODE_SELECTOR of the operator. */
  readonly selector: LabelSelector;
  readonly reservedLabel: string;
  readonly rackLabel: string;
  readonly powerProfileLabel: string;
  /** A twin that the operator has not refreshed for longer is stale. */
  readonly staleAfter: Milliseconds;
  /** An agent that has not reported for longer is silent. */
  readonly agentSilentAfter: Milliseconds;
}

export const defaultReportSettings: ReportSettings = {
  selector: [{ key: labels.managed, operator: "In", values: ["true"] }],
  reservedLabel: labels.reserved,
  rackLabel: labels.rack,
  powerProfileLabel: labels.powerProfile,
  staleAfter: milliseconds(5 * 60_000),
  agentSilentAfter: milliseconds(5 * 60_000),
};
