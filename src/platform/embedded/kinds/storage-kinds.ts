import { ageColumn, nameColumn } from "../api/table.ts";
import { plainSchema } from "./builtin-schemas.ts";
import type { ServedResource } from "./served-resource.ts";

const plain = {
  group: "",
  version: "v1",
  categories: [],
  custom: false,
  schema: plainSchema,
  hasGeneration: false,
  overwritable: true,
  selectable: {},
  columns: [nameColumn, ageColumn],
} as const;

export const configMaps: ServedResource = {
  ...plain,
  plural: "configmaps",
  singular: "configmap",
  kind: "ConfigMap",
  listKind: "ConfigMapList",
  shortNames: ["cm"],
  namespaced: true,
  hasStatus: false,
  storedAs: "/configmaps",
};

export const persistentVolumeClaims: ServedResource = {
  ...plain,
  plural: "persistentvolumeclaims",
  singular: "persistentvolumeclaim",
  kind: "PersistentVolumeClaim",
  listKind: "PersistentVolumeClaimList",
  shortNames: ["pvc"],
  namespaced: true,
  hasStatus: true,
  storedAs: "/persistentvolumeclaims",
};

export const persistentVolumes: ServedResource = {
  ...plain,
  plural: "persistentvolumes",
  singular: "persistentvolume",
  kind: "PersistentVolume",
  listKind: "PersistentVolumeList",
  shortNames: ["pv"],
  namespaced: false,
  hasStatus: true,
  storedAs: "/persistentvolumes",
};
