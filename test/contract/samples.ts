import { apiVersion } from "../../src/core/api/index.ts";

export const paths = {
  nodes: "/api/v1/nodes",
  namespaces: "/api/v1/namespaces",
  pods: "/api/v1/namespaces/default/pods",
  leases: "/apis/coordination.k8s.io/v1/namespaces/default/leases",
  events: "/apis/events.k8s.io/v1/namespaces/default/events",
  crds: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  twins: `/apis/${apiVersion}/nodetwins`,
  hardwares: `/apis/${apiVersion}/nodehardwares`,
  telemetryProfiles: `/apis/${apiVersion}/telemetryprofiles`,
} as const;

export const twin = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion,
  kind: "NodeTwin",
  metadata: { name, ...metadata },
  spec: { nodeName: name, profile: "eco", ...spec },
});

/** A NodeTwin's status as an apply configuration. */
export const twinStatus = (name: string, status: object) => ({
  apiVersion,
  kind: "NodeTwin",
  metadata: { name },
  status,
});

export const node = (name: string, labels: Readonly<Record<string, string>> = {}, status: object = {}) => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, labels },
  status: { capacity: { cpu: "8", memory: "32Gi", pods: "110" }, ...status },
});

export const pod = (name: string, labels: Readonly<Record<string, string>> = {}, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels },
  spec: { containers: [{ name: "main", image: "example.org/none" }], ...spec },
});

export const telemetryProfile = (name: string, target: object, labels: object = {}) => ({
  apiVersion,
  kind: "TelemetryProfile",
  metadata: { name, labels },
  spec: { target },
});

export const lease = (name: string, spec: object) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name },
  spec,
});

export const condition = (type: string, status: "True" | "False" = "True") => ({
  type,
  status,
  lastTransitionTime: "2030-01-31T12:00:00Z",
  reason: "Because",
  message: "",
});
