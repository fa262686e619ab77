import * as z from "zod";
import {
  atomicList,
  block,
  choiceField,
  conditionReason,
  conditionType,
  integerField,
  mapList,
  objectNameField,
  stringMap,
  textField,
  timestampField,
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

/** The fields of ObjectMeta that Joulie reads or writes. Other fields are passed through unchanged. */
export const objectMetadata = z.object({
  name: objectNameField("Name of the object."),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.number().optional(),
  creationTimestamp: timestampField("When the object was created.").optional(),
  deletionTimestamp: timestampField("When deletion was requested.").optional(),
  labels: stringMap.optional(),
  annotations: stringMap.optional(),
  ownerReferences: atomicList(ownerReference, 64, "Owners of this object; it is deleted when they are.").optional(),
});
export type OwnerReference = z.infer<typeof ownerReference>;

/** The fields that every object of this API group has besides spec and status. */
export const header = <const KindName extends string>(kind: KindName) => ({
  apiVersion: z.literal(apiVersion).optional(),
  kind: z.literal(kind).optional(),
  metadata: objectMetadata,
});

const condition = block("One aspect of the object's state, in the format of Kubernetes conditions.", {
  type: conditionType("Name of the condition, in CamelCase."),
  status: choiceField(["True", "False", "Unknown"], "Whether the condition holds."),
  observedGeneration: integerField(0, undefined, "Generation of the object that the condition describes.").optional(),
  lastTransitionTime: timestampField("When status last changed."),
  reason: conditionReason("Machine-readable reason, one CamelCase word."),
  message: textField(32_768, "Human-readable reason, one sentence."),
});
export type Condition = z.infer<typeof condition>;

export const conditions = () => mapList("type", condition, 32, "The object's conditions, one per type.");
