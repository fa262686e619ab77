// A small part of Metal3's CustomResourceDefinition, for tests.
import type { Resource } from "../../kube/index.ts";

export const bareMetalHosts: Resource = {
  group: "metal3.io",
  version: "v1alpha1",
  plural: "baremetalhosts",
  kind: "BareMetalHost",
  namespaced: true,
};

const text = { type: "string" };
const object = (properties: object) => ({ type: "object", properties });

export const bareMetalHostCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "baremetalhosts.metal3.io" },
  spec: {
    group: "metal3.io",
    names: {
      kind: "BareMetalHost",
      listKind: "BareMetalHostList",
      plural: "baremetalhosts",
      singular: "baremetalhost",
    },
    scope: "Namespaced",
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: object({
            spec: object({
              online: { type: "boolean" },
              disablePowerOff: { type: "boolean" },
              externallyProvisioned: { type: "boolean" },
              consumerRef: object({ apiVersion: text, kind: text, namespace: text, name: text }),
            }),
            status: object({
              poweredOn: { type: "boolean" },
              operationalStatus: {
                ...text,
                enum: ["", "OK", "discovered", "error", "delayed", "detached", "servicing"],
              },
              errorType: text,
              errorMessage: text,
              provisioning: object({ state: text, ID: text }),
            }),
          }),
        },
      },
    ],
  },
};
