import { eventually } from "../../src/platform/clock/testing/index.ts";
import { bareMetalHostCrd } from "../../src/platform/switch/testing/bare-metal-hosts.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";

/** Stands in for metrics-server: its objects are stored instead of measured. */
const nodeMetricsCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: "nodes.metrics.k8s.io",
    annotations: { "api-approved.kubernetes.io": "unapproved, for tests" },
  },
  spec: {
    group: "metrics.k8s.io",
    names: { kind: "NodeMetrics", listKind: "NodeMetricsList", plural: "nodes", singular: "node" },
    scope: "Cluster",
    versions: [
      {
        name: "v1beta1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

/** A control plane with all that the programs of the chart ask for. */
export async function startRightsPlane(): Promise<ControlPlane> {
  const plane = await startControlPlane({ audit: true, scheduler: {}, controllerManager: true });
  for (const crd of [bareMetalHostCrd, nodeMetricsCrd])
    await plane.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
  for (const path of ["/apis/metal3.io/v1alpha1/baremetalhosts", "/apis/metrics.k8s.io/v1beta1/nodes"])
    await eventually(async () => (await plane.api.status("GET", path)) === 200);
  return plane;
}
