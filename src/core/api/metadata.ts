import * as z from "zod";
import {
  atomicList,
  block,
  choice,
  conditionReason,
  conditionType,
  mapList,
  objectName,
  text,
  stringMap,
  timestamp,
  integerField,
} from "./fields.ts";
import { apiVersion } from "./names.ts";

const ownerReference = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
});

/** The part of Kubernetes' object metadata Joulie reads or writes; everything else in it is kept as it came. */
export const objectMetadata = z.object({
  name: objectName("Name of the object."),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.number().optional(),
  creationTimestamp: timestamp("When the object was created.").optional(),
  deletionTimestamp: timestamp("When deletion was asked for.").optional(),
  labels: stringMap.optional(),
  annotations: stringMap.optional(),
  ownerReferences: atomicList(ownerReference, 64, "Objects with which this one is deleted.").optional(),
});
export type ObjectMetadata = z.infer<typeof objectMetadata>;
export type OwnerReference = z.infer<typeof ownerReference>;

/** The fields every object of this group has besides spec and status. */
export const header = <const KindName extends string>(kind: KindName) => ({
  apiVersion: z.literal(apiVersion).optional(),
  kind: z.literal(kind).optional(),
  metadata: objectMetadata,
});

const condition = block("One aspect of the object's state, as all of Kubernetes reports it.", {
  type: conditionType("Which aspect this is, in CamelCase."),
  status: choice(["True", "False", "Unknown"], "Whether the condition holds."),
  observedGeneration: integerField(0, undefined, "Generation of the object the condition was computed from.").optional(),
  lastTransitionTime: timestamp("When status last changed."),
  reason: conditionReason("Why, as one CamelCase word for programs."),
  message: text(32_768, "Why, as a sentence for people."),
});
export type Condition = z.infer<typeof condition>;

export const conditions = () => mapList("type", condition, 32, "The object's conditions, one per type.");
